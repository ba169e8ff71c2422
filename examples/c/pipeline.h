/* SPDX-License-Identifier: MIT */
/*
 * pipeline.h - something to do for coroutines: count the words of requests.
 *
 *	producers --> requests --> workers --> replies --> collector
 *
 * The work comes in batches, one after the other, each with coroutines and channels
 * of its own.  Tickers, which only sleep and wake, run through all of them.
 */
#ifndef EXAMPLES_PIPELINE_H
#define EXAMPLES_PIPELINE_H

#include <stdint.h>

struct sched;

#define PIPELINE_BATCHES 4
#define PIPELINE_TICKERS 3

struct pipeline_opts {
	unsigned nr_producers; /* per batch, as the next */
	unsigned nr_workers;
	uint64_t run_ns;          /* all batches together, about */
	unsigned nr_lost_wakeups; /* so many workers of the first batch are forgotten */
};

/* What was done, and what should have been. */
struct pipeline_totals {
	uint64_t sent, answered;    /* requests */
	uint64_t words_sent, words; /* by the producers' count, by the workers' */
	uint64_t latency_ns;        /* summed over the answers */
	uint64_t ticks;
	unsigned nr_batches; /* that came to their end */
	unsigned nr_failed;  /* coroutines that could not be spawned */
};

struct pipeline;

/* Spawns what drives the pipeline; the rest follows while @s runs.  NULL: no memory. */
struct pipeline *pipeline_new(struct sched *s, const struct pipeline_opts *opts);

/* Once @s has run. */
struct pipeline_totals pipeline_result(const struct pipeline *p);

/* Once @s is gone.  Accepts NULL. */
void pipeline_free(struct pipeline *p);

#endif
