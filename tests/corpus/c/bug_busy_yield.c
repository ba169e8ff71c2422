/* SPDX-License-Identifier: MIT */
/*
 * bug_busy_yield.c - a fiber waits for a flag with a loop of yields.
 *
 * corpus: bug
 * class: busy-yield
 * at: @poll
 * victims: poller
 * never: starvation
 */
#include "loop_sync.h"

static bool is_loaded;

static void wait_for_config(void *arg)
{
	(void)arg;
	while (!is_loaded)
		fiber_yield(); /* @poll */
}

static void load_config(void *arg)
{
	(void)arg;
	fiber_sleep(700);
	is_loaded = true;
}

static void serve_requests(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 100; i++)
		fiber_sleep(7);
}

int main(void)
{
	int i;

	loop_spawn(wait_for_config, NULL, "poller");
	loop_spawn(load_config, NULL, "loader");
	for (i = 0; i < 5; i++)
		loop_spawn(serve_requests, NULL, "server-%d", i);
	loop_run(1500);
	return 0;
}
