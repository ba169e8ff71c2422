/* SPDX-License-Identifier: MIT */
/*
 * trace_session.h - the state of a traced process: its region, options and identity.
 */
#ifndef RUNTIME_MEMORY_TRACE_SESSION_H
#define RUNTIME_MEMORY_TRACE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "access_record.h"
#include "ring_read.h"

struct crt_session {
	struct crt_options options;
	struct crw_region region; /* base is NULL before a session starts */
	uint32_t generation; /* increases with every session; after fork, threads claim new slots */
	uint32_t process;    /* index in the region's table */
	uint64_t serial;     /* of this process */
	uint64_t parent;     /* serial of the process that forked it */
	uint64_t next_thread; /* [threads] numbers given out */
	uint32_t pid;         /* of the process that owns the session */
	uint32_t alone;       /* 1: the background thread writes the file */
	uint32_t drop;        /* 1: accesses are lost when the ring is full */
	uint32_t guarded;     /* 1: every access takes the slow path, for bursts or regions */
	uint32_t silent;      /* 1: the consumer's end was reported */
	uint32_t coroutines;  /* 1: the consumer knows CRW_CORO */
	uint32_t heap;        /* 1: blocks of the heap are recorded */
	uint32_t calls;       /* 1: function entries and exits are recorded */
	uint32_t rounds;      /* 1: it knows marks of rounds */
	uint64_t live_size;   /* bytes mapped at region.base */
	char live_path[128];  /* the region's file if this process created it; else empty */
};
extern struct crt_session crt_session;

/* session.c */
void *crt_map_region(int fd, uint64_t size); /* shared, chunk-aligned; NULL: failed */
void crt_init(void);                         /* idempotent; later calls only record new modules */
void crt_switch(bool on);                    /* switch recording of accesses on or off */
void crt_end(const char *why);               /* end the session; prints @why unless NULL */
uint64_t crt_ticket(void);                   /* a new ticket for an annotation */

/* recorder.c */
struct crw_unit;
/*
 * Record units that form one record with the header units[0].  False: not recorded (off or full).
 */
bool crt_put(const struct crw_unit *units, uint32_t nr);
/* Record a header with a payload in two parts of together at most CRW_PAYLOAD_MAX bytes. */
bool crt_put_long(unsigned code, uint64_t w0, uint64_t pc, const void *a, uint32_t a_size,
		  const void *b, uint32_t b_size);
/*
 * Record a header with a payload of at most CRW_PAYLOAD_MAX bytes.  Needs less stack than
 * crt_put_long(): coroutines may have small stacks.
 */
bool crt_put_payload(unsigned code, uint64_t w0, uint64_t low, const uint8_t *bytes, uint32_t size);
/* End recording in the calling thread: its slot may be drained. */
void crt_thread_end(void);
/* In a child of fork: drop the slot, which belongs to the parent's thread. */
void crt_thread_forget(void);
void crt_ring_bell(void);
void crt_thread_hook(void);  /* once, from a constructor */
void crt_thread_watch(void); /* the calling thread's end is noticed */

/* modules.c: record MODULE units for modules that are not recorded yet, and FACT units. */
void crt_tell_modules(void);
void crt_tell_facts(void);

#endif
