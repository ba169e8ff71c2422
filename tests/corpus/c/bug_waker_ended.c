/* SPDX-License-Identifier: MIT */
/*
 * bug_waker_ended.c - each display is updated by its own feed; one feed meets a line that it cannot
 * parse and returns, and its display waits.
 *
 * corpus: bug
 * class: lost-wakeup
 * at: @stuck
 * victims: display-1
 */
#include "loop_sync.h"

#define NR_DISPLAYS 3

static struct fiber_cond updates[NR_DISPLAYS];

static void run_display(void *arg)
{
	struct fiber_cond *update = arg;

	for (;;) {
		fiber_cond_wait(update); /* @stuck */
		fiber_sleep(1);
	}
}

static void run_feed(void *arg)
{
	int number = (int)(intptr_t)arg, i;

	for (i = 0;; i++) {
		fiber_sleep((unsigned)(10 + 7 * number));
		if (number == 1 && i == 30)
			return;
		fiber_cond_signal(&updates[number]);
	}
}

int main(void)
{
	int i;

	for (i = 0; i < NR_DISPLAYS; i++) {
		loop_spawn(run_display, &updates[i], "display-%d", i);
		loop_spawn(run_feed, (void *)(intptr_t)i, "feed-%d", i);
	}
	loop_run(2200);
	return 0;
}
