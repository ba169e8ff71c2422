/* SPDX-License-Identifier: MIT */
/*
 * bug_ring_all_asleep.c - the stages of a pipeline pass a request around; one stage drops it, and
 * all of them wait.  Traced with the least that the SDK needs.
 *
 * corpus: bug
 * class: stalled|lost-wakeup|deadlock
 * at: @stuck
 * victims: stage-0, stage-1, stage-2, stage-3
 */
#include "ring_sched.h"

#define NR_STAGES 4

static struct ring_chan links[NR_STAGES];
static bool is_dropped;

/* Pass the request on; the third stage drops it when its counter overflows. */
static void run_stage(long number)
{
	unsigned char count = 0;
	long request;

	while (ring_recv(&links[number], &request)) { /* @stuck */
		ring_sleep(1);
		is_dropped = number == 2 && ++count == 100;
		if (is_dropped)
			continue;
		ring_send(&links[(number + 1) % NR_STAGES], request);
	}
}

int main(void)
{
	static const char *const names[] = { "stage-0", "stage-1", "stage-2", "stage-3" };
	int i;

	for (i = 0; i < NR_STAGES; i++) {
		links[i].capacity = 2;
		ring_spawn(run_stage, i, names[i]);
	}
	links[0].items[0] = 1;
	links[0].nr = 1;
	/* On a loaded machine a hundred rounds take longer. */
	for (i = 0; i < 100 && !is_dropped; i++)
		ring_run(50);
	ring_run(1900);
	return 0;
}
