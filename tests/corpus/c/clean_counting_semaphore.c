/* SPDX-License-Identifier: MIT */
/*
 * clean_counting_semaphore.c - a semaphore counts the jobs: those who add a job give a permit,
 * those who do a job take one and never give it back.
 *
 * corpus: clean
 */
#include "loop_sync.h"

static struct fiber_sem jobs;

static void do_jobs(void *arg)
{
	int i;

	/* A worker ends after thirty jobs and is replaced by a new one. */
	for (i = 0; i < 30; i++) {
		fiber_sem_take(&jobs);
		fiber_sleep(2);
	}
	loop_spawn(do_jobs, arg, "worker-%d", (int)(intptr_t)arg);
}

static void add_jobs(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 400; i++) {
		fiber_sem_give(&jobs);
		fiber_sleep(2);
	}
}

int main(void)
{
	int i;

	for (i = 0; i < 6; i++)
		loop_spawn(do_jobs, (void *)(intptr_t)i, "worker-%d", i);
	loop_spawn(add_jobs, NULL, "source");
	loop_run(2100);
	return 0;
}
