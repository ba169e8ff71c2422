/* SPDX-License-Identifier: MIT */
/*
 * bench_lane.c - the cost of one event that is written to a lane.
 *
 *	bench-lane				alone: a region without a collector
 *	corotracer run -- bench-lane		while it is collected
 *
 * Alone, runs of 1,000 events take turns as in bench-event; full chunks are returned to the
 * pool in between, as a collector does.
 *
 * Collected, the same events come in bursts of 100,000: enough to keep the collector busy
 * throughout the burst, few enough to fit into the buffer; between two bursts the collector
 * may finish.  The mean is over all events, in runs of 1,000; runs in which another process
 * took the CPU (over ten times the median) are counted and excluded, and the mean of all runs
 * is printed, too.  Then single events are timed with the counter before and after, less the
 * cost of the counter itself: the result is their 99.9th percentile.
 */
#include "bench.h"

#include <corotracer/corotracer.h>
#include <corotracer/pool.h>

#include <stdlib.h>
#include <time.h>

#define NR_COROUTINES 100u
#define EVENTS_A_RUN  1000u
#define RUNS_A_BURST  100u
#define SINGLES       20000u

static struct corotracer_coro coroutines[NR_COROUTINES];

/* ---- the subjects ---------------------------------------------------------------------- */

static void run_nothing(void)
{
	struct corotracer_coro *co = &coroutines[0];
	unsigned i;

	for (i = 0; i < EVENTS_A_RUN / 2; i++) {
		BENCH_LAUNDER(co);
		BENCH_LAUNDER(co);
	}
}

static void run_clock(void)
{
	struct timespec ts, *p = &ts;
	unsigned i;

	for (i = 0; i < EVENTS_A_RUN; i++) {
		clock_gettime(CLOCK_MONOTONIC, p);
		BENCH_LAUNDER(p);
	}
}

static void run_ticks(void)
{
	unsigned i;

	for (i = 0; i < EVENTS_A_RUN; i++) {
		uint64_t ticks = ctp_ticks();

		BENCH_LAUNDER(ticks);
	}
}

static void run_one(void)
{
	struct corotracer_coro *co = &coroutines[0];
	unsigned i;

	for (i = 0; i < EVENTS_A_RUN / 2; i++) {
		BENCH_LAUNDER(co);
		corotracer_suspend(co, run_nothing);
		BENCH_LAUNDER(co);
		corotracer_resume(co);
	}
}

static void run_hundred(void)
{
	unsigned i;

	for (i = 0; i < EVENTS_A_RUN; i++) {
		struct corotracer_coro *co = &coroutines[i % NR_COROUTINES];

		BENCH_LAUNDER(co);
		if (i / NR_COROUTINES % 2)
			corotracer_resume(co);
		else
			corotracer_suspend(co, run_nothing);
	}
}

/* Each coroutine switches to the next: two events per call. */
static void run_switch(void)
{
	unsigned i;

	for (i = 0; i < EVENTS_A_RUN / 2; i++) {
		struct corotracer_coro *from = &coroutines[i % NR_COROUTINES];
		struct corotracer_coro *to = &coroutines[(i + 1) % NR_COROUTINES];

		BENCH_LAUNDER(from);
		BENCH_LAUNDER(to);
		corotracer_switch(from, run_nothing, to);
	}
}

/* With site, reason and resource: two records. */
static void run_await(void)
{
	struct corotracer_coro *co = &coroutines[0];
	unsigned i;

	for (i = 0; i < EVENTS_A_RUN / 2; i++) {
		BENCH_LAUNDER(co);
		corotracer_await(co, CTP_REASON_IO_READ, 7);
		BENCH_LAUNDER(co);
		corotracer_resume(co);
	}
}

static struct subject {
	const char *key;
	void (*run)(void);
	struct bench_samples samples; /* ns per event */
} subjects[] = {
	{ .key = "loop", .run = run_nothing }, /* must be the first: the overhead of the others */
	{ .key = "clock", .run = run_clock },   { .key = "ticks", .run = run_ticks },
	{ .key = "one", .run = run_one },       { .key = "hundred", .run = run_hundred },
	{ .key = "switch", .run = run_switch }, { .key = "await", .run = run_await },
};

#define NR_SUBJECTS (sizeof(subjects) / sizeof(subjects[0]))

static void measure(struct subject *s)
{
	uint64_t start = bench_now_ns();

	s->run();
	bench_sample(&s->samples, (double)(bench_now_ns() - start) / EVENTS_A_RUN);
}

/* ---- alone ------------------------------------------------------------------------------------
 */

static void give_back_chunks(void)
{
	struct ctp_lane *lane = corotracer__thread.lane;
	struct ctp_arena *chunks = &corotracer__process.session->chunk_pool;

	while (lane->taken - lane->returned > 1) {
		uint32_t oldest = (uint32_t)lane->oldest;

		lane->oldest = ((struct ctp_chunk *)ctp_unit(chunks, oldest - 1))->link;
		ctp_pool_give(chunks, oldest - 1);
		lane->returned++;
	}
}

