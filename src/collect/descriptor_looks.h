/* SPDX-License-Identifier: MIT */
/*
 * descriptor_looks.h - which coroutines wait for a descriptor that is ready.
 *
 * A trace shows that a coroutine waits for descriptor 7, not that 7 has unread bytes.  For
 * coroutines that have waited for a descriptor for a while, the collector asks the kernel
 * (process/descriptors.h).  An answer counts if no coroutine of the process runs and all its
 * threads sleep, and if the same is true again at a second look: then the program had the time to
 * react and did not.
 *
 * Cost
 *   Nothing per event and nothing in the program.  A look takes about 10 us per waiting
 *   coroutine; looks take less than one part in a hundred of the time.
 */
#ifndef COLLECT_DESCRIPTOR_LOOKS_H
#define COLLECT_DESCRIPTOR_LOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/lane_output.h"
#include "collect/wake_socket.h"

/* A coroutine that waited for a ready descriptor at the last look. */
struct looked_wait {
	uint64_t id, events;       /* events: transitions so far; the same as long as it waits */
	uint64_t from_ns, told_ns; /* the first look; told_ns 0: not written yet */
	uint32_t pid;
	int fd;
};

/* Waits for descriptors that are looked at: more are not, and then none is said to be idle. */
#define LOOKS_WAITS 4096u
#define LOOKS_READY 1024u

struct looks_list {
	struct life *at; /* LOOKS_WAITS */
	uint32_t nr;
	bool is_full;
};

struct descriptor_looks {
	const struct lane_record *record;
	const struct endpoint *endpoint;
	uint64_t next_ns;
	uint64_t least_ns; /* no look before this time: the last one was expensive */
	struct looks_list list;
	struct looked_wait *ready; /* LOOKS_READY, of the last look; NULL: no look so far */
	uint32_t nr_ready;
	uint32_t turn;     /* the process to begin with: a look is at a few of them */
	bool is_due_again; /* a descriptor was seen ready once: look again soon */
	bool is_denied;    /* this user may not look at descriptors of other processes */
};

void looks_open(struct descriptor_looks *l, const struct lane_record *record,
		const struct endpoint *endpoint);

/* After a poll that ended at @now_ns: look if it is time. */
void looks_take(struct descriptor_looks *l, uint64_t now_ns);

/* The collector is about to sleep: nothing has happened for a while. */
void looks_before_sleep(struct descriptor_looks *l);

/* Time until the next look, at most @ns. */
uint64_t looks_wait(const struct descriptor_looks *l, uint64_t now_ns, uint64_t ns);

void looks_close(struct descriptor_looks *l);

#endif
