/* SPDX-License-Identifier: MIT */
/*
 * bench_soak.c - write events at a steady rate for a long time, with a burst on request.
 *
 *	corotracer run -- bench-soak --rate=1000000 --seconds=120 --burst=15000000
 *
 * Every millisecond as many events as are due; after a delay those that were missed, too.  On
 * SIGUSR1 a burst: as many coroutines as --coroutines says are created and destroyed, and as many
 * events written as --burst says, as fast as possible.  Then the line "burst" is printed.
 */
#include "bench.h"

#include <corotracer/corotracer.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SOAK_COROUTINES 100u
#define SOAK_PERIOD_NS  1000000u

static struct corotracer_coro soaked[SOAK_COROUTINES];
static volatile sig_atomic_t burst_wanted;

static void want_burst(int sig)
{
	(void)sig;
	burst_wanted = 1;
}

static void soak_event(uint64_t k)
{
	struct corotracer_coro *co = &soaked[k % SOAK_COROUTINES];

	if (k / SOAK_COROUTINES % 2)
		corotracer_suspend(co, soaked);
	else
		corotracer_resume(co);
}

/* Writes events @k to @end - 1; returns @end. */
static uint64_t soak_up_to(uint64_t k, uint64_t end)
{
	for (; k < end; k++)
		soak_event(k);
	return end;
}

/* All of them exist at the same time. */
static void soak_coroutines(uint64_t nr)
{
	struct corotracer_coro *many = calloc(nr ? nr : 1, sizeof(*many));
	uint64_t i;

	if (!many)
		bench_die("no memory for the coroutines");
	for (i = 0; i < nr; i++)
		corotracer_begin(&many[i], NULL);
	for (i = 0; i < nr; i++)
		corotracer_end(&many[i]);
	free(many);
}

static uint64_t soak_burst(uint64_t k, uint64_t nr, uint64_t coroutines)
{
	burst_wanted = 0;
	soak_coroutines(coroutines);
	k = soak_up_to(k, k + nr);
	puts("burst");
	fflush(stdout);
	return k;
}

int main(int argc, char **argv)
{
	double rate = bench_option(argc, argv, "rate", 1e6);
	uint64_t burst = (uint64_t)bench_option(argc, argv, "burst", 15e6);
	uint64_t coroutines = (uint64_t)bench_option(argc, argv, "coroutines", 0);
	uint64_t start, now, end, due, written = 0, k = 0;
	const struct timespec period = { 0, SOAK_PERIOD_NS };
	unsigned i;

	signal(SIGUSR1, want_burst);
	for (i = 0; i < SOAK_COROUTINES; i++)
		if (corotracer_begin(&soaked[i], NULL) < 0)
			bench_die("not traced; is this under 'corotracer run'?");
	puts("ready");
	fflush(stdout);
	start = bench_now_ns();
	end = start + (uint64_t)(bench_option(argc, argv, "seconds", 60) * 1e9);
	while ((now = bench_now_ns()) < end) {
		if (burst_wanted)
			k = soak_burst(k, burst, coroutines);
		due = (uint64_t)((double)(now - start) / 1e9 * rate);
		if (due > written) {
			k = soak_up_to(k, k + due - written);
			written = due;
		}
		nanosleep(&period, NULL);
	}
	for (i = 0; i < SOAK_COROUTINES; i++)
		corotracer_end(&soaked[i]);
	return 0;
}
