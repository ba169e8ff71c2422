/* SPDX-License-Identifier: MIT */
/*
 * frames.c - a program that saves a known number of frames with known contents.
 *
 *	truth_frames THREADS FRAMES INTERVAL_NS
 *
 * Prints "ready", waits for a line of input, saves frames 1 to FRAMES in each thread, one
 * every INTERVAL_NS, and returns from main at once.  Every fourth frame is a tick.  The
 * member v of frame k is spread over six decades: 1000 + (k * 7919 % 997)^3.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ppt-Truth.h"

static uint64_t nr_frames, interval_ns;

static uint64_t value_of(uint64_t k)
{
	uint64_t x = k * 7919 % 997;

	return 1000 + x * x * x;
}

static void save_work(uint32_t thread, uint64_t k)
{
	struct ppt_Truth_work w;

	memset(&w, 0, sizeof(w));
	ppt_Truth_work_snapshot_took_start(&w);
	w.k = k;
	w.v = value_of(k);
	w.half = (double)k / 2;
	w.thread = thread;
	ppt_Truth_work_snapshot_took_end(&w);
	ppt_Truth_work_save(&w);
}

static void save_tick(uint32_t thread, uint64_t k)
{
	struct ppt_Truth_tick t;

	memset(&t, 0, sizeof(t));
	t.k = k;
	t.thread = thread;
	ppt_Truth_tick_save(&t);
}

static void *run_thread(void *arg)
{
	uint32_t thread = (uint32_t)(uintptr_t)arg;
	struct timespec pause = { 0, (long)interval_ns };
	uint64_t k;

	for (k = 1; k <= nr_frames; k++) {
		if (k % 4 == 0)
			save_tick(thread, k);
		else
			save_work(thread, k);
		if (interval_ns)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned nr = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1, i;
	pthread_t ids[16];

	nr_frames = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000;
	interval_ns = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	puts("ready");
	fflush(stdout);
	(void)getchar();
	for (i = 0; i < nr && i < 16; i++)
		if (pthread_create(&ids[i], NULL, run_thread, (void *)(uintptr_t)i) != 0)
			return 97;
	for (i = 0; i < nr && i < 16; i++)
		pthread_join(ids[i], NULL);
	return 0;
}
