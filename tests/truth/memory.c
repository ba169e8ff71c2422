/* SPDX-License-Identifier: MIT */
/*
 * memory.c - a program with known accesses to memory, for `mem cc`.
 *
 *	truth_memory ROUNDS THREADS [kill]
 *
 * Each thread goes ROUNDS times over its own array of 64 annotated items: it reads the key
 * and writes the hits of each, and then adds to its own counter, which shares a cache line
 * with those of the other threads.  The threads run one after the other in turns of a round, so
 * that the order of accesses is always the same.  Prints its counts as one JSON object.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cacheray.h>

#define NR_ITEMS    64
#define THREADS_MAX 8

struct item {
	long key;
	char cold[80];
	int hits;
	long value;
};

static unsigned long rounds;
static int nr_threads;
static volatile long counters[THREADS_MAX];
static sem_t turn[THREADS_MAX];

static void go_over(volatile struct item *items, int number)
{
	int i;

	for (i = 0; i < NR_ITEMS; i++)
		if (items[i].key == i)
			items[i].hits = number;
	counters[number] = counters[number] + 1;
}

static void *work(void *arg)
{
	int number = (int)(long)arg;
	struct item *items = aligned_alloc(64, NR_ITEMS * sizeof(*items));
	unsigned long round;
	int i;

	cacheray_rtta_add(items, sizeof(*items), NR_ITEMS, "struct item");
	for (i = 0; i < NR_ITEMS; i++)
		items[i].key = i;
	for (round = 0; round < rounds; round++) {
		sem_wait(&turn[number]);
		go_over(items, number);
		sem_post(&turn[(number + 1) % nr_threads]);
	}
	cacheray_rtta_remove(items);
	free(items);
	return NULL;
}

static void put_truth(void)
{
	printf("{\"pid\":%d,\"item\":%zu,\"key\":%zu,\"hits\":%zu,\"keys_read\":%lu,"
	       "\"keys_written\":%d,\"hits_written\":%lu,\"counters_written\":%lu}\n",
	       (int)getpid(), sizeof(struct item), offsetof(struct item, key),
	       offsetof(struct item, hits), rounds * NR_ITEMS * (unsigned long)nr_threads,
	       NR_ITEMS * nr_threads, rounds * NR_ITEMS * (unsigned long)nr_threads,
	       rounds * (unsigned long)nr_threads);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	pthread_t ids[THREADS_MAX];
	int i;

	rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 20;
	nr_threads = argc > 2 ? atoi(argv[2]) : 2;
	if (nr_threads < 1 || nr_threads > THREADS_MAX)
		return 98;
	for (i = 0; i < nr_threads; i++)
		sem_init(&turn[i], 0, i == 0);
	for (i = 0; i < nr_threads; i++)
		pthread_create(&ids[i], NULL, work, (void *)(long)i);
	for (i = 0; i < nr_threads; i++)
		pthread_join(ids[i], NULL);
	put_truth();
	if (argc > 3 && !strcmp(argv[3], "kill"))
		kill(getpid(), SIGKILL);
	return 0;
}
