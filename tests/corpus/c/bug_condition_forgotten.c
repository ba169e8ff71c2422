/* SPDX-License-Identifier: MIT */
/*
 * bug_condition_forgotten.c - jobs go to idle workers; the path for urgent jobs adds the job to the
 * inbox and does not signal the condition.
 *
 * corpus: bug
 * class: lost-wakeup
 * at: @stuck
 * victims: worker-2
 */
#include "loop_sync.h"

#define NR_WORKERS 4

struct inbox {
	struct fiber_cond cond;
	int nr_jobs;
};

static struct inbox inboxes[NR_WORKERS];

static void work_on_inbox(void *arg)
{
	struct inbox *in = arg;

	for (;;) {
		while (!in->nr_jobs)
			fiber_cond_wait(&in->cond); /* @stuck */
		fiber_sleep(3);
		in->nr_jobs--;
	}
}

static void dispatch_jobs(void *arg)
{
	int i, job;

	(void)arg;
	for (job = 0;; job++) {
		for (i = job % NR_WORKERS; inboxes[i].nr_jobs; i = (i + 1) % NR_WORKERS)
			fiber_sleep(1);
		inboxes[i].nr_jobs++;
		if (job != 42) /* the urgent one */
			fiber_cond_signal(&inboxes[i].cond);
		fiber_sleep(2);
	}
}

int main(void)
{
	int i;

	for (i = 0; i < NR_WORKERS; i++)
		loop_spawn(work_on_inbox, &inboxes[i], "worker-%d", i);
	loop_spawn(dispatch_jobs, NULL, "dispatcher");
	loop_run(2000);
	return 0;
}
