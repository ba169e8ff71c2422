/* SPDX-License-Identifier: MIT */
/*
 * clean_growing_load.c - more and more requests per second until the end of the program; each of
 * them takes a fifth of a second, and all that are over are gone.
 *
 * corpus: clean
 */
#include "loop_sync.h"

static void handle_request(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 10; i++)
		fiber_sleep(20);
}

static void start_requests(void *arg)
{
	int i, tick, number = 0;

	(void)arg;
	for (tick = 0;; tick++) {
		for (i = 0; i < 1 + tick / 20; i++)
			loop_spawn(handle_request, NULL, "request-%d", number++);
		fiber_sleep(10);
	}
}

int main(void)
{
	loop_spawn(start_requests, NULL, "source");
	loop_run(1600);
	return 0;
}
