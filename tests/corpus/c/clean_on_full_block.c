/* SPDX-License-Identifier: MIT */
/*
 * clean_on_full_block.c - more events than the collector can take at once: with --on-full block,
 * the program waits for the collector in the middle of a step.
 *
 * corpus: clean
 * run: --on-full block --buffer 512K
 */
#include "loop_sync.h"

static struct fiber_chan pipe_ab = { .capacity = 8 };
static int token;

static void produce_tokens(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 120000; i++)
		fiber_send(&pipe_ab, &token);
	fiber_chan_close(&pipe_ab);
}

static void consume_tokens(void *arg)
{
	(void)arg;
	while (fiber_recv(&pipe_ab))
		;
}

int main(void)
{
	loop_spawn(produce_tokens, NULL, "producer");
	loop_spawn(consume_tokens, NULL, "consumer");
	loop_run(10000);
	return 0;
}
