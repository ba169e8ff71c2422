/* SPDX-License-Identifier: MIT */
/*
 * late_c.c - "late_c THREADS MS": threads that use coroutines from their start, for MS
 * milliseconds, and for a hundred rounds after all of them have begun, while the program's first
 * call of the SDK may be slow.
 *
 * Each thread has one coroutine all the time, one that is suspended once and never again touched,
 * and many short ones.  Prints "target: EVENTS events of COROUTINES" on stderr, from its count.
 */
#include <corotracer/corotracer.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static unsigned long run_ms, nr_threads;
static unsigned long nr_events, nr_coroutines;

/* Threads that have a coroutine, for slow.c. */
extern unsigned long late_begun;
__attribute__((visibility("default"))) unsigned long late_begun;

static unsigned long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (unsigned long)ts.tv_sec * 1000 + (unsigned long)ts.tv_nsec / 1000000;
}

static void begin(struct corotracer_coro *co, const char *name)
{
	corotracer_begin(co, name);
	__atomic_fetch_add(&nr_coroutines, 1, __ATOMIC_RELAXED);
}

static void turn(struct corotracer_coro *co)
{
	corotracer_suspend(co, co);
	corotracer_wake(co, NULL);
	corotracer_resume(co);
	__atomic_fetch_add(&nr_events, 2, __ATOMIC_RELAXED);
}

static void *run(void *unused)
{
	struct timespec pause = { 0, 1000000 };
	struct corotracer_coro all_the_time, left, other;
	unsigned long start = now_ms(), rounds = 0;

	begin(&all_the_time, "all the time");
	__atomic_fetch_add(&late_begun, 1, __ATOMIC_RELAXED);
	begin(&left, "left");
	corotracer_suspend(&left, &left);
	__atomic_fetch_add(&nr_events, 1, __ATOMIC_RELAXED);
	do {
		begin(&other, "comes and goes");
		turn(&other);
		turn(&all_the_time);
		corotracer_switch(&all_the_time, NULL, &other);
		corotracer_switch(&other, NULL, &all_the_time);
		__atomic_fetch_add(&nr_events, 4, __ATOMIC_RELAXED);
		corotracer_end(&other);
		nanosleep(&pause, NULL);
		if (__atomic_load_n(&late_begun, __ATOMIC_RELAXED) == nr_threads)
			rounds++;
	} while (now_ms() - start < run_ms || (run_ms && rounds < 100));
	corotracer_done(&all_the_time);
	corotracer_end(&all_the_time);
	return unused;
}

int main(int argc, char **argv)
{
	unsigned long i;
	pthread_t threads[64];

	nr_threads = argc > 1 ? strtoul(argv[1], NULL, 10) : 8;
	run_ms = argc > 2 ? strtoul(argv[2], NULL, 10) : 800;
	for (i = 0; i < nr_threads && i < 64; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	while (i-- > 0)
		pthread_join(threads[i], NULL);
	fprintf(stderr, "target: %lu events of %lu\n", nr_events, nr_coroutines);
	return 0;
}
