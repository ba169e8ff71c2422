/* SPDX-License-Identifier: MIT */
/*
 * bug_lock_ring_five.c - five stages of a pipeline each lock their own buffer and then the next
 * one; usually one after the other, and once all at the same time.
 *
 * corpus: bug
 * class: deadlock
 * at: @stuck
 * victims: stage-0, stage-1, stage-2, stage-3, stage-4
 */
#include "loop_sync.h"

#define NR_STAGES 5

static struct fiber_mutex buffers[NR_STAGES];
static bool waits_for_next[NR_STAGES];

static void exchange_buffers(int stage)
{
	fiber_lock(&buffers[stage]);
	fiber_sleep(2);
	waits_for_next[stage] = true;
	fiber_lock(&buffers[(stage + 1) % NR_STAGES]); /* @stuck */
	waits_for_next[stage] = false;
	fiber_sleep(1);
	fiber_unlock(&buffers[(stage + 1) % NR_STAGES]);
	fiber_unlock(&buffers[stage]);
}

/* Each stage has its time slot of 5 ms in a period of 30 ms; after 15 periods they drift together.
 */
static void run_stage(void *arg)
{
	int stage = (int)(intptr_t)arg, round;
	uint64_t start = loop_now(), due;

	for (round = 0;; round++) {
		due = start + (uint64_t)(30 * round + (round < 15 ? 5 * stage : 0)) * 1000000;
		if (due > loop_now())
			fiber_sleep((unsigned)((due - loop_now()) / 1000000 + 1));
		exchange_buffers(stage);
	}
}

static void blink_led(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(15);
}

int main(void)
{
	int i, nr_waiting = 0;

	for (i = 0; i < NR_STAGES; i++)
		loop_spawn(run_stage, (void *)(intptr_t)i, "stage-%d", i);
	loop_spawn(blink_led, NULL, "led");
	loop_run(2100);
	for (i = 0; i < NR_STAGES; i++)
		nr_waiting += waits_for_next[i];
	return nr_waiting == NR_STAGES ? 0 : 75;
}
