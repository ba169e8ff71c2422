/* SPDX-License-Identifier: MIT */
/*
 * bug_unbounded_spawn.c - a request to a service that is down is tried again by two new fibers,
 * "to be safe"; each of them does the same.
 *
 * corpus: bug
 * class: run-away|leak|starvation
 * at: @spawn|@wait
 * victims: try-*
 * also: page-*
 */
#include "loop_sync.h"

static int nr_tries;

static void try_request(void *arg)
{
	int depth = (int)(intptr_t)arg, i;

	fiber_sleep(150); /* @wait: the time out */
	for (i = 0; i < 2 && nr_tries++ < 12000;
	     i++) /* the limit is for the machine that tests this */
		loop_spawn(try_request, (void *)(intptr_t)(depth + 1), "try-%d",
			   depth + 1); /* @spawn */
}

static void serve_page(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(10);
}

int main(void)
{
	int i;

	for (i = 0; i < 5; i++)
		loop_spawn(serve_page, NULL, "page-%d", i);
	for (i = 0; i < 3; i++)
		loop_spawn(try_request, NULL, "try-0");
	loop_run(1500);
	return 0;
}
