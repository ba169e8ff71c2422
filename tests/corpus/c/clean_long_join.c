/* SPDX-License-Identifier: MIT */
/*
 * clean_long_join.c - short jobs and one long one, each with a parent that waits for it; the long
 * one makes progress all the time.
 *
 * corpus: clean
 */
#include "loop_sync.h"

static struct fiber_mutex disk;

static void run_steps(void *arg)
{
	int i;

	for (i = 0; i < (int)(intptr_t)arg; i++) {
		fiber_lock(&disk);
		fiber_sleep(1);
		fiber_unlock(&disk);
		fiber_sleep(3);
	}
}

static void run_job(void *arg)
{
	fiber_join(loop_spawn(run_steps, arg, "steps"));
}

static void start_jobs(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 50; i++) {
		loop_spawn(run_job, (void *)(intptr_t)(i == 2 ? 100000 : 4), "job-%d", i);
		fiber_sleep(30);
	}
}

int main(void)
{
	loop_spawn(start_jobs, NULL, "source");
	loop_run(1900);
	return 0;
}
