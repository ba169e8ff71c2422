/* SPDX-License-Identifier: MIT */
/*
 * live_load.c - a server under load: many coroutines, and a given number of transitions per second.
 *
 *	live_load COROUTINES TRANSITIONS_PER_SECOND SECONDS [THREADS]
 *
 * Each thread has its share of the coroutines.  In steps of a millisecond it wakes, resumes and
 * suspends the next ones, as many as the rate allows by then; at the end it prints what it did, as
 * a JSON object.  A rate of 0: no pause at all.
 */
#include <corotracer/corotracer.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STEP_NS       UINT64_C(1000000)
#define NS_PER_SECOND UINT64_C(1000000000)
#define LOAD_THREADS  64u

struct load_share {
	pthread_t thread;
	struct corotracer_coro *coros;
	size_t nr, next;
	uint64_t rate, until_ns;
	uint64_t transitions;
};

static uint64_t load_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

/* One of ten slices is woken by another coroutine; the others are due to a timer. */
static void load_slice(struct load_share *s)
{
	struct corotracer_coro *co = &s->coros[s->next];

	if (s->next % 10 == 0)
		corotracer_wake(co, &s->coros[(s->next + 1) % s->nr]);
	corotracer_resume(co);
	if (s->next % 2)
		corotracer_await(co, CTP_REASON_TIMER, 0);
	else
		corotracer_await(co, CTP_REASON_CHANNEL_RECV, 1 + s->next % 100);
	s->transitions += 2;
	s->next = (s->next + 1) % s->nr;
}

static void load_create(struct load_share *s)
{
	char name[32];
	size_t i;

	for (i = 0; i < s->nr; i++) {
		snprintf(name, sizeof(name), "request %zu", i % 1000);
		corotracer_spawn(&s->coros[i], name, NULL);
		corotracer_resume(&s->coros[i]);
		corotracer_await(&s->coros[i], CTP_REASON_TIMER, 0);
		s->transitions += 2;
	}
}

static void *load_work(void *arg)
{
	struct load_share *s = arg;
	uint64_t start, now, due, done = 0;

	load_create(s);
	start = load_now();
	while ((now = load_now()) < s->until_ns) {
		due = s->rate ? (uint64_t)((double)(now - start) * (double)s->rate / 2e9)
			      : done + 4096;
		for (; done < due; done++)
			load_slice(s);
		if (s->rate)
			nanosleep(&(struct timespec){ .tv_nsec = (long)STEP_NS }, NULL);
	}
	return NULL;
}

static bool load_start(struct load_share *s, size_t nr, uint64_t rate, uint64_t until_ns)
{
	*s = (struct load_share){ .nr = nr, .rate = rate, .until_ns = until_ns };
	s->coros = calloc(nr, sizeof(*s->coros));
	return s->coros && !pthread_create(&s->thread, NULL, load_work, s);
}

static uint64_t load_number(char **argv, int argc, int i, uint64_t otherwise)
{
	return argc > i ? strtoull(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	uint64_t coros = load_number(argv, argc, 1, 100000);
	uint64_t rate = load_number(argv, argc, 2, 1000000);
	uint64_t seconds = load_number(argv, argc, 3, 10);
	uint64_t threads = load_number(argv, argc, 4, 2), transitions = 0, i;
	static struct load_share shares[LOAD_THREADS];

	if (!threads || threads > LOAD_THREADS || coros < threads)
		return 2;
	corotracer_init();
	for (i = 0; i < threads; i++) {
		if (!load_start(&shares[i], coros / threads, rate / threads,
				load_now() + seconds * NS_PER_SECOND))
			return 1;
	}
	for (i = 0; i < threads; i++) {
		pthread_join(shares[i].thread, NULL);
		transitions += shares[i].transitions;
	}
	printf("{\"coroutines\": %llu, \"transitions\": %llu}\n",
	       (unsigned long long)(coros / threads * threads), (unsigned long long)transitions);
	return 0;
}
