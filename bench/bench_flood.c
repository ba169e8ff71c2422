/* SPDX-License-Identifier: MIT */
/*
 * bench_flood.c - write as many events as possible, to measure the collector's throughput.
 *
 *	corotracer run -n 1000 -- bench-flood --coroutines=1000 --seconds=2
 *	corotracer run -o x.ctf -- bench-flood --events=10000000
 */
#include "bench.h"

#include <corotracer/corotracer.h>

#include <stdlib.h>

#define EVENTS_A_LOOK 1000u /* between two reads of the clock */

int main(int argc, char **argv)
{
	unsigned nr = (unsigned)bench_option(argc, argv, "coroutines", 1000);
	double seconds = bench_option(argc, argv, "seconds", 2);
	uint64_t most = (uint64_t)bench_option(argc, argv, "events", 1e18);
	struct corotracer_coro *coroutines = calloc(nr ? nr : 1, sizeof(*coroutines));
	uint64_t start, end, k = 0;
	unsigned i;

	bench_pin();
	if (!coroutines || !nr)
		bench_die("no coroutines");
	for (i = 0; i < nr; i++)
		if (corotracer_begin(&coroutines[i], NULL) < 0)
			bench_die("not traced; has the collector enough stations?");

	start = bench_now_ns();
	end = start + (uint64_t)(seconds * 1e9);
	while (bench_now_ns() < end && k < most) {
		for (i = 0; i < EVENTS_A_LOOK; i++, k++) {
			if (k / nr % 2)
				corotracer_suspend(&coroutines[k % nr], coroutines);
			else
				corotracer_resume(&coroutines[k % nr]);
		}
	}
	end = bench_now_ns();
	bench_emit((double)k, "flood.written");
	bench_emit((double)(end - start) / (double)k, "flood.event_ns");
	bench_emit((double)(end - start) / 1e9, "flood.seconds");
	free(coroutines);
	return 0;
}
