/* SPDX-License-Identifier: MIT */
/*
 * runs.h - split a trace that holds several runs, one after the other.
 *
 * The existing coroTracer appends to its output file, and such a trace has no description of its
 * runs.  A new run begins where the time jumps by a second or more, an unknown thread writes the
 * first event of a coroutine, and from then on no thread and no coroutine of the run before
 * appears. The events in question are held back until that is known.
 *
 * Each run is analyzed by itself: its coroutines are judged at its own end, and their kind says
 * which run they belong to.
 */
#ifndef ANALYZE_RUNS_H
#define ANALYZE_RUNS_H

#include "base/u64map.h"
#include "trace/event.h"

struct analysis;

/* This number of events without the threads of the run before makes a new run. */
#define RUNS_HELD 4096

struct runs {
	struct u64map tids; /* of this run, and 1 */
	struct u64map seqs; /* coroutine to its last seq */
	uint64_t last_tid;
	uint64_t last_ts;         /* latest time of this run */
	struct u64map begun;      /* coroutines whose numbers begin again in held, and 1 */
	struct trace_event *held; /* RUNS_HELD events that may begin a run */
	unsigned nr_held;
	unsigned nr;         /* runs before this one */
	uint64_t longest_ns; /* time between two runs */
	/* Of the runs before this one: */
	uint64_t coroutines, alive, threads, duration_ns;
};

/* A transition of a trace without a description.  0 or a negative errno. */
int runs_add(struct analysis *a, const struct trace_event *ev);

/* The trace is over: give what is held back, and name the last run.  0 or a negative errno. */
int runs_finish(struct analysis *a);

void runs_release(struct runs *r);

#endif
