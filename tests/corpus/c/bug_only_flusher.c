/* SPDX-License-Identifier: MIT */
/*
 * bug_only_flusher.c - the writer signals the flusher when the first record becomes dirty; two
 * records at once take the counter from 0 to 2, and it is never 1 again.
 *
 * corpus: bug
 * class: lost-wakeup
 * at: @stuck
 * victims: flusher
 */
#include "loop_sync.h"

static struct fiber_cond dirty;
static int nr_dirty;

static void flush_records(void *arg)
{
	(void)arg;
	for (;;) {
		fiber_cond_wait(&dirty); /* @stuck */
		nr_dirty = 0;
	}
}

static void write_records(void *arg)
{
	int i;

	(void)arg;
	for (i = 0;; i++) {
		fiber_sleep(17);
		nr_dirty += i == 25 ? 2 : 1;
		if (nr_dirty == 1)
			fiber_cond_signal(&dirty);
	}
}

static void serve_reads(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(8);
}

int main(void)
{
	int i;

	loop_spawn(flush_records, NULL, "flusher");
	loop_spawn(write_records, NULL, "writer");
	for (i = 0; i < 6; i++)
		loop_spawn(serve_reads, NULL, "reader-%d", i);
	loop_run(2000);
	/* On a busy machine the two records at once may come too late. */
	return nr_dirty > 30 ? 0 : 75;
}
