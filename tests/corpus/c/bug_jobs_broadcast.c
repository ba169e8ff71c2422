// SPDX-License-Identifier: MIT
/*
 * bug_jobs_broadcast.c - 24 workers wait for jobs at one condition, and each new job is announced
 * with a broadcast: all wake, one finds the job.
 *
 * corpus: bug
 * class: herd
 * at: @idle
 * never: lost-wakeup, starvation
 */
#include <stdio.h>

#include "fiber_kit.h"

static struct fk_mutex lock;
static struct fk_cond not_empty;
static int nr_jobs;

static void worker(void *arg)
{
	(void)arg;
	for (;;) {
		fk_lock(&lock);
		while (!nr_jobs)
			fk_cond_wait(&not_empty, &lock); /* @idle */
		nr_jobs--;
		fk_unlock(&lock);
		fk_sleep(3);
	}
}

static void producer(void *arg)
{
	(void)arg;
	for (int i = 0; i < 120; i++) {
		fk_lock(&lock);
		nr_jobs++;
		fk_cond_broadcast(&not_empty);
		fk_unlock(&lock);
		fk_sleep(12);
	}
}

int main(void)
{
	char name[16];

	fk_setup(2, FK_STEAL);
	for (int i = 0; i < 24; i++) {
		snprintf(name, sizeof(name), "worker-%d", i);
		fk_spawn(name, worker, NULL);
	}
	fk_spawn("producer", producer, NULL);
	fk_run(2000);
	return 0;
}
