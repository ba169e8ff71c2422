/* SPDX-License-Identifier: MIT */
/*
 * bug_barrier_member_left.c - eight cells meet at a barrier; one ends earlier and the barrier still
 * expects it.
 *
 * corpus: bug
 * class: lost-wakeup|stalled
 * at: @stuck
 * victims: cell-0, cell-1, cell-2, cell-3, cell-4, cell-6, cell-7
 * never: herd
 */
#include "loop_sync.h"

#define NR_CELLS 8

static struct fiber_cond step_over;
static int nr_arrived;

static void barrier_wait(void)
{
	if (++nr_arrived == NR_CELLS) {
		nr_arrived = 0;
		fiber_cond_broadcast(&step_over);
	} else {
		fiber_cond_wait(&step_over); /* @stuck */
	}
}

static void run_cell(void *arg)
{
	int number = (int)(intptr_t)arg, step, nr_steps = number == 5 ? 60 : 300;

	for (step = 0; step < nr_steps; step++) {
		fiber_sleep((unsigned)(1 + (step + number) % 5));
		barrier_wait();
	}
}

static void draw_picture(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(16);
}

int main(void)
{
	int i;

	for (i = 0; i < NR_CELLS; i++)
		loop_spawn(run_cell, (void *)(intptr_t)i, "cell-%d", i);
	loop_spawn(draw_picture, NULL, "painter");
	loop_run(2000);
	return 0;
}
