/* SPDX-License-Identifier: MIT */
/*
 * clean_lifo_pool.c - a pool of twenty workers wakes the one that slept last, whose stack is warm;
 * with little work most of them sleep all the time.
 *
 * corpus: clean
 */
#include "loop_sync.h"

#define NR_WORKERS 20

static struct fiber *idle[NR_WORKERS];
static int nr_idle, nr_jobs;

/* A semaphore whose waiters are a stack. */
static void jobs_take(void)
{
	if (nr_jobs == 0) {
		idle[nr_idle++] = fiber_current();
		fiber_park(CTP_REASON_SEMAPHORE, &nr_jobs);
	} else {
		nr_jobs--;
	}
}

static void jobs_give(void)
{
	if (nr_idle)
		fiber_unpark(idle[--nr_idle]);
	else
		nr_jobs++;
}

static void run_worker(void *arg)
{
	(void)arg;
	for (;;) {
		jobs_take();
		fiber_sleep(3);
	}
}

static void bring_jobs(void *arg)
{
	int i, round;

	(void)arg;
	for (round = 0;; round++) {
		for (i = 0; i < 1 + round % 3; i++)
			jobs_give();
		fiber_sleep(6);
	}
}

int main(void)
{
	int i;

	for (i = 0; i < NR_WORKERS; i++)
		loop_spawn(run_worker, NULL, "worker-%d", i);
	loop_spawn(bring_jobs, NULL, "source");
	loop_run(2000);
	return 0;
}
