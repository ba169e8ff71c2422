/* SPDX-License-Identifier: MIT */
/*
 * bug_reply_before_wait.c - a request registers as the waiter after it has written its log line; a
 * reply from the cache is there before that, finds no waiter, and wakes no request.
 *
 * corpus: bug
 * class: lost-wakeup
 * at: @stuck
 * victims: request-37
 */
#include "loop_sync.h"

struct request {
	int id;
	struct fiber *waiter;
};

static struct fiber_chan backend_queue = { .capacity = 16 };

static void answer_requests(void *arg)
{
	struct request *r;

	(void)arg;
	while ((r = fiber_recv(&backend_queue))) {
		if (r->id != 37) /* 37 is in the cache */
			fiber_sleep(2);
		if (r->waiter)
			fiber_unpark(r->waiter);
	}
}

static void write_log_line(void)
{
	fiber_yield();
}

static void handle_request(void *arg)
{
	struct request *r = arg;

	fiber_send(&backend_queue, r);
	write_log_line();
	r->waiter = fiber_current();
	fiber_park(CTP_REASON_USER, r); /* @stuck */
}

static void accept_requests(void *arg)
{
	static struct request requests[400];
	int i;

	(void)arg;
	for (i = 0; i < 400; i++) {
		requests[i].id = i;
		loop_spawn(handle_request, &requests[i], "request-%d", i);
		fiber_sleep(4);
	}
}

int main(void)
{
	loop_spawn(answer_requests, NULL, "backend");
	loop_spawn(accept_requests, NULL, "acceptor");
	loop_run(1900);
	return 0;
}
