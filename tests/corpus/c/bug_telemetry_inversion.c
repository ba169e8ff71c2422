// SPDX-License-Identifier: MIT
/*
 * bug_telemetry_inversion.c - a strict priority scheduler.  The low telemetry task takes the bus
 * lock and sleeps a moment; then the middle tasks keep the thread busy, telemetry is ready and
 * never picked, and the high bus task waits for the lock.
 *
 * corpus: bug
 * class: starvation
 * at: @low
 * victims: telemetry
 * also: bus
 * never: deadlock, abandoned-lock
 */
#include "fiber_kit.h"

static struct fk_mutex bus_lock;
static volatile unsigned sink;
static volatile int is_crowded;

static void burn_us(int us)
{
	uint64_t end = fk_now_ns() + (uint64_t)us * 1000u;

	while (fk_now_ns() < end)
		sink++;
}

static void telemetry(void *arg)
{
	int rounds = 0;

	(void)arg;
	for (;;) {
		fk_lock(&bus_lock);
		/* From now on the cameras record all the time. */
		is_crowded = ++rounds >= 22;
		fk_sleep(12); /* @low */
		fk_unlock(&bus_lock);
		fk_sleep(20);
	}
}

static void bus(void *arg)
{
	(void)arg;
	for (;;) {
		fk_lock(&bus_lock);
		burn_us(50);
		fk_unlock(&bus_lock);
		fk_sleep(7);
	}
}

static void camera(void *arg)
{
	(void)arg;
	for (;;) {
		burn_us(700);
		if (is_crowded)
			fk_yield();
		else
			fk_sleep(8);
	}
}

int main(void)
{
	fk_setup(1, FK_PRIORITY);
	fk_spawn_prio("telemetry", telemetry, 0, 1);
	fk_spawn_prio("camera-left", camera, 0, 5);
	fk_spawn_prio("camera-right", camera, 0, 5);
	fk_spawn_prio("bus", bus, 0, 9);
	fk_run(2500);
	return 0;
}
