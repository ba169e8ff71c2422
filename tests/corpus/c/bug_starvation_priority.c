/* SPDX-License-Identifier: MIT */
/*
 * bug_starvation_priority.c - after 400 ms the two video streams have enough to do for the whole
 * thread; the backup, with a lower priority, is woken by its timer and never runs.
 *
 * corpus: bug
 * class: starvation
 * at: @ready
 * victims: backup
 * never: lost-wakeup
 */
#include "loop_sync.h"

static uint64_t start;

static void encode_frame(unsigned us)
{
	uint64_t end = loop_now() + us * 1000ull;

	while (loop_now() < end)
		;
}

static void run_stream(void *arg)
{
	(void)arg;
	for (;;) {
		encode_frame(400);
		if (loop_now() - start < 400000000)
			fiber_sleep(2);
		else
			fiber_yield();
	}
}

static void run_backup(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(20); /* @ready */
}

static void run_control(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(10);
}

int main(void)
{
	int i;

	start = loop_now();
	for (i = 0; i < 2; i++)
		loop_spawn(run_stream, NULL, "stream-%d", i);
	loop_spawn(run_control, NULL, "control")->priority = 0;
	loop_spawn(run_backup, NULL, "backup")->priority = 2;
	loop_run(1900);
	return 0;
}
