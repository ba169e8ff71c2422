/* SPDX-License-Identifier: MIT */
/*
 * clean_slow_start.c - the first coroutine reads the configuration, loads the tables and starts the
 * others; until then there is nothing that could wait.
 *
 * corpus: clean
 */
#include <time.h>

#include "loop_sync.h"

static void serve_requests(void *arg)
{
	int i;

	for (i = 0; i < 80; i++)
		fiber_sleep((unsigned)(5 + (uintptr_t)arg % 3));
}

static void start_program(void *arg)
{
	int i;

	(void)arg;
	nanosleep(&(struct timespec){ 0, 650000000 }, NULL); /* read and load */
	for (i = 0; i < 10; i++)
		loop_spawn(serve_requests, (void *)(uintptr_t)i, "server-%d", i);
	for (i = 0; i < 8; i++)
		fiber_sleep(80); /* look for a newer configuration */
}

int main(void)
{
	loop_spawn(start_program, NULL, "start");
	loop_run(3000);
	return 0;
}
