/* SPDX-License-Identifier: MIT */
/*
 * bug_select_loses_message.c - a select over a channel and a timer looks at the timer first: a
 * message that was handed over when the time had just run out is dropped.  Its sender waits for
 * the acknowledgement.
 *
 * corpus: bug
 * class: lost-wakeup
 * at: @stuck
 * victims: sender-3
 * also: sender-*
 */
#include "loop_sync.h"

#define NR_PAIRS 5

struct link {
	struct fiber *receiver, *sender;
	bool has_message, is_selecting;
	int number, nr_sent;
};

static struct link links[NR_PAIRS];

/* Hand the message to the receiver, and wait until it is acknowledged. */
static void link_send(struct link *l)
{
	while (!l->is_selecting)
		fiber_yield();
	l->sender = fiber_current();
	l->has_message = true;
	l->is_selecting = false;
	if (l->receiver->has_timer) {
		fiber_timer_cancel(l->receiver);
		fiber_unpark(l->receiver);
	}
	fiber_park(CTP_REASON_CHANNEL_SEND, l); /* @stuck */
}

/* True: a message; false: 300 ms are over. */
static bool link_select(struct link *l)
{
	l->is_selecting = true;
	fiber_timer(l->receiver, 300);
	fiber_park(CTP_REASON_CHANNEL_RECV, l);
	l->is_selecting = false;
	if (loop_now() >= l->receiver->deadline) {
		l->has_message = false;
		return false;
	}
	return l->has_message;
}

static void receive_messages(void *arg)
{
	struct link *l = arg;

	l->receiver = fiber_current();
	for (;;) {
		if (!link_select(l))
			continue;
		l->has_message = false;
		fiber_unpark(l->sender);
	}
}

/*
 * Read from a disk, then formatted in pieces of a millisecond; the last one is ready when the
 * receiver's time has just run out.
 */
static void format_large_message(struct link *l)
{
	uint64_t end;

	fiber_sleep(290);
	do {
		for (end = loop_now() + 1000000; loop_now() < end;)
			;
		fiber_yield();
	} while (l->receiver->has_timer);
}

static void send_messages(void *arg)
{
	struct link *l = arg;

	for (;; l->nr_sent++) {
		fiber_sleep(6);
		if (l->number == 3 && l->nr_sent == 30)
			format_large_message(l);
		link_send(l);
	}
}

int main(void)
{
	int i;

	for (i = 0; i < NR_PAIRS; i++) {
		links[i].number = i;
		loop_spawn(receive_messages, &links[i], "receiver-%d", i);
		loop_spawn(send_messages, &links[i], "sender-%d", i);
	}
	loop_run(2000);
	return 0;
}
