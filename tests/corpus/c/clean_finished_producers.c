/* SPDX-License-Identifier: MIT */
/*
 * clean_finished_producers.c - the producers of this phase have ended; the consumers wait for those
 * of the next phase, which starts after a long pause, and is not over at the end.
 *
 * corpus: clean
 */
#include "loop_sync.h"

static struct fiber_chan queue = { .capacity = 8 };
static int token;

static void consume_items(void *arg)
{
	(void)arg;
	while (fiber_recv(&queue))
		fiber_sleep(2);
}

static void produce_items(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 60; i++) {
		fiber_send(&queue, &token);
		fiber_sleep(5);
	}
}

static void run_phases(void *arg)
{
	int phase, i;

	(void)arg;
	for (phase = 0;; phase++) {
		for (i = 0; i < 3; i++)
			loop_spawn(produce_items, NULL, "producer-%d-%d", phase, i);
		fiber_sleep(1500);
	}
}

int main(void)
{
	int i;

	for (i = 0; i < 5; i++)
		loop_spawn(consume_items, NULL, "consumer-%d", i);
	loop_spawn(run_phases, NULL, "phases");
	loop_run(2300);
	return 0;
}
