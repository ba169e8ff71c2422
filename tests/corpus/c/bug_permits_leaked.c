/* SPDX-License-Identifier: MIT */
/*
 * bug_permits_leaked.c - four database connections are guarded by a semaphore; a query that fails
 * does not give its permit back.  After four failures every query waits.
 *
 * corpus: bug
 * class: abandoned-lock|lost-wakeup|stalled
 * at: @stuck
 * count: 20
 * never: deadlock
 */
#include "loop_sync.h"

static struct fiber_sem connections = { .permits = 4 };

static bool execute_query(int query)
{
	fiber_sleep(4);
	return query % 10 != 9;
}

static void run_query(void *arg)
{
	fiber_sem_take(&connections); /* @stuck */
	if (!execute_query((int)(intptr_t)arg))
		return;
	fiber_sem_give(&connections);
}

static void start_queries(void *arg)
{
	int i;

	(void)arg;
	/* 9, 19, 29 and 39 fail; 40 to 59 wait. */
	for (i = 0; i < 60; i++) {
		loop_spawn(run_query, (void *)(intptr_t)i, "query-%d", i);
		fiber_sleep(8);
	}
}

int main(void)
{
	loop_spawn(start_queries, NULL, "source");
	loop_run(2000);
	return 0;
}
