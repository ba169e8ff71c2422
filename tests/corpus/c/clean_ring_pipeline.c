/* SPDX-License-Identifier: MIT */
/*
 * clean_ring_pipeline.c - a pipeline that ends in order: each stage closes the channel behind it.
 * Traced with the least that the SDK needs.
 *
 * corpus: clean
 */
#include "ring_sched.h"

#define NR_STAGES 6

static struct ring_chan links[NR_STAGES];

static void run_stage(long number)
{
	long item;

	while (ring_recv(&links[number], &item)) {
		if (item % 50 == 0)
			ring_sleep(2);
		if (number + 1 < NR_STAGES)
			ring_send(&links[number + 1], item + 1);
	}
	if (number + 1 < NR_STAGES)
		ring_close(&links[number + 1]);
}

static void feed_pipeline(long nr)
{
	long i;

	for (i = 0; i < nr; i++) {
		ring_send(&links[0], i);
		if (i % 4 == 0)
			ring_sleep(1);
	}
	ring_close(&links[0]);
}

int main(void)
{
	static const char *const names[] = { "stage-0", "stage-1", "stage-2",
					     "stage-3", "stage-4", "stage-5" };
	int i;

	for (i = 0; i < NR_STAGES; i++) {
		links[i].capacity = 4;
		ring_spawn(run_stage, i, names[i]);
	}
	ring_spawn(feed_pipeline, 2500, "source");
	ring_run(6000);
	return 0;
}
