/* SPDX-License-Identifier: MIT */
/*
 * bug_oneshot_kept.c - callers wait for a one-shot reply that a table keeps by request id.  A reply
 * with an unknown status is logged; its entry stays in the table and the caller waits.
 *
 * corpus: bug
 * class: lost-wakeup
 * at: @stuck
 * victims: caller-23
 */
#include "loop_sync.h"

struct oneshot {
	struct fiber *waiter;
	int value;
	bool is_sent;
};

static struct oneshot *pending[256];
static int nr_unknown;

static void oneshot_send(struct oneshot *o, int value)
{
	o->value = value;
	o->is_sent = true;
	if (o->waiter)
		fiber_unpark(o->waiter);
}

static void call_service(void *arg)
{
	struct oneshot reply = { fiber_current(), 0, false };
	int id = (int)(intptr_t)arg;

	pending[id] = &reply;
	if (!reply.is_sent)
		fiber_park(CTP_REASON_CHANNEL_RECV, &reply); /* @stuck */
	pending[id] = NULL;
}

/* The service: replies arrive in any order, one is of a newer protocol. */
static void read_replies(void *arg)
{
	int id;

	(void)arg;
	for (;;) {
		fiber_sleep(6);
		for (id = 255; id >= 0; id--) {
			if (!pending[id] || pending[id]->is_sent)
				continue;
			if (id == 23)
				nr_unknown++;
			else
				oneshot_send(pending[id], id);
		}
	}
}

static void make_calls(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 256; i++) {
		loop_spawn(call_service, (void *)(intptr_t)i, "caller-%d", i);
		fiber_sleep(8);
	}
}

int main(void)
{
	loop_spawn(read_replies, NULL, "reader");
	loop_spawn(make_calls, NULL, "source");
	loop_run(2000);
	return nr_unknown ? 0 : 75;
}
