/* SPDX-License-Identifier: MIT */
/*
 * clean_backoff.c - a client tries again after 10 ms, 20 ms, 40 ms and so on; its last wait is
 * longer than the whole run before it.
 *
 * corpus: clean
 */
#include "loop_sync.h"

static void connect_with_backoff(void *arg)
{
	unsigned ms;

	for (ms = 10 + (unsigned)(uintptr_t)arg; ms < 10000; ms *= 2)
		fiber_sleep(ms);
}

static void serve_local(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(9);
}

int main(void)
{
	int i;

	for (i = 0; i < 8; i++)
		loop_spawn(connect_with_backoff, (void *)(uintptr_t)i, "client-%d", i);
	loop_spawn(serve_local, NULL, "local");
	loop_run(1800);
	return 0;
}
