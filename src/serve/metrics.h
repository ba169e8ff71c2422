/* SPDX-License-Identifier: MIT */
/*
 * metrics.h - what Prometheus scrapes, counted from the items of a trace.
 *
 * One thread adds items, another renders the text: metrics_add() and metrics_render() take the
 * lock.
 *
 * The number of time series is bounded: the first sites that occur have series of their own, all
 * others together are the site "other".  A site keeps its series for as long as the process runs:
 * counters must not decrease.  Memory grows with the coroutines that exist at one time.
 */
#ifndef SERVE_METRICS_H
#define SERVE_METRICS_H

#include <pthread.h>

#include "base/bytes.h"
#include "base/err.h"
#include "trace/trace_context.h"
#include "trace/trace_reader.h"
#include "trace/wait_pairs.h"

#define METRICS_BUCKETS       25 /* 1, 2, 5, 10, ... from 1 us to 100 s */
#define METRICS_SITES_DEFAULT 50
#define METRICS_SITES_MOST    1000
#define METRICS_OTHER         0 /* slot of all sites beyond the limit */
#define METRICS_UNKNOWN       1 /* slot of coroutines and waits without a site */
#define METRICS_FIRST_SITE    2

/* Empty texts are not written.  Those that are not set follow from the trace. */
struct metrics_labels {
	char service[256], build[256], version[256], host[256], region[256];
};

/* Upper bounds of the buckets in nanoseconds; a wait of that length is in the bucket. */
extern const uint64_t metrics_bounds[METRICS_BUCKETS];

/* A wait that belongs to a trace of the user: OpenMetrics has one for each bucket. */
struct metrics_exemplar {
	struct trace_context context; /* all zero: none */
	uint64_t ns;
};

struct metrics_histogram {
	uint64_t
		buckets[METRICS_BUCKETS + 1]; /* not cumulative; the last one is above all bounds */
	uint64_t count, sum_ns;
};

struct metrics_site {
	uint64_t states[NR_TRACE_STATES]; /* coroutines */
	unsigned seen;                    /* bit s: state s occurred: its series stays */
	char *label;                      /* escaped */
};

/* Waits at a site for a reason. */
struct metrics_waits {
	uint32_t site;  /* slot */
	uint8_t reason; /* enum trace_reason; NR_TRACE_REASONS: any other */
	struct metrics_histogram wait, ready;
	struct metrics_exemplar exemplars[METRICS_BUCKETS + 1]; /* of wait: the last ones */
};

/* Indexes of the counters of events. */
enum metrics_kind { METRICS_TRANSITION, METRICS_EVENT_OTHER, NR_METRICS_KINDS };

struct metrics {
	/*
	 * Taken before the lock, and held while waiting for it: the thread that adds items cannot
	 * take the lock again before a scrape that waits.
	 */
	pthread_mutex_t turn;
	pthread_mutex_t lock; /* of all below */
	struct metrics_labels labels;
	const char *trace; /* path */
	pid_t collector;   /* whose processor time is reported; 0: unknown */
	size_t sites_max, waits_max;
	struct u64map site_slots; /* site id to slot */
	struct metrics_site *sites;
	size_t nr_sites;
	uint64_t sites_beyond; /* sites that are part of "other" */
	struct u64map waits_numbers;
	struct metrics_waits *waits; /* the first is of METRICS_OTHER */
	size_t nr_waits;
	uint64_t wait_states[NR_WAIT_STATES];
	struct wait_pairs pairs;
	struct coro_table coroutines;
	struct context_table contexts;
	uint64_t collected[NR_METRICS_KINDS], lost[NR_METRICS_KINDS];
	uint64_t missed;    /* blocks of the trace that could not be read */
	uint64_t last_ts;   /* of the newest event */
	uint64_t behind_ns; /* age of the newest event while more of the trace is unread */
	bool has_ended;
};

/* @sites_max: 0: the default.  @path must outlive it.  -ENOMEM. */
int metrics_init(struct metrics *m, const char *path, size_t sites_max, struct err *err);
void metrics_release(struct metrics *m);

/* Add items until there are none for now, but no longer than some milliseconds.  As trace_next().
 */
int metrics_read(struct metrics *m, struct trace_reader *reader, struct err *err);

/* The trace is read completely. */
void metrics_finish(struct metrics *m);

/* Append the text to @out, as OpenMetrics 1.0.0 or in the text format 0.0.4 of Prometheus. */
void metrics_render(struct metrics *m, bool is_openmetrics, struct bytes *out);

/* ---- between the files of the metrics --------------------------------------- */

/* A coroutine, and where it is counted. */
struct metrics_coroutine {
	struct coro_state life; /* first member: see coro_table.h */
	uint32_t birth_slot, slot;
	uint8_t counted; /* enum trace_state; TRACE_STATE_UNKNOWN: not counted */
};

void metrics_lock(struct metrics *m);
void metrics_unlock(struct metrics *m);

/* Append @text as the value of a label: backslash, quote and line end escaped, valid UTF-8. */
void metrics_put_escaped(struct bytes *out, const char *text);

/* What `ship` says in TRACE.shipped. */
struct metrics_shipped {
	uint64_t blocks, bytes, events[NR_METRICS_KINDS];
};

struct metrics_spool {
	struct metrics_shipped shipped, spooled, given_up;
	bool has_trouble; /* nothing arrives at the moment */
};

/* False: the trace is not shipped, or the file cannot be read. */
bool metrics_spool_read(struct metrics_spool *s, const char *trace);

#endif