static void tell_alone(struct subject *s)
{
	struct bench_samples *loop = &subjects[0].samples;

	if (s == &subjects[0])
		return;
	bench_emit(bench_best(&s->samples) - bench_best(loop), "lane.alone.%s_ns", s->key);
	bench_emit(bench_median(&s->samples) - bench_median(loop), "lane.alone.%s_median_ns",
		   s->key);
}

static void run_alone(double seconds)
{
	uint64_t end = bench_now_ns() + (uint64_t)(seconds * 1e9);
	size_t i;

	while (bench_now_ns() < end) {
		for (i = 0; i < NR_SUBJECTS; i++) {
			measure(&subjects[i]);
			give_back_chunks();
		}
	}
	for (i = 0; i < NR_SUBJECTS; i++)
		tell_alone(&subjects[i]);
	/* Where reading the counter is expensive, this is the cost of the lane itself. */
	bench_emit(bench_best(&subjects[3].samples) - bench_best(&subjects[2].samples),
		   "lane.alone.one_less_ns");
}

/* ---- while being collected
 * ----------------------------------------------------------------------- */

/* Wait until the collector has read all events; at most a second, in case it has ended. */
static void wait_until_read(void)
{
	const struct ctp_lane *lane = corotracer__thread.lane;
	struct timespec step = { 0, 200000 };
	int tries;

	for (tries = 0; tries < 5000; tries++) {
		if (ctp_load_relaxed(&lane->tail) == ctp_load_relaxed(&lane->head))
			return;
		nanosleep(&step, NULL);
	}
}

static void burst(struct subject *s)
{
	unsigned i;

	for (i = 0; i < RUNS_A_BURST; i++)
		measure(s);
}

/* The mean of all runs, and the mean without the disturbed ones. */
static void tell_mean(struct subject *s)
{
	double median = bench_median(&s->samples), all = 0, calm = 0;
	size_t i, nr_calm = 0;

	for (i = 0; i < s->samples.nr; i++) {
		all += s->samples.values[i];
		if (s->samples.values[i] > 10 * median)
			continue;
		calm += s->samples.values[i];
		nr_calm++;
	}
	bench_emit(calm / (double)nr_calm, "lane.collected.%s_mean_ns", s->key);
	bench_emit(all / (double)s->samples.nr, "lane.collected.%s_all_ns", s->key);
	bench_emit(100.0 * (double)(s->samples.nr - nr_calm) / (double)s->samples.nr,
		   "lane.collected.%s_disturbed_percent", s->key);
}

/* The cost of two consecutive reads of the counter. */
static uint64_t counter_cost(void)
{
	uint64_t least = UINT64_MAX;
	int i;

	for (i = 0; i < 10000; i++) {
		uint64_t start = ctp_ticks(), ticks = ctp_ticks() - start;

		least = ticks < least ? ticks : least;
	}
	return least;
}

static void singles(struct bench_samples *samples, uint64_t overhead, double ns_per_tick)
{
	struct corotracer_coro *co = &coroutines[0];
	unsigned i;

	for (i = 0; i < SINGLES; i++) {
		uint64_t start = ctp_ticks(), ticks;

		if (i % 2)
			corotracer_resume(co);
		else
			corotracer_suspend(co, run_nothing);
		ticks = ctp_ticks() - start;
		bench_sample(samples,
			     (double)(ticks > overhead ? ticks - overhead : 0) * ns_per_tick);
	}
}

static void run_collected(double seconds)
{
	struct subject *clock = &subjects[1], *one = &subjects[3], *hundred = &subjects[4];
	double ns_per_tick = bench_ns_per_tick();
	uint64_t overhead = counter_cost(), end = bench_now_ns() + (uint64_t)(seconds * 1e9);
	struct bench_samples each = { 0 };

	while (bench_now_ns() < end) {
		burst(clock);
		burst(one);
		wait_until_read();
		burst(hundred);
		wait_until_read();
		singles(&each, overhead, ns_per_tick);
		wait_until_read();
	}
	bench_emit(bench_median(&clock->samples), "lane.collected.clock_ns");
	tell_mean(one);
	tell_mean(hundred);
	bench_emit(bench_quantile(&each, 0.5), "lane.collected.p50_ns");
	bench_emit(bench_quantile(&each, 0.99), "lane.collected.p99_ns");
	bench_emit(bench_quantile(&each, 0.999), "lane.collected.p999_ns");
	bench_emit((double)ctp_load_relaxed(&corotracer__thread.lane->dropped),
		   "lane.collected.dropped");
}

int main(int argc, char **argv)
{
	double seconds = bench_option(argc, argv, "seconds", 2);
	bool collected = getenv(CTP_ENV_SHM) != NULL;
	size_t i;

	bench_pin();
	if (!collected && !bench_region_lanes(NR_COROUTINES))
		bench_die("cannot make a region");
	for (i = 0; i < NR_COROUTINES; i++)
		if (corotracer_begin(&coroutines[i], NULL) < 0)
			bench_die("not traced");
	if (!corotracer__thread.lane)
		bench_die("this collector offers no lanes");
	if (collected)
		run_collected(seconds);
	else
		run_alone(seconds);
	return 0;
}
