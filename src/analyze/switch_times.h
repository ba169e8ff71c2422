/* SPDX-License-Identifier: MIT */
/*
 * switch_times.h - when threads had no processor, by the context switches of a trace.
 *
 * Exact where cpu_samples.h has samples: between any two times the thread waited for a processor,
 * was blocked, or ran.  Times in which records were lost are not measured.
 *
 * Memory
 *   Short waits of a thread that follow each other are added up in one span of a millisecond.
 *   If there are SWITCH_SPANS of them, neighbours are joined, and spans are twice as long from then
 *   on.  A part of a span is taken in proportion.
 */
#ifndef ANALYZE_SWITCH_TIMES_H
#define ANALYZE_SWITCH_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/cpu_samples.h"
#include "base/u64map.h"
#include "trace/item.h"

#define SWITCH_SPANS (1u << 17)

/* Losses that are kept; after more, nothing is measured. */
#define SWITCH_LOSSES 4096u

struct switch_span {
	uint64_t from_ts, to_ts;
	uint64_t queued_ns, blocked_ns; /* the rest of the time it had a processor */
};

struct switch_thread {
	struct switch_span *list; /* by time, without overlaps */
	size_t nr, room;
};

struct switch_times {
	bool is_recorded;
	uint64_t since_ts;     /* switches are recorded from this time on */
	struct u64map numbers; /* tid to 1 + index in threads */
	struct switch_thread *threads;
	size_t nr_threads, room;
	size_t nr;                 /* spans of all threads */
	uint64_t span_ns;          /* 0: the default */
	struct switch_thread lost; /* times in which records are missing */
	uint64_t nr_switches, nr_lost;
};

/* 0 or -ENOMEM. */
int switch_times_add(struct switch_times *s, const struct trace_switch *item);

/*
 * Where the time of thread @tid between the two went.  measured_ns is the whole time, or 0 if it is
 * not known.
 */
struct cpu_use switch_times_thread(const struct switch_times *s, uint64_t tid, uint64_t from_ts,
				   uint64_t to_ts);

void switch_times_release(struct switch_times *s);

#endif
