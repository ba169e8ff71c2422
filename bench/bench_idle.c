/* SPDX-License-Identifier: MIT */
/*
 * bench_idle.c - the cost of the collector while nothing happens.
 *
 *	corotracer run -n 1000000 -- bench-idle --stations=1000000
 *
 * Creates --stations coroutines that run once and stay suspended, then nothing happens for ten
 * seconds.  A sleeping collector still polls all of them at long intervals; with very many
 * coroutines an interval may be longer than the time measured here (--seconds=S measures longer).
 */
#include "bench.h"

#include <corotracer/corotracer.h>

#include <time.h>

#define SETTLE_S 20 /* the time that the collector may need to read the initial events */

static void sleep_s(double seconds)
{
	struct timespec ts = { .tv_sec = (time_t)seconds };

	ts.tv_nsec = (long)((seconds - (double)ts.tv_sec) * 1e9);
	nanosleep(&ts, NULL);
}

/* Wait until the collector has read everything and announced that it sleeps. */
static bool settle(void)
{
	uint32_t *sleeping = corotracer__process.session->sleeping;
	uint64_t end = bench_now_ns() + SETTLE_S * UINT64_C(1000000000);

	while (!ctp_load_relaxed(sleeping) && bench_now_ns() < end)
		sleep_s(0.05);
	sleep_s(0.5);
	return ctp_load_relaxed(sleeping);
}

/* Returns the number of coroutines that got a station. */
static unsigned populate(unsigned nr)
{
	struct corotracer_coro co;
	unsigned i;

	for (i = 0; i < nr; i++) {
		if (corotracer_begin(&co, NULL) < 0)
			break;
		corotracer_resume(&co);
		corotracer_suspend(&co, populate);
	}
	return i;
}

int main(int argc, char **argv)
{
	unsigned nr = (unsigned)bench_option(argc, argv, "stations", 1000000);
	double seconds = bench_option(argc, argv, "seconds", 10);
	uint64_t cpu, start;
	pid_t collector;
	double took_ns;

	bench_pin();
	if (populate(nr) < nr)
		bench_die("fewer stations than asked for; start the collector with -n");
	collector = bench_collector_pid();
	if (!collector)
		bench_die("this collector does not tell who it is");
	bench_emit(settle(), "idle.collector_slept");

	cpu = bench_cpu_ns(collector);
	start = bench_now_ns();
	sleep_s(seconds);
	took_ns = (double)(bench_now_ns() - start);
	cpu = bench_cpu_ns(collector) - cpu;
	bench_emit(nr, "idle.stations");
	bench_emit(100.0 * (double)cpu / took_ns, "idle.collector_cpu_percent");
	return 0;
}
