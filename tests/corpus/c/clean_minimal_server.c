/* SPDX-License-Identifier: MIT */
/*
 * clean_minimal_server.c - unnamed coroutines that come, wait for different lengths of time and go;
 * the longest ones are not over at the end.  Traced with the least that the SDK needs.
 *
 * corpus: clean
 */
#include <stddef.h>

#include "ring_sched.h"

/* Most requests are short, one in twenty takes a second. */
static void handle_request(long number)
{
	long i;

	for (i = 0; i < 4; i++)
		ring_sleep(number % 20 == 7 ? 250 : 3);
}

static void accept_requests(long nr)
{
	long i;

	for (i = 0; i < nr; i++) {
		ring_spawn(handle_request, i, NULL);
		ring_sleep(7);
	}
}

int main(void)
{
	ring_spawn(accept_requests, 100000, NULL);
	ring_run(1900);
	return 0;
}
