/* SPDX-License-Identifier: MIT */
/*
 * clean_hour_timer.c - most timers are short; some sessions have the hour of their keep-alive.
 *
 * corpus: clean
 */
#include "loop_sync.h"

static void run_session(void *arg)
{
	int number = (int)(intptr_t)arg, i;

	for (i = 0; i < 40; i++)
		fiber_sleep((unsigned)(3 + number % 5));
	if (number % 4 == 0)
		fiber_sleep(3600000);
}

static void start_sessions(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 60; i++) {
		loop_spawn(run_session, (void *)(intptr_t)i, "session-%d", i);
		fiber_sleep(10);
	}
}

int main(void)
{
	loop_spawn(start_sessions, NULL, "source");
	loop_run(2100);
	return 0;
}
