/* SPDX-License-Identifier: MIT */
/*
 * short_threads.c - many threads with few accesses: short_threads NR AT_ONCE WRITES [hold]
 *
 * AT_ONCE of them are started before the first is joined.  With "hold", each of these waits for the
 * others between its writes and as many more.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_barrier_t barrier;
static int writes, is_held;

static __attribute__((noinline)) void touch(volatile int *cells, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		cells[i % 64] = i;
}

static void *body(void *arg)
{
	volatile int cells[64];

	(void)arg;
	touch(cells, writes);
	if (is_held) {
		pthread_barrier_wait(&barrier);
		touch(cells, writes);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int nr = argc > 3 ? atoi(argv[1]) : 10, at_once = argc > 3 ? atoi(argv[2]) : 1, done, i;
	pthread_t *threads = calloc((size_t)at_once, sizeof(*threads));
	pthread_attr_t small;

	writes = argc > 3 ? atoi(argv[3]) : 10;
	is_held = argc > 4;
	pthread_barrier_init(&barrier, NULL, (unsigned)at_once);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (done = 0; done < nr; done += at_once) {
		for (i = 0; i < at_once; i++) {
			if (pthread_create(&threads[i], &small, body, NULL) != 0)
				return 77;
		}
		for (i = 0; i < at_once; i++)
			pthread_join(threads[i], NULL);
	}
	return 0;
}
