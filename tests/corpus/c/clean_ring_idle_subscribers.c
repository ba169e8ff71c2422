/* SPDX-License-Identifier: MIT */
/*
 * clean_ring_idle_subscribers.c - subscribers of rare topics wait much longer than those of others;
 * the publisher ends before it has anything for one of them.  Traced with the least that the SDK
 * needs.
 *
 * corpus: clean
 */
#include "ring_sched.h"

#define NR_TOPICS 5

static struct ring_chan topics[NR_TOPICS];

static void read_topic(long number)
{
	long item;

	while (ring_recv(&topics[number], &item))
		;
}

/* Topic 0 gets an item every 5 ms, topic 1 every 20 ms, 2 every 80, 3 every 320, 4 every 1280. */
static void publish_items(long nr)
{
	long i, topic, period;

	for (i = 1; i <= nr; i++) {
		for (topic = 0, period = 1; topic < NR_TOPICS; topic++, period *= 4) {
			if (i % period == 0)
				ring_send(&topics[topic], i);
		}
		ring_sleep(5);
	}
	for (topic = 0; topic < NR_TOPICS; topic++)
		ring_close(&topics[topic]);
}

int main(void)
{
	static const char *const names[] = { "topic-0", "topic-1", "topic-2", "topic-3",
					     "topic-4" };
	int i;

	for (i = 0; i < NR_TOPICS; i++) {
		topics[i].capacity = 4;
		ring_spawn(read_topic, i, names[i]);
	}
	ring_spawn(publish_items, 100000, "publisher");
	ring_run(2000);
	return 0;
}
