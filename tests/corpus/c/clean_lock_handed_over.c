/* SPDX-License-Identifier: MIT */
/*
 * clean_lock_handed_over.c - a request locks its session and hands it to a fiber that finishes the
 * reply and releases the lock; the request itself has ended long before.
 *
 * corpus: clean
 */
#include "loop_sync.h"

#define NR_SESSIONS 4

static struct fiber_mutex sessions[NR_SESSIONS];

static void finish_reply(void *arg)
{
	fiber_sleep(6);
	fiber_unlock((struct fiber_mutex *)arg);
}

static void handle_request(void *arg)
{
	struct fiber_mutex *session = arg;

	fiber_lock(session);
	fiber_sleep(1);
	loop_spawn(finish_reply, session, "finisher");
}

static void start_requests(void *arg)
{
	int i;

	(void)arg;
	for (i = 0;; i++) {
		loop_spawn(handle_request, &sessions[i % NR_SESSIONS], "request-%d", i);
		fiber_sleep(3);
	}
}

int main(void)
{
	loop_spawn(start_requests, NULL, "source");
	loop_run(1500);
	return 0;
}
