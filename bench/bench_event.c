/* SPDX-License-Identifier: MIT */
/*
 * bench_event.c - the cost of one event in a loop that does nothing else.
 *
 *	bench-event				alone: a region without a collector
 *	corotracer run -- bench-event		while it is collected
 *
 * All subjects are measured in short runs that take turns, so that other load on the machine
 * affects all of them alike; the best and the median of each are printed.  The cost of the
 * empty loop is subtracted.
 */
#include "bench.h"

#include <corotracer/corotracer.h>

#include <stdlib.h>
#include <time.h>

#define NR_COROUTINES 100u
#define EVENTS_A_RUN  1000u

static struct corotracer_coro coroutines[NR_COROUTINES];
static struct corotracer_coro untraced; /* never begun */

/* The empty loop of run_pairs(). */
static void run_nothing(void)
{
	struct corotracer_coro *co = &untraced;
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

/* Suspend and resume alternately. */
static inline __attribute__((always_inline)) void run_pairs(struct corotracer_coro *co)
{
	unsigned i;

	for (i = 0; i < EVENTS_A_RUN / 2; i++) {
		BENCH_LAUNDER(co);
		corotracer_suspend(co, run_nothing);
		BENCH_LAUNDER(co);
		corotracer_resume(co);
	}
}

static void run_untraced(void)
{
	run_pairs(&untraced);
}

static void run_one(void)
{
	run_pairs(&coroutines[0]);
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

static struct subject {
	const char *key;
	void (*run)(void);
	struct bench_samples samples; /* ns per event */
} subjects[] = {
	{ .key = "loop", .run = run_nothing }, /* must be the first: the overhead of the others */
	{ .key = "clock", .run = run_clock },       { .key = "ticks", .run = run_ticks },
	{ .key = "untraced", .run = run_untraced }, { .key = "one", .run = run_one },
	{ .key = "hundred", .run = run_hundred },   { .key = "switch", .run = run_switch },
};

#define NR_SUBJECTS (sizeof(subjects) / sizeof(subjects[0]))

static void measure(struct subject *s)
{
	uint64_t start = bench_now_ns();

	s->run();
	bench_sample(&s->samples, (double)(bench_now_ns() - start) / EVENTS_A_RUN);
}

static void tell(const char *how, struct subject *s)
{
	struct bench_samples *loop = &subjects[0].samples;

	if (s == &subjects[0])
		return;
	bench_emit(bench_best(&s->samples) - bench_best(loop), "event.%s.%s_ns", how, s->key);
	bench_emit(bench_median(&s->samples) - bench_median(loop), "event.%s.%s_median_ns", how,
		   s->key);
}

int main(int argc, char **argv)
{
	double seconds = bench_option(argc, argv, "seconds", 2);
	bool collected = getenv(CTP_ENV_SHM) != NULL;
	uint64_t end;
	size_t i;

	bench_pin();
	if (!collected && !bench_region_alone(NR_COROUTINES))
		bench_die("cannot make a region");
	for (i = 0; i < NR_COROUTINES; i++)
		if (corotracer_begin(&coroutines[i], NULL) < 0)
			bench_die("not traced; does the collector have 100 stations?");

	end = bench_now_ns() + (uint64_t)(seconds * 1e9);
	while (bench_now_ns() < end)
		for (i = 0; i < NR_SUBJECTS; i++)
			measure(&subjects[i]);
	for (i = 0; i < NR_SUBJECTS; i++)
		tell(collected ? "collected" : "alone", &subjects[i]);
	return 0;
}
