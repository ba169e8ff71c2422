/* SPDX-License-Identifier: MIT */
/*
 * bug_pool_task_blocks.c - one kind of task asks a name server with a blocking call on the threads
 * of the pool; while two of them do that, nothing else runs.
 *
 * corpus: bug
 * class: blocking
 * at: @after
 * victims: lookup-*
 * never: lost-wakeup
 */
#include <time.h>

#include "steal_sched.h"

static struct task lookups[2], requests[20];

static enum task_result lookup_step(struct task *t)
{
	TASK_BEGIN(t);
	for (;;) {
		nanosleep(&(struct timespec){ 0, 120000000 }, NULL); /* getaddrinfo() */
		TASK_SLEEP(t, 60);                                   /* @after */
	}
	TASK_END();
}

static enum task_result request_step(struct task *t)
{
	TASK_BEGIN(t);
	for (;;)
		TASK_SLEEP(t, 4);
	TASK_END();
}

int main(void)
{
	int i;

	steal_start(2);
	for (i = 0; i < 20; i++)
		task_spawn(&requests[i], request_step, NULL, NULL, "request-%d", i);
	for (i = 0; i < 2; i++)
		task_spawn(&lookups[i], lookup_step, NULL, NULL, "lookup-%d", i);
	steal_wait(1800);
	return 0;
}
