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
static int token, nr_buffers;

static void compress_block(void *arg)
{
	(void)arg;
	fiber_recv(&buffers); /* @recv */
	fiber_sleep(1);
}

static void run_writer(void *arg)
{
	(void)arg;
	for (;;) {
		fiber_sleep(8);
		fiber_lock(&file);
		fiber_join(loop_spawn(compress_block, NULL, "compressor")); /* @join */
		fiber_unlock(&file);
	}
}

/* One buffer is always there in advance, until a large file needs two. */
static void run_reader(void *arg)
{
	(void)arg;
	for (;;) {
		if (nr_buffers++ != 40)
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
