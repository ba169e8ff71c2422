/* SPDX-License-Identifier: MIT */
/*
 * bug_channels_both_full.c - two actors send to each other through bounded channels, and neither
 * receives while it sends.  A burst fills both channels.
 *
 * corpus: bug
 * class: deadlock|stalled|lost-wakeup
 * at: @stuck
 * victims: left, right
 */
#include "loop_sync.h"

static struct fiber_chan to_left = { .capacity = 4 }, to_right = { .capacity = 4 };
static int token;

/* Send @nr messages, then answer what has arrived. */
static void exchange_messages(struct fiber_chan *out, struct fiber_chan *in, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		fiber_send(out, &token); /* @stuck */
	fiber_sleep(5);
	while (in->nr)
		fiber_recv(in);
}

static void run_left(void *arg)
{
	int round;

	(void)arg;
	for (round = 0;; round++)
		exchange_messages(&to_right, &to_left, round < 60 ? 3 : 6);
}

static void run_right(void *arg)
{
	int round;

	(void)arg;
	for (round = 0;; round++)
		exchange_messages(&to_left, &to_right, round < 60 ? 3 : 6);
}

static void tick_clock(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(10);
}

int main(void)
{
	loop_spawn(run_left, NULL, "left");
	loop_spawn(run_right, NULL, "right");
	loop_spawn(tick_clock, NULL, "clock");
	loop_run(2000);
	return 0;
}
