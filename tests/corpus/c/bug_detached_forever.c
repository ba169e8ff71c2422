/* SPDX-License-Identifier: MIT */
/*
 * bug_detached_forever.c - each request starts a detached fiber that waits for its cancellation; a
 * request that succeeds never wakes it.
 *
 * corpus: bug
 * class: leak|lost-wakeup
 * at: @stuck|@spawn
 * victims: canceller-*
 */
#include "loop_sync.h"

struct request {
	struct fiber_cond cancelled;
	bool is_cancelled;
};

static void watch_cancellation(void *arg)
{
	struct request *r = arg;

	fiber_cond_wait(&r->cancelled); /* @stuck */
}

static void handle_request(void *arg)
{
	struct request *r = arg;

	fiber_sleep(5);
	if (r->is_cancelled)
		fiber_cond_signal(&r->cancelled);
}

static void accept_requests(void *arg)
{
	static struct request requests[240];
	int i;

	(void)arg;
	for (i = 0; i < 240; i++) {
		requests[i].is_cancelled = i % 40 == 7;
		loop_spawn(watch_cancellation, &requests[i], "canceller-%d", i); /* @spawn */
		loop_spawn(handle_request, &requests[i], "request-%d", i);
		fiber_sleep(7);
	}
}

int main(void)
{
	loop_spawn(accept_requests, NULL, "acceptor");
	loop_run(2000);
	return 0;
}
