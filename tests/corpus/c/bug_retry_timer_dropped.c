// SPDX-License-Identifier: MIT
/*
 * bug_retry_timer_dropped.c - twelve uploads retry after a pause.  "Pause all" in the user
 * interface takes the timer of an upload out of the queue, and "continue" starts only those it
 * finds paused: one is skipped.
 *
 * corpus: bug
 * class: lost-wakeup
 * at: @retry
 * victims: upload-5
 * never: deadlock, leak
 */
#include <stdio.h>

#include "fiber_kit.h"
#include "fiber_kit_inside.h"

static struct fk_fiber *uploads[12];

static void upload(void *arg)
{
	int me = (int)(long)arg;

	for (;;)
		fk_sleep(30 + me); /* @retry */
}

static void buttons(void *arg)
{
	bool is_paused[12];

	(void)arg;
	fk_sleep(800);
	fk_enter();
	for (int i = 0; i < 12; i++)
		is_paused[i] = fk_timer_remove(uploads[i]);
	fk_leave();
	fk_sleep(40);
	is_paused[5] = false; /* the bug: its row was scrolled out of view */
	for (int i = 0; i < 12; i++)
		if (is_paused[i])
			fk_ready(uploads[i], CTP_REASON_USER, 0);
	for (;;)
		fk_sleep(100);
}

int main(void)
{
	char name[24];

	fk_setup(1, FK_FIFO);
	for (long i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "upload-%ld", i);
		uploads[i] = fk_spawn(name, upload, (void *)i);
	}
	fk_spawn("buttons", buttons, NULL);
	fk_run(2500);
	return 0;
}
