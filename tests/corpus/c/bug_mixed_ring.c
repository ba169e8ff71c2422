/* SPDX-License-Identifier: MIT */
/*
 * bug_mixed_ring.c - the writer holds the lock of the file and waits for its compressor; the
 * compressor waits for a buffer of the reader; the reader waits for the lock.
 *
 * corpus: bug
 * class: deadlock|stalled|lost-wakeup
 * at: @join|@recv|@lock
 * victims: writer, compressor, reader
 */
#include "loop_sync.h"

static struct fiber_mutex file;
static struct fiber_chan buffers = { .capacity = 2 };
static int token;

/* A block needs one buffer; a large one needs four, more than the channel holds. */
static void compress_block(void *arg)
{
	int i;

	for (i = 0; i < (int)(intptr_t)arg; i++)
		fiber_recv(&buffers); /* @recv */
	fiber_sleep(1);
}

static void run_writer(void *arg)
{
	struct fiber *child;
	intptr_t nr_buffers;
	int block;

	(void)arg;
	for (block = 0;; block++) {
		fiber_sleep(8);
		nr_buffers = block == 40 ? 4 : 1;
		fiber_lock(&file);
		child = loop_spawn(compress_block, (void *)nr_buffers, "compressor");
		fiber_join(child); /* @join */
		fiber_unlock(&file);
	}
}

static void run_reader(void *arg)
{
	(void)arg;
	for (;;) {
		fiber_send(&buffers, &token);
		fiber_sleep(4);
		fiber_lock(&file); /* @lock */
		fiber_unlock(&file);
	}
}

static void draw_progress(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(25);
}

int main(void)
{
	loop_spawn(run_reader, NULL, "reader");
	loop_spawn(run_writer, NULL, "writer");
	loop_spawn(draw_progress, NULL, "progress");
	loop_run(2000);
	return 0;
}
