// SPDX-License-Identifier: MIT
/*
 * clean_protothread_sensors.c - state machines that only say when they run and when they stop.
 * Sensors with very different rhythms: some each 5 ms, some each second, some once at the start and
 * then only when a door opens, which does not happen in this run.
 *
 * corpus: clean
 * never: deadlock, leak, starvation, blocking
 */
#include <corotracer/corotracer.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SENSORS 12

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void step(struct corotracer_coro *co)
{
	corotracer_resume(co);
	corotracer_suspend(co, __builtin_return_address(0));
}

int main(void)
{
	static struct corotracer_coro sensors[SENSORS];
	static long due[SENSORS];
	static const int periods[SENSORS] = { 5,   5,   10,   20,      50,      100,
					      250, 500, 1000, 3600000, 3600000, 3600000 };
	const char *extra = getenv("CORPUS_EXTRA_MS");
	char name[24];

	corotracer_init();
	for (int i = 0; i < SENSORS; i++) {
		snprintf(name, sizeof(name), i < 9 ? "sensor-%d" : "door-%d", i);
		corotracer_begin(&sensors[i], name);
	}
	for (long end = now_ms() + 2500 + (extra ? atoi(extra) : 0); now_ms() < end;) {
		for (int i = 0; i < SENSORS; i++)
			if (now_ms() >= due[i]) {
				due[i] = now_ms() + periods[i];
				step(&sensors[i]);
			}
		usleep(1000);
	}
	return 0;
}
