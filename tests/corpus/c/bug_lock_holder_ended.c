/* SPDX-License-Identifier: MIT */
/*
 * bug_lock_holder_ended.c - a job returns early from an error path with the lock held; every later
 * job waits for the lock of a fiber that has ended.
 *
 * corpus: bug
 * class: abandoned-lock|lost-wakeup
 * at: @stuck
 * victims: job-31, job-32, job-33
 * never: deadlock
 */
#include "loop_sync.h"

static struct fiber_mutex table;

static bool validate(int job)
{
	fiber_sleep(1);
	return job != 30;
}

static void run_job(void *arg)
{
	int job = (int)(intptr_t)arg;

	fiber_lock(&table); /* @stuck */
	if (!validate(job))
		return; /* the lock is still held */
	fiber_sleep(2);
	fiber_unlock(&table);
}

/* After job 33 the source has no more jobs; the other fibers continue. */
static void start_jobs(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 34; i++) {
		loop_spawn(run_job, (void *)(intptr_t)i, "job-%d", i);
		fiber_sleep(10);
	}
}

static void beat_heart(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(20);
}

int main(void)
{
	loop_spawn(start_jobs, NULL, "source");
	loop_spawn(beat_heart, NULL, "heart");
	loop_run(1900);
	return 0;
}
