/* SPDX-License-Identifier: MIT */
/*
 * bench_busy.c - the cost of the collector while a few of very many coroutines are busy.
 *
 *	corotracer run -- bench-busy --idle=1000000 --busy=1000 --rate=100000 --seconds=5
 *
 * Creates --idle coroutines that run once and stay suspended; then --busy coroutines have
 * events at a steady rate, in batches of one millisecond.  The collector's CPU time is
 * counted after a warm-up of two seconds.
 */
#include "bench.h"

#include <corotracer/corotracer.h>

#include <stdlib.h>
#include <time.h>

static struct corotracer_coro *busy;

/* Write @rate events per second, spread over @nr coroutines, for @seconds.  Returns their
 * number. */
static uint64_t be_busy(unsigned nr, double rate, double seconds)
{
	uint64_t start = bench_now_ns(), end = start + (uint64_t)(seconds * 1e9), k = 0;
	struct timespec step = { 0, 1000000 };

	while (bench_now_ns() < end) {
		uint64_t due = (uint64_t)((double)(bench_now_ns() - start) * rate / 1e9);

		for (; k < due; k++) {
			if (k / nr % 2)
				corotracer_suspend(&busy[k % nr], busy);
			else
				corotracer_resume(&busy[k % nr]);
		}
		nanosleep(&step, NULL);
	}
	return k;
}

static void begin_all(unsigned idle, unsigned nr)
{
	struct corotracer_coro co;
	unsigned i;

	for (i = 0; i < idle; i++) {
		if (corotracer_begin(&co, NULL) < 0)
			bench_die("no room for so many");
		corotracer_resume(&co);
		corotracer_suspend(&co, begin_all);
	}
	for (i = 0; i < nr; i++)
		if (corotracer_begin(&busy[i], NULL) < 0)
			bench_die("no room for so many");
}

int main(int argc, char **argv)
{
	unsigned idle = (unsigned)bench_option(argc, argv, "idle", 0);
	unsigned nr = (unsigned)bench_option(argc, argv, "busy", 1000);
	double rate = bench_option(argc, argv, "rate", 100000);
	double seconds = bench_option(argc, argv, "seconds", 5);
	pid_t collector;
	uint64_t cpu, start, events;
	double took_ns;

	bench_pin();
	busy = calloc(nr ? nr : 1, sizeof(*busy));
	if (!busy || !nr)
		bench_die("no coroutines");
	begin_all(idle, nr);
	collector = bench_collector_pid();
	if (!collector)
		bench_die("this collector does not tell who it is");
	be_busy(nr, rate, 2);

	cpu = bench_cpu_ns(collector);
	start = bench_now_ns();
	events = be_busy(nr, rate, seconds);
	took_ns = (double)(bench_now_ns() - start);
	cpu = bench_cpu_ns(collector) - cpu;
	bench_emit(100.0 * (double)cpu / took_ns, "busy.%s.collector_cpu_percent",
		   idle ? "crowd" : "alone");
	bench_emit((double)cpu / (double)events, "busy.%s.collector_ns_per_event",
		   idle ? "crowd" : "alone");
	bench_emit(idle, "busy.%s.idle", idle ? "crowd" : "alone");
	free(busy);
	return 0;
}
