/* SPDX-License-Identifier: MIT */
/*
 * bug_channel_closed_silently.c - a topic is closed by a flag; the subscribers that wait for its
 * next message are not woken.
 *
 * corpus: bug
 * class: lost-wakeup|closed-under-waiter
 * at: @stuck
 * victims: subscriber-4, subscriber-5
 */
#include "loop_sync.h"

#define NR_TOPICS 4

static struct fiber_chan topics[NR_TOPICS];
static int token, nr_rounds;

/* Two subscribers for each topic. */
static void follow_topic(void *arg)
{
	struct fiber_chan *topic = arg;

	while (fiber_recv(topic)) /* @stuck */
		;
}

static void publish_messages(void *arg)
{
	int i;

	(void)arg;
	for (nr_rounds = 0;; nr_rounds++) {
		if (nr_rounds == 50)
			topics[2].is_closed = true;
		for (i = 0; i < 2 * NR_TOPICS; i++) {
			if (!topics[i / 2].is_closed)
				fiber_send(&topics[i / 2], &token);
		}
		fiber_sleep(10);
	}
}

int main(void)
{
	int i;

	for (i = 0; i < NR_TOPICS; i++)
		topics[i].capacity = 4;
	for (i = 0; i < 2 * NR_TOPICS; i++)
		loop_spawn(follow_topic, &topics[i / 2], "subscriber-%d", i);
	loop_spawn(publish_messages, NULL, "publisher");
	loop_run(2000);
	/* A machine that is too busy for half of the rounds shows nothing. */
	return nr_rounds > 90 ? 0 : 75;
}
