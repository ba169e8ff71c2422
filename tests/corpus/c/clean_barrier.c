/* SPDX-License-Identifier: MIT */
/*
 * clean_barrier.c - thirty-two cells of a simulation wait for each other at the end of each step;
 * the last one wakes all, and all go on.
 *
 * corpus: clean
 */
#include "loop_sync.h"

#define NR_CELLS 32

static struct fiber_cond step_over;
static int nr_arrived;

static void barrier_wait(void)
{
	if (++nr_arrived == NR_CELLS) {
		nr_arrived = 0;
		fiber_cond_broadcast(&step_over);
	} else {
		fiber_cond_wait(&step_over);
	}
}

static void run_cell(void *arg)
{
	int number = (int)(intptr_t)arg, step;

	for (step = 0; step < 100; step++) {
		fiber_sleep((unsigned)(1 + (step + number) % 9));
		barrier_wait();
	}
}

int main(void)
{
	int i;

	for (i = 0; i < NR_CELLS; i++)
		loop_spawn(run_cell, (void *)(intptr_t)i, "cell-%d", i);
	loop_run(5000);
	return 0;
}
