/* SPDX-License-Identifier: MIT */
/*
 * switch_records.h - the kernel's records of when threads leave and get a processor.
 *
 * perf_event_open(2) with context_switch, on CLOCK_MONOTONIC.  No privilege is needed for one's own
 * processes as long as kernel.perf_event_paranoid is 2 or less.  One ring per processor, shared by
 * the events of all threads; threads and processes that a recorded one creates are recorded, too.
 *
 * With the tracepoint sched_waking (wake_tracepoint.h), where it may be used, there are records of
 * wake-ups, too, in the same rings.
 *
 * The kernel never waits for a reader: what finds no room is counted (SWITCH_LOST).
 */
#ifndef PROCESS_SWITCH_RECORDS_H
#define PROCESS_SWITCH_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "process/wake_tracepoint.h"

enum switch_kind {
	SWITCH_IN,        /* the thread got a processor */
	SWITCH_BLOCKED,   /* it left its processor to wait */
	SWITCH_PREEMPTED, /* another thread got its processor; it could have gone on */
	SWITCH_WOKEN,     /* it was woken; also of threads of other processes */
	SWITCH_EXIT,      /* it ended */
	SWITCH_LOST,      /* records are missing */
};

struct switch_record {
	enum switch_kind kind;
	uint32_t cpu;
	uint32_t pid, tid; /* SWITCH_LOST: 0; SWITCH_WOKEN: pid is 0 */
	uint64_t ts;       /* SWITCH_LOST: of the last record of the ring before the loss */
	uint64_t to_ts;    /* SWITCH_LOST: time at which the next one was written, or now */
	uint64_t lost;     /* SWITCH_LOST: records */
};

struct switch_ring;

struct switch_records {
	struct switch_ring *rings; /* one per processor */
	unsigned nr_rings;
	int *fds; /* events of threads whose records go to the ring of their processor */
	size_t nr_fds, room;
	struct wake_tracepoint waking; /* number 0: wake-ups are not recorded */
	struct err no_wakes;           /* why not */
};

/*
 * Record the program that this process executes next, in a child: its threads, and the processes
 * that it creates.  Call before fork().
 */
int switch_records_open_child(struct switch_records *s, struct err *err);

/* Record all threads of a running process. */
int switch_records_open_process(struct switch_records *s, pid_t pid, struct err *err);

/* The records so far: in order of time for each thread on one processor, not over all of them. */
void switch_records_read(struct switch_records *s,
			 void (*take)(void *ctx, const struct switch_record *r), void *ctx);

void switch_records_close(struct switch_records *s);

#endif
