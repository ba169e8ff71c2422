/* SPDX-License-Identifier: MIT */
/*
 * memory_coroutines.c - coroutines with known accesses to memory, for `mem cc`.
 *
 *	truth_memory_coroutines ROUNDS THREADS [kill]
 *
 * In each round each of three writers runs once, on another thread than in the round before: it
 * writes its row of `cells`, at one of two awaits in turn.  Then an outer coroutine reads from
 * `table`, resumes an inner one, which writes to `table`, and reads again.  Then a coroutine
 * is created, allocates annotated items, uses them, and ends without another suspend.  The
 * scheduler writes to `queue` between all of these, outside of coroutines.  The threads take turns.
 * Prints its counts as one JSON object: [kind, line of the await before (0: none), array, reads,
 * writes, slices], where slices of an array are those that used it.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cacheray.h>
#include <corotracer/corotracer.h>

#define NR_WRITERS  3
#define NR_CELLS    48
#define NR_TABLE    40
#define NR_ITEMS    8
#define THREADS_MAX 4
#define COUNTS_MAX  32

struct item {
	long key;
	long value;
};

struct count {
	const char *kind, *array;
	int after; /* line of the await before; 0: none */
	unsigned long reads, writes, slices;
};

struct task {
	struct corotracer_coro trace;
	int after;
};

static unsigned long rounds;
static int nr_threads;
static volatile long cells[NR_WRITERS][NR_CELLS], table[NR_TABLE], queue[8];
static struct task writers[NR_WRITERS], outer, inner;
static struct count counts[COUNTS_MAX];
static int nr_counts;
static unsigned long allocated;
static sem_t turn[THREADS_MAX];

static void count_uses(const char *kind, int after, const char *array, unsigned long reads,
		       unsigned long writes)
{
	struct count *c = counts;

	while (c < counts + nr_counts &&
	       (strcmp(c->kind, kind) != 0 || c->after != after || strcmp(c->array, array) != 0))
		c++;
	if (c == counts + nr_counts) {
		if (nr_counts++ == COUNTS_MAX)
			abort();
		c->kind = kind;
		c->after = after;
		c->array = array;
	}
	c->reads += reads;
	c->writes += writes;
	c->slices++;
}

static void run_writer(struct task *t, int number, unsigned long round)
{
	int i;

	for (i = 0; i < NR_CELLS; i++)
		cells[number][i] = (long)round;
	count_uses("writer", t->after, "cells", 0, NR_CELLS);
	if (round % 2) {
		t->after = __LINE__ + 1;
		corotracer_await(&t->trace, CTP_REASON_YIELD, 0);
	} else {
		t->after = __LINE__ + 1;
		corotracer_await(&t->trace, CTP_REASON_TIMER, 0);
	}
}

static void run_inner(struct task *t)
{
	int i;

	for (i = 0; i < NR_TABLE / 2; i++)
		table[i] = i;
	count_uses("inner", t->after, "table", 0, NR_TABLE / 2);
	t->after = __LINE__ + 1;
	corotracer_await(&t->trace, CTP_REASON_YIELD, 0);
}

static void run_outer(struct task *t)
{
	long sum = 0;
	int i;

	for (i = 0; i < NR_TABLE; i++)
		sum += table[i];
	corotracer_resume(&inner.trace);
	run_inner(&inner);
	for (i = 0; i < NR_TABLE; i++)
		sum += table[i];
	count_uses("outer", t->after, "table", 2ul * NR_TABLE, 0);
	t->after = __LINE__ + 1;
	corotracer_await(&t->trace, CTP_REASON_YIELD, sum & 1);
}

/* Like the others, but it ends in the round in which it began. */
static void run_short(unsigned long round)
{
	static struct task t; /* the address is used again */
	volatile struct item *items;
	char name[32];
	int i;

	snprintf(name, sizeof(name), "short %lu", round);
	corotracer_spawn(&t.trace, name, NULL);
	corotracer_resume(&t.trace);
	items = cacheray_calloc(struct item, NR_ITEMS);
	allocated += NR_ITEMS * sizeof(*items);
	for (i = 0; i < NR_ITEMS; i++)
		items[i].value = items[i].key;
	count_uses("short", 0, "items", NR_ITEMS, NR_ITEMS);
	free((void *)items);
	if (round % 2)
		corotracer_done(&t.trace);
	corotracer_end(&t.trace);
}

static void run_round(unsigned long round, int thread)
{
	int i;

	for (i = thread; i < NR_WRITERS; i += nr_threads) {
		int number = (int)((unsigned long)i + round) % NR_WRITERS;

		queue[0] = number;
		corotracer_resume(&writers[number].trace);
		run_writer(&writers[number], number, round);
		queue[1] = number;
		count_uses("", 0, "queue", 0, 2);
	}
	if ((unsigned long)thread != round % (unsigned long)nr_threads)
		return;
	corotracer_resume(&outer.trace);
	run_outer(&outer);
	queue[2] = 1;
	count_uses("", 0, "queue", 0, 1);
	run_short(round);
}

static void *thread_work(void *arg)
{
	int number = (int)(long)arg;
	unsigned long round;

	for (round = 0; round < rounds; round++) {
		sem_wait(&turn[number]);
		run_round(round, number);
		sem_post(&turn[(number + 1) % nr_threads]);
	}
	return NULL;
}

static void put_truth(void)
{
	int i;

	printf("{\"pid\":%d,\"cells\":[%lu,%zu],\"table\":[%lu,%zu],\"queue\":[%lu,%zu],"
	       "\"allocated\":%lu,"
	       "\"ids\":[%llu,%llu,%llu],\"counts\":[",
	       (int)getpid(), (unsigned long)cells, sizeof(cells), (unsigned long)table,
	       sizeof(table), (unsigned long)queue, sizeof(queue), allocated,
	       (unsigned long long)corotracer_id(&writers[0].trace),
	       (unsigned long long)corotracer_id(&writers[1].trace),
	       (unsigned long long)corotracer_id(&writers[2].trace));
	for (i = 0; i < nr_counts; i++)
		printf("%s[\"%s\",%d,\"%s\",%lu,%lu,%lu]", i ? "," : "", counts[i].kind,
		       counts[i].after, counts[i].array, counts[i].reads, counts[i].writes,
		       counts[i].slices);
	puts("]}");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	pthread_t ids[THREADS_MAX];
	char name[32];
	int i;

	rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 20;
	nr_threads = argc > 2 ? atoi(argv[2]) : 2;
	if (nr_threads < 1 || nr_threads > THREADS_MAX)
		return 98;
	corotracer_init();
	for (i = 0; i < NR_WRITERS; i++) {
		snprintf(name, sizeof(name), "writer-%d", i);
		corotracer_spawn(&writers[i].trace, name, NULL);
	}
	corotracer_begin(&outer.trace, "outer");
	corotracer_begin(&inner.trace, "inner");
	for (i = 0; i < nr_threads; i++)
		sem_init(&turn[i], 0, i == 0);
	for (i = 0; i < nr_threads; i++)
		pthread_create(&ids[i], NULL, thread_work, (void *)(long)i);
	for (i = 0; i < nr_threads; i++)
		pthread_join(ids[i], NULL);
	put_truth();
	if (argc > 3 && !strcmp(argv[3], "kill"))
		kill(getpid(), SIGKILL);
	return 0;
}
