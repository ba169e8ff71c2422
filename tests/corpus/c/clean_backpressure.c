/* SPDX-License-Identifier: MIT */
/*
 * clean_backpressure.c - a fast producer and a slow consumer: the channel is full nearly all the
 * time, and the end of the program finds it full.
 *
 * corpus: clean
 */
#include "loop_sync.h"

static struct fiber_chan queue = { .capacity = 8 }, done = { .capacity = 2 };
static int token;

static void produce_items(void *arg)
{
	(void)arg;
	for (;;)
		fiber_send(&queue, &token);
}

static void consume_items(void *arg)
{
	(void)arg;
	for (;;) {
		fiber_recv(&queue);
		fiber_sleep(9);
		fiber_send(&done, &token);
	}
}

static void count_items(void *arg)
{
	(void)arg;
	while (fiber_recv(&done))
		;
}

int main(void)
{
	int i;

	for (i = 0; i < 3; i++)
		loop_spawn(produce_items, NULL, "producer-%d", i);
	loop_spawn(consume_items, NULL, "consumer");
	loop_spawn(count_items, NULL, "counter");
	loop_run(1700);
	return 0;
}
