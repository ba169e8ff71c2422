// SPDX-License-Identifier: MIT
/*
 * bug_protothread_download.c - state machines ("protothreads") that only say when they run and when
 * they stop.  Twenty downloads are called when their block has arrived; the block of number 13 is
 * filed under 3 once, and is never asked for again.
 *
 * corpus: bug
 * class: lost-wakeup|long-suspended
 * victims: download-13
 * never: deadlock, leak, starvation
 */
#include <corotracer/corotracer.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define DOWNLOADS 20

struct download {
	struct corotracer_coro trace;
	long due;
	int blocks;
	bool is_lost;
};

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* One step: a block is written, the next one is asked for. */
static void step(struct download *d, int number)
{
	corotracer_resume(&d->trace);
	d->blocks++;
	d->due = now_ms() + 20 + number % 7;
	d->is_lost = number == 13 && d->blocks == 30;
	corotracer_suspend(&d->trace, __builtin_return_address(0));
}

int main(void)
{
	static struct download downloads[DOWNLOADS];
	const char *extra = getenv("CORPUS_EXTRA_MS");
	char name[24];

	corotracer_init();
	for (int i = 0; i < DOWNLOADS; i++) {
		snprintf(name, sizeof(name), "download-%d", i);
		corotracer_begin(&downloads[i].trace, name);
	}
	for (long end = now_ms() + 2600 + (extra ? atoi(extra) : 0); now_ms() < end;) {
		for (int i = 0; i < DOWNLOADS; i++)
			if (!downloads[i].is_lost && now_ms() >= downloads[i].due)
				step(&downloads[i], i);
		usleep(2000);
	}
	return 0;
}
