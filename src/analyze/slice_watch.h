/* SPDX-License-Identifier: MIT */
/*
 * slice_watch.h - long slices: where their time went, and which coroutines waited for the thread.
 *
 * That a slice was long says nothing about its coroutine: the thread may have been preempted or
 * stopped, and there may have been nothing else to run.  Whether others waited is seen only after
 * the slice, when its thread resumes them; so a slice is watched for a moment after its end.
 */
#ifndef ANALYZE_SLICE_WATCH_H
#define ANALYZE_SLICE_WATCH_H

#include "analyze/cpu_samples.h"
#include "analyze/model.h"

struct analysis;

#define SLICE_LONG_NS (10 * MODEL_MS)
#define SLICE_WATCHED 64

/* Coroutines that waited for a thread. */
struct slice_waiters {
	uint64_t nr;
	uint64_t longest_ns, longest_id; /* 0: it is not known how long they were ready */
	uint32_t longest_name;           /* as in struct coro */
};

struct long_slice {
	struct coro co; /* as it was at the end of the slice */
	uint64_t tid, from_ts, to_ts;
	uint32_t end_site; /* where it suspended; 0: not known, or it ended */
	uint64_t end_addr;
	bool is_alone; /* its thread has run no other coroutine */
	bool is_first; /* the first slice of its coroutine, or at the start of the run */
	struct cpu_use use;
	struct slice_waiters waiters;
};

struct slice_watch {
	struct long_slice open[SLICE_WATCHED];
	unsigned nr;
};

/* @co suspends or ends: watch its slice if it was long. */
void slice_watch_end(struct analysis *a, const struct coro *co, const struct trace_event *ev);

/* @co is about to be resumed: note whether it waited for a watched slice. */
void slice_watch_resume(struct analysis *a, const struct coro *co, const struct trace_event *ev);

/* The trace is over: no slice is watched any longer. */
void slice_watch_finish(struct analysis *a);

/* Add the coroutines that are ready at the end of the trace and wait for the thread of @s. */
void slice_watch_left(struct analysis *a, struct long_slice *s);

/* Time that the coroutine itself is responsible for: on a processor, or in system calls. */
static inline uint64_t slice_own_ns(const struct long_slice *s)
{
	return s->use.cpu_ns + s->use.blocked_ns;
}

/* True if the kernel's counters cover at least half of the slice. */
static inline bool slice_is_measured(const struct long_slice *s)
{
	return 2 * s->use.measured_ns >= s->to_ts - s->from_ts;
}

/*
 * Where the time of a thread went: by context switches if they were recorded, by samples otherwise.
 */
struct cpu_use slice_use(const struct analysis *a, uint32_t pid, uint64_t tid, uint64_t from_ts,
			 uint64_t to_ts);

/* "41.2 ms on a processor, 3.1 ms in futex"; empty if nothing was measured. */
#define SLICE_PARTS 200
const char *slice_parts(const struct long_slice *s, char buf[SLICE_PARTS]);

/* Called for every slice that is no longer watched; in detect_blocking.c. */
void blocking_judge(struct analysis *a, const struct long_slice *s);

#endif
