/* SPDX-License-Identifier: MIT */
/*
 * bug_never_yields.c - the search of a path in a graph with a cycle never ends and never yields; it
 * keeps one of the two threads of the pool.
 *
 * corpus: bug
 * class: never-yielded|blocking
 * victims: search
 */
#include "steal_sched.h"

static struct task search, timers[12];
static int graph[8] = { 1, 2, 3, 4, 5, 6, 7, 3 };
static volatile int node;

static enum task_result search_step(struct task *t)
{
	TASK_BEGIN(t);
	TASK_SLEEP(t, 300);
	for (node = 0; node != -1; node = graph[node])
		;
	TASK_END();
}

static enum task_result timer_step(struct task *t)
{
	TASK_BEGIN(t);
	for (;;)
		TASK_SLEEP(t, 6);
	TASK_END();
}

int main(void)
{
	int i;

	steal_start(2);
	for (i = 0; i < 12; i++)
		task_spawn(&timers[i], timer_step, NULL, NULL, "timer-%d", i);
	task_spawn(&search, search_step, NULL, NULL, "search");
	steal_wait(2400);
	return 0;
}
