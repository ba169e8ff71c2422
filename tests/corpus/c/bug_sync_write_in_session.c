// SPDX-License-Identifier: MIT
/*
 * bug_sync_write_in_session.c - one thread, eight sessions; "save" compresses a document on the
 * loop's thread, which takes a third of a second, while the other sessions are ready.
 *
 * corpus: bug
 * class: blocking
 * at: @save|@next
 * victims: session-2
 * never: never-yielded, deadlock
 */
#include <stdio.h>

#include "fiber_kit.h"

static volatile unsigned sink;

static void compress_document(void)
{
	uint64_t end = fk_now_ns() + 330000000u;

	while (fk_now_ns() < end)
		for (int i = 0; i < 1000; i++)
			sink += (unsigned)i * 2654435761u;
}

static void session(void *arg)
{
	int me = (int)(long)arg, nr = 0;

	for (;;) {
		fk_sleep(10 + me); /* @next */
		if (me == 2 && ++nr % 30 == 0) {
			compress_document();
			fk_sleep(1); /* @save */
		}
	}
}

int main(void)
{
	char name[24];

	fk_setup(1, FK_FIFO);
	for (long i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "session-%ld", i);
		fk_spawn(name, session, (void *)i);
	}
	fk_run(3000);
	return 0;
}
