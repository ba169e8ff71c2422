/* SPDX-License-Identifier: MIT */
/*
 * frames_busy.c - a program that saves frames all the time.
 *
 *	busy_BUFFER THREADS INTERVAL_NS [FRAMES]
 *
 * Each thread saves frames, one every INTERVAL_NS (0: as fast as it can), FRAMES of them (0: until
 * SIGTERM; then it says "ready" when each thread has saved one).  All members of a frame hold the
 *same number.  At the end it prints as one JSON object: how many saves each thread made, the
 *longest time that one took, whether standard input is still open.  SIGUSR1 makes all threads
 *pause, SIGUSR2 continue.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PASTE_(a, b, c) a##b##c
#define PASTE(a, b, c)  PASTE_(a, b, c)
#define NAME(what)      PASTE(PASTE(ppt_, BUFFER, _), what, )

#include HEADER

#define THREADS_MAX 64

static atomic_int stop, halted, begun;
static uint64_t interval, limit;
static struct {
	uint64_t saves, slowest;
} threads[THREADS_MAX];

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void save_work(uint32_t thread, uint64_t n)
{
	struct NAME(work) w;

	memset(&w, 0, sizeof(w));
	NAME(work_snapshot_events_start)(&w);
	NAME(work_snapshot_took_start)(&w);
	w.n = n;
	w.minus_n = -(int32_t)(n & 0x3fffffff);
	w.half_n = (double)n / 2;
	w.thread = thread;
	NAME(work_snapshot_took_end)(&w);
	NAME(work_snapshot_events_end)(&w);
	NAME(work_save)(&w);
}

static void save_tick(uint32_t thread, uint64_t n)
{
	struct NAME(tick) t;

	memset(&t, 0, sizeof(t));
	t.thread = thread;
	t.n = n;
	t.not_n = ~n;
	NAME(tick_save)(&t);
}

static void *work(void *arg)
{
	uint32_t thread = (uint32_t)(uintptr_t)arg;
	uint64_t n, before, after = now();

	for (n = 1; !stop && (!limit || n <= limit); n++) {
		before = now();
		if (n % 4 == 0)
			save_tick(thread, n);
		else
			save_work(thread, n);
		after = now();
		begun += n == 1;
		if (after - before > threads[thread].slowest)
			threads[thread].slowest = after - before;
		while (!stop && (halted || (interval && after - before < interval))) {
			if (interval >= 20000 || halted) {
				struct timespec ts = { 0, halted ? 1000000 : (long)interval };

				nanosleep(&ts, NULL);
			}
			after = now();
		}
	}
	threads[thread].saves = n - 1;
	return NULL;
}

static void on_signal(int sig)
{
	if (sig == SIGTERM)
		stop = 1;
	else
		halted = sig == SIGUSR1;
}

static void say_ready(void)
{
	puts("ready");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned nr = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1, i;
	pthread_t ids[THREADS_MAX];
	uint64_t saves = 0, slowest = 0;

	interval = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	limit = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	signal(SIGTERM, on_signal);
	signal(SIGUSR1, on_signal);
	signal(SIGUSR2, on_signal);
	if (limit)
		say_ready();
	for (i = 0; i < nr && i < THREADS_MAX; i++)
		pthread_create(&ids[i], NULL, work, (void *)(uintptr_t)i);
	while (!limit && !stop && begun < (int)i)
		usleep(1000);
	if (!limit)
		say_ready();
	for (i = 0; i < nr && i < THREADS_MAX; i++) {
		pthread_join(ids[i], NULL);
		saves += threads[i].saves;
		if (threads[i].slowest > slowest)
			slowest = threads[i].slowest;
	}
	printf("{\"saves\":%llu,\"slowest_ns\":%llu,\"stdin_open\":%s}\n",
	       (unsigned long long)saves, (unsigned long long)slowest,
	       fcntl(0, F_GETFD) >= 0 ? "true" : "false");
	return 0;
}
