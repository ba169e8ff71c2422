/* SPDX-License-Identifier: MIT */
/*
 * bug_lock_taken_twice.c - a request that fails writes the error to the log with the lock of the
 * log held: the lock is not recursive.
 *
 * corpus: bug
 * class: deadlock
 * at: @stuck
 * victims: request-33
 * also: request-*
 */
#include "loop_sync.h"

static struct fiber_mutex log_lock;

static void log_line(void)
{
	fiber_lock(&log_lock); /* @stuck */
	fiber_sleep(1);
	fiber_unlock(&log_lock);
}

static void handle_request(void *arg)
{
	int number = (int)(intptr_t)arg;

	fiber_sleep(2);
	if (number == 33) {
		fiber_lock(&log_lock);
		log_line(); /* the reason */
		fiber_unlock(&log_lock);
	}
	log_line();
}

static void accept_requests(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 38; i++) {
		loop_spawn(handle_request, (void *)(intptr_t)i, "request-%d", i);
		fiber_sleep(9);
	}
	for (;;)
		fiber_sleep(9);
}

int main(void)
{
	loop_spawn(accept_requests, NULL, "acceptor");
	loop_run(1800);
	return 0;
}
