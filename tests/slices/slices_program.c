/* SPDX-License-Identifier: MIT */
/*
 * slices_program.c - a timer loop whose worker keeps its thread in the way that is asked for.
 *
 *	slices_program MODE [SECONDS]
 *
 * Eight tickers wait for timers of 5 ms.  Every 50 ms a worker does, in one slice of 60 ms:
 *	sleep	nanosleep
 *	burn	computes
 *	mutex	waits for a mutex that a thread holds
 *	light	nothing
 *	brief	computes for 4 ms only
 *	alone	computes, on a thread of its own
 *	start	computes for 700 ms in its first slice, then nothing
 *	forever	computes from the second slice on until the program is ended
 */
#include <corotracer/corotracer.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MS      UINT64_C(1000000)
#define TICKERS 8

struct timed {
	struct corotracer_coro trace;
	uint64_t due_ns;
	void (*step)(struct timed *t);
	unsigned rounds;
};

static const char *mode;
static uint64_t end_ns;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t clock_ms(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000 * MS + (uint64_t)ts.tv_nsec;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / (1000 * MS)), (long)(ns % (1000 * MS)) };

	nanosleep(&ts, NULL);
}

static void burn_ns(uint64_t ns)
{
	uint64_t until = clock_ms(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ms(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

static void *hold_lock(void *started)
{
	pthread_mutex_lock(&lock);
	__atomic_store_n((int *)started, 1, __ATOMIC_RELEASE);
	sleep_ns(60 * MS);
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void wait_for_lock(void)
{
	pthread_t thread;
	int started = 0;

	pthread_create(&thread, NULL, hold_lock, &started);
	while (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
		sleep_ns(MS / 10);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
}

static void tick(struct timed *t)
{
	t->due_ns = clock_ms(CLOCK_MONOTONIC) + 5 * MS;
	corotracer_await(&t->trace, CTP_REASON_TIMER, t->due_ns);
}

static void work(struct timed *t)
{
	if (!strcmp(mode, "sleep"))
		sleep_ns(60 * MS);
	else if (!strcmp(mode, "burn") || !strcmp(mode, "alone"))
		burn_ns(60 * MS);
	else if (!strcmp(mode, "brief"))
		burn_ns(4 * MS);
	else if (!strcmp(mode, "mutex"))
		wait_for_lock();
	else if (!strcmp(mode, "start") && !t->rounds)
		burn_ns(700 * MS);
	else if (!strcmp(mode, "forever") && t->rounds)
		burn_ns(3600 * 1000 * MS);
	t->rounds++;
	t->due_ns = clock_ms(CLOCK_MONOTONIC) + 50 * MS;
	corotracer_await(&t->trace, CTP_REASON_TIMER, t->due_ns);
}

static void run_loop(struct timed *all, unsigned nr)
{
	while (clock_ms(CLOCK_MONOTONIC) < end_ns) {
		uint64_t now = clock_ms(CLOCK_MONOTONIC), next = now + 20 * MS;
		unsigned i;

		for (i = 0; i < nr; i++) {
			if (all[i].due_ns <= now) {
				corotracer_wake(&all[i].trace, NULL);
				corotracer_resume(&all[i].trace);
				all[i].step(&all[i]);
			}
			if (all[i].due_ns < next)
				next = all[i].due_ns;
		}
		now = clock_ms(CLOCK_MONOTONIC);
		if (next > now)
			sleep_ns(next - now);
	}
}

static void *run_worker(void *worker)
{
	run_loop(worker, 1);
	return NULL;
}

int main(int argc, char **argv)
{
	struct timed all[TICKERS + 1];
	pthread_t thread;
	char name[32];
	int i, is_alone;

	if (argc < 2)
		return 2;
	mode = argv[1];
	is_alone = !strcmp(mode, "alone");
	memset(all, 0, sizeof(all));
	corotracer_init();
	end_ns = clock_ms(CLOCK_MONOTONIC) + (uint64_t)(atof(argc > 2 ? argv[2] : "1.2") * 1e9);
	for (i = 0; i <= TICKERS; i++) {
		snprintf(name, sizeof(name), i < TICKERS ? "ticker-%d" : "worker", i);
		all[i].step = i < TICKERS ? tick : work;
		corotracer_spawn(&all[i].trace, name, NULL);
	}
	if (is_alone)
		pthread_create(&thread, NULL, run_worker, &all[TICKERS]);
	run_loop(all, is_alone ? TICKERS : TICKERS + 1);
	if (is_alone)
		pthread_join(thread, NULL);
	for (i = 0; i <= TICKERS; i++)
		corotracer_end(&all[i].trace);
	return 0;
}
