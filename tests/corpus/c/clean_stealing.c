/* SPDX-License-Identifier: MIT */
/*
 * clean_stealing.c - a work-stealing pool moves tasks between its threads as it likes; all of them
 * end.
 *
 * corpus: clean
 */
#include "steal_sched.h"

#define NR_TASKS 64

struct state {
	int round;
};

static struct task tasks[NR_TASKS];
static struct state states[NR_TASKS];

static void compute_piece(void)
{
	uint64_t end = steal_now() + 150000;

	while (steal_now() < end)
		;
}

static enum task_result task_step(struct task *t)
{
	struct state *s = t->arg;

	TASK_BEGIN(t);
	for (s->round = 0; s->round < 30; s->round++) {
		compute_piece();
		if (s->round % 3)
			TASK_YIELD(t);
		else
			TASK_SLEEP(t, 10);
	}
	TASK_END();
}

int main(void)
{
	int i;

	steal_start(3);
	for (i = 0; i < NR_TASKS; i++)
		task_spawn(&tasks[i], task_step, &states[i], NULL, "task-%d", i);
	steal_wait(20000);
	steal_stop();
	return 0;
}
