/* SPDX-License-Identifier: MIT */
/*
 * bug_blocking_sleep.c - a retry in a library uses nanosleep(), which stops the whole loop.
 *
 * corpus: bug
 * class: blocking
 * at: @before|@after
 * victims: resolver
 * never: starvation, lost-wakeup
 */
#include <time.h>

#include "loop_sync.h"

static void query_with_retry(void)
{
	nanosleep(&(struct timespec){ 0, 90000000 }, NULL);
}

static void resolve_names(void *arg)
{
	int i;

	(void)arg;
	for (i = 0;; i++) {
		fiber_sleep(15); /* @before */
		if (i % 8 == 7)
			query_with_retry();
		fiber_sleep(10); /* @after */
	}
}

/* Seven connections with a request every 5 ms: they are late while the other one blocks. */
static void serve_connection(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(5);
}

int main(void)
{
	int i;

	for (i = 0; i < 7; i++)
		loop_spawn(serve_connection, NULL, "conn-%d", i);
	loop_spawn(resolve_names, NULL, "resolver");
	loop_run(1800);
	return 0;
}
