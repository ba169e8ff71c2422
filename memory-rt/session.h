/* SPDX-License-Identifier: MIT */
/*
 * session.h - what a process that traces knows: where its rings are, what it was asked for.
 */
#ifndef MEMORY_RT_SESSION_H
#define MEMORY_RT_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "record.h"
#include "take.h"

struct crt_session {
	struct crt_options options;
	struct crw_region region; /* base is NULL while there is none */
	uint32_t generation;      /* grows with every session: after fork, threads start anew */
	uint32_t process;         /* index in the region's table */
	uint64_t serial;          /* of this process */
	uint64_t parent;          /* serial of the process that forked it */
	uint64_t next_thread;     /* [threads] numbers given out */
	uint32_t pid;             /* whose session this is */
	uint32_t alone;           /* 1: the background thread writes the file */
	uint32_t drop;            /* 1: a full ring drops */
	uint32_t guarded;         /* 1: every access is looked at: bursts, regions */
	uint32_t silent;          /* 1: the consumer's end was said already */
	uint64_t live_size;       /* bytes mapped at region.base */
	char live_path[128];      /* the region's file if it is ours; else empty */
};
extern struct crt_session crt_session;

/* session.c */
void *crt_map_region(int fd, uint64_t size); /* shared, aligned to chunks; NULL */
void crt_init(void);                         /* the first call does it all */
void crt_switch(bool on);                    /* accesses are recorded, or not */
void crt_end(const char *why);               /* no more: says why unless NULL */
uint64_t crt_ticket(void);                   /* of an annotation */

/* recorder.c */
struct crw_unit;
/* Units that make one record, headed by units[0]; false: not recorded (off, or full). */
bool crt_put(const struct crw_unit *units, uint32_t nr);
/* A header with a payload of two parts, of CRW_PAYLOAD_MAX bytes at most together. */
bool crt_put_long(unsigned code, uint64_t w0, uint64_t pc, const void *a, uint32_t a_size,
		  const void *b, uint32_t b_size);
/* The calling thread writes no more: its slot may be drained. */
void crt_thread_end(void);
/* After fork: what this thread had was the parent's. */
void crt_thread_forget(void);
/* Wake the consumer. */
void crt_ring_bell(void);
void crt_thread_hook(void); /* once, from a constructor */

/* modules.c: MODULE and FACT units for what is not told yet. */
void crt_tell_modules(void);
void crt_tell_facts(void);

#endif
