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

struct compute {
	struct corotracer_coro trace;
	struct fiber *waiter;
};

static void *compute_thread(void *arg)
{
	struct compute *c = arg;
	uint64_t end;

	corotracer_spawn(&c->trace, "compute", NULL);
	corotracer_resume(&c->trace);
	end = thread_cpu_ns() + 700000000;
	while (thread_cpu_ns() < end)
		result = result * 31 + 7;
	corotracer_end(&c->trace);
	loop_post(c->waiter);
	return NULL;
}

static void ask_for_result(void *arg)
{
	static struct compute c;
	pthread_t thread;

	(void)arg;
	c.waiter = fiber_current();
	pthread_create(&thread, NULL, compute_thread, &c);
	fiber_park(CTP_REASON_USER, &c);
	pthread_join(thread, NULL);
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
	loop_spawn(ask_for_result, NULL, "asker");
	loop_run(20000);
	return 0;
}
