/* SPDX-License-Identifier: MIT */
/*
 * bug_blocking_cpu.c - a thumbnail is computed in the loop, in one piece.
 *
 * corpus: bug
 * class: blocking
 * at: @before|@after
 * victims: thumbnails
 * never: starvation
 */
#include <time.h>

#include "loop_sync.h"

static uint64_t pixels;

/* About 90 ms of computing, however often the thread is interrupted. */
static void scale_picture(void)
{
	struct timespec ts;
	uint64_t start = 0, now;

	do {
		pixels = pixels * 6364136223846793005u + 1;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
		now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
		if (!start)
			start = now;
	} while (now - start < 90000000);
}

static void make_thumbnails(void *arg)
{
	int i;

	(void)arg;
	for (i = 0;; i++) {
		fiber_sleep(15); /* @before */
		if (i % 8 == 7)
			scale_picture();
		fiber_sleep(10); /* @after */
	}
}

/* Seven connections with a request every 5 ms: they are late while the other one blocks. */
static void serve_connection(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(5);
}

int main(void)
{
	int i;

	for (i = 0; i < 7; i++)
		loop_spawn(serve_connection, NULL, "conn-%d", i);
	loop_spawn(make_thumbnails, NULL, "thumbnails");
	loop_run(1800);
	return 0;
}
