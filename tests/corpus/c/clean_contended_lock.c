/* SPDX-License-Identifier: MIT */
/*
 * clean_contended_lock.c - twelve fibers queue for one lock that is always taken, and
 * each is served in its turn; at the end of the program some wait in the queue.
 *
 * corpus: clean
 */
#include "loop_sync.h"

static struct fiber_mutex journal;

static void append_entries(void *arg)
{
	(void)arg;
	for (;;) {
		fiber_lock(&journal);
		fiber_sleep(3);
		fiber_unlock(&journal);
		fiber_sleep(2);
	}
}

int main(void)
{
	int i;

	for (i = 0; i < 12; i++)
		loop_spawn(append_entries, NULL, "writer-%d", i);
	loop_run(1500);
	return 0;
}
