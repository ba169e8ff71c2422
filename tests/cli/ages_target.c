/* SPDX-License-Identifier: MIT */
/*
 * ages_target.c - a program that writes faster than a collector reads, does not destroy its
 * coroutines, and prints their ages when it ends.
 *
 *	ages_target EVENTS MS [FILE]
 *
 * EVENTS transitions at full speed, then three coroutines that suspend MS ms apart, then MS ms
 * without events.  Creates FILE before that pause, for a test that acts in it.  Prints one
 * line per coroutine, "NAME MOST_NS LEAST_NS", computed at the last moment, and ends with _exit():
 * its age since the clock was read before and after it suspended.
 */
#include <corotracer/corotracer.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NR_LEFT 3

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void wait_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

static void flood(long events)
{
	struct corotracer_coro co;
	long i;

	corotracer_begin(&co, "busy");
	for (i = 0; i < events; i++) {
		if (i % 2)
			corotracer_suspend(&co, &co);
		else
			corotracer_resume(&co);
	}
	corotracer_end(&co);
}

int main(int argc, char **argv)
{
	static struct corotracer_coro left[NR_LEFT];
	uint64_t since[NR_LEFT], after[NR_LEFT], end;
	char name[32];
	long ms;
	int i;

	if (argc < 3)
		return 2;
	ms = strtol(argv[2], NULL, 0);
	corotracer_init();
	flood(strtol(argv[1], NULL, 0));
	for (i = 0; i < NR_LEFT; i++) {
		snprintf(name, sizeof(name), "left %d", i);
		corotracer_begin(&left[i], name);
		corotracer_resume(&left[i]);
		since[i] = now_ns();
		corotracer_suspend(&left[i], &left[i]);
		after[i] = now_ns();
		wait_ms(ms);
	}
	if (argc > 3)
		close(open(argv[3], O_WRONLY | O_CREAT, 0600));
	wait_ms(ms);
	end = now_ns();
	for (i = 0; i < NR_LEFT; i++)
		printf("left %d %" PRIu64 " %" PRIu64 "\n", i, end - since[i], end - after[i]);
	fflush(stdout);
	_exit(0);
}
