/* SPDX-License-Identifier: MIT */
/*
 * clean_priorities.c - work of low priority runs in the gaps of the others, some milliseconds late.
 *
 * corpus: clean
 */
#include "loop_sync.h"

static void use_thread(unsigned us)
{
	uint64_t end = loop_now() + us * 1000ull;

	while (loop_now() < end)
		;
}

static void run_urgent(void *arg)
{
	(void)arg;
	for (;;) {
		use_thread(200);
		fiber_sleep(2);
	}
}

static void run_batch(void *arg)
{
	(void)arg;
	for (;;) {
		use_thread(500);
		fiber_yield();
		fiber_sleep(7);
	}
}

int main(void)
{
	int i;

	for (i = 0; i < 3; i++)
		loop_spawn(run_urgent, NULL, "urgent-%d", i)->priority = 0;
	for (i = 0; i < 4; i++)
		loop_spawn(run_batch, NULL, "batch-%d", i)->priority = 2;
	loop_run(1500);
	return 0;
}
