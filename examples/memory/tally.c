/* SPDX-License-Identifier: MIT */
/*
 * tally.c - threads that each increment their own counters, which share cache lines.
 *
 *	corotracer mem cc -O2 -g -pthread -o tally tally.c
 *	corotracer mem run -o tally.trace -- ./tally 2 20000 100
 *	corotracer mem layout tally.trace
 *
 * tally [THREADS [COUNT [MEET]]] prints the time per item; with -DAFTER it uses the record that
 * `mem layout` printed.  Every MEET items the threads meet at a barrier, so that they run at the
 * same time even on a busy machine; 0: never.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS_MAX 64

#ifndef AFTER

struct tally {
	unsigned long found;
	unsigned long seen;
};

#else

struct tally { /* 64 bytes, was 16 */
	/* hot */
	unsigned long found; /* 0, 8 bytes */
	unsigned long seen;  /* 8, 8 bytes */
} __attribute__((aligned(64)));

#endif

static struct tally tallies[THREADS_MAX];
static unsigned long count = 20000000, meet;
static pthread_barrier_t together;

static void *work(void *arg)
{
	volatile struct tally *t = arg;
	unsigned long i, random = (unsigned long)(t - tallies) + 1;

	pthread_barrier_wait(&together);
	for (i = 0; i < count; i++) {
		if (meet && i % meet == 0)
			pthread_barrier_wait(&together);
		random = random * 6364136223846793005ul + 1442695040888963407ul;
		t->seen++;
		if (random >> 62 == 0)
			t->found++;
	}
	return NULL;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	unsigned nr = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 2, i;
	pthread_t threads[THREADS_MAX];
	unsigned long found = 0;
	double start = now();

	if (argc > 2)
		count = strtoul(argv[2], NULL, 10);
	if (argc > 3)
		meet = strtoul(argv[3], NULL, 10);
	if (nr < 1 || nr > THREADS_MAX)
		return 2;
	pthread_barrier_init(&together, NULL, nr);
	for (i = 0; i < nr; i++)
		pthread_create(&threads[i], NULL, work, &tallies[i]);
	for (i = 0; i < nr; i++) {
		pthread_join(threads[i], NULL);
		found += tallies[i].found;
	}
	fprintf(stderr, "%.3f ns per item\n", (now() - start) * 1e9 / (double)count);
	printf("%lu\n", found);
	return 0;
}
