/* SPDX-License-Identifier: MIT */
/*
 * pipeline.h - work for the coroutines: count the words of requests.
 *
 *	producers --> requests --> workers --> replies --> collector
 *
 * The work comes in consecutive batches, each with its own coroutines and channels.
 * Tickers, which only sleep and wake up, run during all of them.
 */
#ifndef EXAMPLES_PIPELINE_H
#define EXAMPLES_PIPELINE_H

#include <stdint.h>

struct sched;

#define PIPELINE_BATCHES 4
#define PIPELINE_TICKERS 3

struct pipeline_opts {
	unsigned nr_producers; /* per batch, like the next */
	unsigned nr_workers;
	uint64_t run_ns;          /* of all batches together, approximately */
	unsigned nr_lost_wakeups; /* workers of the first batch that are not woken */
};

/* The results, next to the expected values. */
struct pipeline_totals {
	uint64_t sent, answered;    /* requests */
	uint64_t words_sent, words; /* counted by the producers, by the workers */
	uint64_t latency_ns;        /* summed over the answers */
	uint64_t ticks;
	unsigned nr_batches; /* that have ended */
	unsigned nr_failed;  /* coroutines that could not be spawned */
};

struct pipeline;

/* Spawns the coroutines that drive the pipeline; they spawn the rest.  NULL: out of memory. */
struct pipeline *pipeline_new(struct sched *s, const struct pipeline_opts *opts);

/* Call after @s has run. */
struct pipeline_totals pipeline_result(const struct pipeline *p);

/* Call after sched_free().  Accepts NULL. */
void pipeline_free(struct pipeline *p);

#endif
