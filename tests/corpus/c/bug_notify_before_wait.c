/* SPDX-License-Identifier: MIT */
/*
 * bug_notify_before_wait.c - a mailbox notifies its owner only if the owner waits.  The owner sees
 * an empty mailbox, flushes its output, and then waits: a letter that arrives during the flush
 * notifies a fiber that does not wait yet.
 *
 * corpus: bug
 * class: wake-before-suspend|lost-wakeup
 * at: @stuck
 * victims: actor-2
 */
#include "loop_sync.h"

#define NR_ACTORS 6

struct mailbox {
	struct fiber *owner;
	int nr_letters;
	bool is_waiting;
};

static struct mailbox boxes[NR_ACTORS];

static void mailbox_post(struct mailbox *box)
{
	box->nr_letters++;
	if (box->is_waiting) {
		box->is_waiting = false;
		fiber_unpark(box->owner);
	} else {
		corotracer_wake(&box->owner->trace, &fiber_current()->trace);
	}
}

static void run_actor(void *arg)
{
	struct mailbox *box = arg;

	for (;;) {
		while (box->nr_letters)
			box->nr_letters--;
		fiber_sleep(2); /* flush */
		box->is_waiting = true;
		fiber_park(CTP_REASON_USER, box); /* @stuck */
	}
}

/* A letter for each actor every 20 ms; actor 2 gets its last letter soon after another one. */
static void post_letters(void *arg)
{
	int i, round;

	(void)arg;
	for (round = 0;; round++) {
		for (i = 0; i < NR_ACTORS; i++) {
			if (i != 2 || round <= 20)
				mailbox_post(&boxes[i]);
		}
		if (round == 20) {
			fiber_sleep(1);
			mailbox_post(&boxes[2]);
		}
		fiber_sleep(20);
	}
}

int main(void)
{
	int i;

	for (i = 0; i < NR_ACTORS; i++)
		boxes[i].owner = loop_spawn(run_actor, &boxes[i], "actor-%d", i);
	loop_spawn(post_letters, NULL, "postman");
	loop_run(2000);
	return boxes[2].nr_letters ? 0 : 75;
}
