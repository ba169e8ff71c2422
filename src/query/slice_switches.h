/* SPDX-License-Identifier: MIT */
/*
 * slice_switches.h - when threads had no processor, exactly: for the slices of a query.
 *
 * analyze/switch_times.h adds up short waits to bound its memory, and is not exact for short
 * slices. This keeps every switch of the trace.
 */
#ifndef QUERY_SLICE_SWITCHES_H
#define QUERY_SLICE_SWITCHES_H

#include <stdbool.h>

#include "base/u64map.h"
#include "trace/item.h"

struct slice_switch {
	uint64_t from_ts, to_ts;
	bool is_blocked; /* otherwise it had no processor: preempted, or woken and not running yet
			  */
};

struct slice_thread {
	struct slice_switch *list;
	size_t nr, room;
	bool is_sorted; /* by time */
};

/* All zero: nothing is recorded. */
struct slice_switches {
	bool is_recorded;
	uint64_t since_ts;     /* switches are recorded from this time on */
	struct u64map numbers; /* tid to 1 + index in threads */
	struct slice_thread *threads;
	size_t nr, room;
	struct slice_thread lost; /* times in which records are missing */
};

/* 0 or -ENOMEM. */
int slice_switches_add(struct slice_switches *s, const struct trace_switch *item);

struct slice_shares {
	uint64_t cpu_ns, queued_ns, blocked_ns;
};

/* Where the time of thread @tid between the two went.  False: it was not measured. */
bool slice_switches_split(struct slice_switches *s, uint64_t tid, uint64_t from_ts, uint64_t to_ts,
			  struct slice_shares *parts);

void slice_switches_release(struct slice_switches *s);

#endif
