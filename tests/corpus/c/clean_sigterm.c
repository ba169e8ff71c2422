/* SPDX-License-Identifier: MIT */
/*
 * clean_sigterm.c - a busy server is ended by SIGTERM in the middle of its work.
 *
 * corpus: clean
 * signal: TERM 1.2
 */
#include "loop_sync.h"

static struct fiber_mutex store;

static void handle_request(void *arg)
{
	fiber_lock(&store);
	fiber_sleep(2);
	fiber_unlock(&store);
	fiber_sleep((unsigned)(uintptr_t)arg);
}

static void accept_requests(void *arg)
{
	int i;

	(void)arg;
	for (i = 0;; i++) {
		loop_spawn(handle_request, (void *)(uintptr_t)(i % 30), "request-%d", i);
		fiber_sleep(4);
	}
}

int main(void)
{
	loop_spawn(accept_requests, NULL, "acceptor");
	loop_run(60000);
	return 0;
}
