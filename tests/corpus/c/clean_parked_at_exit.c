/* SPDX-License-Identifier: MIT */
/*
 * clean_parked_at_exit.c - the work is done and the program calls exit(), while the workers of its
 * pool are parked and wait for more.
 *
 * corpus: clean
 */
#include <stdlib.h>

#include "steal_sched.h"

#define NR_WORKERS 10
#define NR_JOBS    200

static struct task workers[NR_WORKERS];
static struct task *idle[NR_WORKERS];
static int nr_idle, nr_jobs;
static atomic_int nr_done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* False: the worker is registered as idle and must wait. */
static bool jobs_take(struct task *t)
{
	bool has_job;

	pthread_mutex_lock(&lock);
	has_job = nr_jobs > 0;
	if (has_job)
		nr_jobs--;
	else
		idle[nr_idle++] = t;
	pthread_mutex_unlock(&lock);
	return has_job;
}

static void jobs_add(void)
{
	struct task *t = NULL;

	pthread_mutex_lock(&lock);
	nr_jobs++;
	if (nr_idle)
		t = idle[--nr_idle];
	pthread_mutex_unlock(&lock);
	if (t)
		task_wake(t, NULL);
}

static enum task_result worker_step(struct task *t)
{
	TASK_BEGIN(t);
	for (;;) {
		while (!jobs_take(t))
			TASK_WAIT(t, CTP_REASON_USER, &nr_jobs);
		TASK_SLEEP(t, 4);
		atomic_fetch_add(&nr_done, 1);
	}
	TASK_END();
}

int main(void)
{
	int i;

	steal_start(2);
	for (i = 0; i < NR_WORKERS; i++)
		task_spawn(&workers[i], worker_step, NULL, NULL, "worker-%d", i);
	for (i = 0; i < NR_JOBS; i++) {
		jobs_add();
		steal_wait(5);
	}
	steal_wait(1300); /* the rest of the program works without them */
	exit(atomic_load(&nr_done) == NR_JOBS ? 0 : 1);
}
