/* SPDX-License-Identifier: MIT */
/*
 * clean_batch_yields.c - a batch uses all of the free time of the thread in pieces of two
 * milliseconds, and yields after each; the requests beside it are served between the pieces.
 *
 * corpus: clean
 */
#include "loop_sync.h"

static volatile uint64_t checksum;

static void run_batch(void *arg)
{
	uint64_t end;

	(void)arg;
	for (;;) {
		for (end = loop_now() + 2000000; loop_now() < end;)
			checksum = checksum * 31 + 7;
		fiber_yield();
	}
}

static void serve_requests(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(6);
}

int main(void)
{
	int i;

	loop_spawn(run_batch, NULL, "batch");
	for (i = 0; i < 8; i++)
		loop_spawn(serve_requests, NULL, "server-%d", i);
	loop_run(1500);
	return 0;
}
