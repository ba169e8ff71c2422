/* SPDX-License-Identifier: MIT */
/*
 * bug_ring_consumer_forgotten.c - a router forgets the channel of one consumer when it renews its
 * table.  Traced with the least that the SDK needs.
 *
 * corpus: bug
 * class: lost-wakeup|long-suspended
 * at: @stuck
 * victims: consumer-2
 */
#include "ring_sched.h"

#define NR_CONSUMERS 5

static struct ring_chan inboxes[NR_CONSUMERS];
static struct ring_chan *table[NR_CONSUMERS];

static void consume_items(long number)
{
	long item;

	while (ring_recv(&inboxes[number], &item)) /* @stuck */
		ring_pass();
}

static void route_items(long nr)
{
	long i;

	for (i = 0; i < nr; i++) {
		if (table[i % NR_CONSUMERS])
			ring_send(table[i % NR_CONSUMERS], i);
		if (i == 200)
			table[2] = 0; /* renewed from an old file */
		ring_sleep(2);
	}
}

int main(void)
{
	static const char *const names[] = { "consumer-0", "consumer-1", "consumer-2", "consumer-3",
					     "consumer-4" };
	int i;

	for (i = 0; i < NR_CONSUMERS; i++) {
		inboxes[i].capacity = 8;
		table[i] = &inboxes[i];
		ring_spawn(consume_items, i, names[i]);
	}
	ring_spawn(route_items, 100000, "router");
	ring_run(2100);
	return 0;
}
