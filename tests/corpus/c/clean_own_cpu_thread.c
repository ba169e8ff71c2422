/* SPDX-License-Identifier: MIT */
/*
 * clean_own_cpu_thread.c - heavy computing has its own thread and its own coroutine there; the
 * server's thread is never blocked.
 *
 * corpus: clean
 */
#include <pthread.h>
#include <time.h>

#include "loop_sync.h"

static volatile uint64_t result;

static uint64_t thread_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* One job after the other; between them the coroutine waits. */
struct compute {
	struct corotracer_coro trace;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct fiber *waiter; /* of the job */
};

static struct compute compute = { .lock = PTHREAD_MUTEX_INITIALIZER,
				  .changed = PTHREAD_COND_INITIALIZER };

static void compute_result(void)
{
	uint64_t end = thread_cpu_ns() + 250000000;

	while (thread_cpu_ns() < end)
		result = result * 31 + 7;
}

static void *compute_thread(void *arg)
{
	struct fiber *waiter;

	(void)arg;
	corotracer_spawn(&compute.trace, "compute", NULL);
	for (;;) {
		corotracer_resume(&compute.trace);
		corotracer_await(&compute.trace, CTP_REASON_USER, &compute);
		pthread_mutex_lock(&compute.lock);
		while (!compute.waiter)
			pthread_cond_wait(&compute.changed, &compute.lock);
		waiter = compute.waiter;
		compute.waiter = NULL;
		pthread_mutex_unlock(&compute.lock);
		corotracer_resume(&compute.trace);
		compute_result();
		loop_post(waiter);
		corotracer_await(&compute.trace, CTP_REASON_YIELD, 0);
	}
	return NULL;
}

static void ask_for_results(void *arg)
{
	pthread_t thread;
	int i;

	(void)arg;
	pthread_create(&thread, NULL, compute_thread, NULL);
	for (i = 0; i < 3; i++) {
		pthread_mutex_lock(&compute.lock);
		compute.waiter = fiber_current();
		pthread_cond_signal(&compute.changed);
		pthread_mutex_unlock(&compute.lock);
		fiber_park(CTP_REASON_USER, &compute);
		fiber_sleep(30);
	}
	loop_leave();
}

static void serve_requests(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(5);
}

int main(void)
{
	int i;

	for (i = 0; i < 6; i++)
		loop_spawn(serve_requests, NULL, "server-%d", i);
	loop_spawn(ask_for_results, NULL, "asker");
	loop_run(20000);
	return 0;
}
