/* SPDX-License-Identifier: MIT */
/*
 * bug_group_never_done.c - a batch waits until the counter of its group is zero; a part that finds
 * nothing to do returns without counting down.
 *
 * corpus: bug
 * class: lost-wakeup
 * at: @stuck
 * victims: batch-6
 */
#include "steal_sched.h"

#define NR_BATCHES 30
#define NR_PARTS   4

struct batch {
	struct task task, parts[NR_PARTS];
	atomic_int nr_open;
	int number, i;
};

static struct batch batches[NR_BATCHES];

static enum task_result part_step(struct task *t)
{
	struct batch *b = t->arg;

	TASK_BEGIN(t);
	TASK_SLEEP(t, 5);
	if (b->number == 6 && t == &b->parts[2])
		return TASK_ENDS;
	if (atomic_fetch_sub(&b->nr_open, 1) == 1)
		task_wake(&b->task, t);
	TASK_END();
}

static enum task_result batch_step(struct task *t)
{
	struct batch *b = t->arg;

	TASK_BEGIN(t);
	atomic_store(&b->nr_open, NR_PARTS);
	for (b->i = 0; b->i < NR_PARTS; b->i++)
		task_spawn(&b->parts[b->i], part_step, b, t, "part-%d-%d", b->number, b->i);
	while (atomic_load(&b->nr_open))
		TASK_WAIT(t, CTP_REASON_USER, &b->nr_open); /* @stuck */
	TASK_END();
}

int main(void)
{
	int i;

	steal_start(2);
	for (i = 0; i < NR_BATCHES; i++) {
		batches[i].number = i;
		task_spawn(&batches[i].task, batch_step, &batches[i], NULL, "batch-%d", i);
		steal_wait(45);
	}
	steal_wait(1000);
	return 0;
}
