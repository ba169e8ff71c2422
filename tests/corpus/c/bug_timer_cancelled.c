/* SPDX-License-Identifier: MIT */
/*
 * bug_timer_cancelled.c - a request that completes early cancels "the" timer by its slot number;
 * the slot was reused by another fiber meanwhile, whose timer never expires.
 *
 * corpus: bug
 * class: lost-wakeup
 * at: @stuck
 * victims: retry-11
 * also: request-11
 */
#include "loop_sync.h"

#define NR_SLOTS 8

static struct fiber *slots[NR_SLOTS]; /* fibers with a timer, by slot */

static int slot_take(struct fiber *f)
{
	int i;

	for (i = 0; i < NR_SLOTS; i++) {
		if (!slots[i]) {
			slots[i] = f;
			return i;
		}
	}
	return -1;
}

static void slot_cancel(int slot)
{
	if (slots[slot])
		fiber_timer_cancel(slots[slot]);
	slots[slot] = NULL;
}

/* Wait for 30 ms before the next try. */
static void retry_later(void *arg)
{
	int slot = slot_take(fiber_current());

	(void)arg;
	fiber_sleep(30); /* @stuck */
	if (slot >= 0)
		slots[slot] = NULL;
}

/* A request with a time limit that it does not need; number 11 cancels it twice. */
static void run_request(void *arg)
{
	int number = (int)(intptr_t)arg;
	int slot = slot_take(fiber_current());
	struct fiber *retry;

	fiber_sleep(5);
	if (slot >= 0)
		slots[slot] = NULL;
	retry = loop_spawn(retry_later, NULL, "retry-%d", number);
	fiber_sleep(10);
	if (number == 11 && slot >= 0)
		slot_cancel(slot);
	fiber_join(retry);
}

static void start_requests(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 45; i++) {
		loop_spawn(run_request, (void *)(intptr_t)i, "request-%d", i);
		fiber_sleep(45);
	}
}

int main(void)
{
	loop_spawn(start_requests, NULL, "starter");
	loop_run(2200);
	return 0;
}
