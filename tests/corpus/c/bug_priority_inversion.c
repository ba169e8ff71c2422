/* SPDX-License-Identifier: MIT */
/*
 * bug_priority_inversion.c - the logger, of low priority, holds the lock of the bus when the
 * encoders begin to use all of the thread; the controller, of high priority, waits for that lock.
 *
 * corpus: bug
 * class: starvation
 * at: @ready|@lock
 * victims: logger
 * also: controller
 * never: deadlock
 */
#include "loop_sync.h"

static struct fiber_mutex bus;
static uint64_t start;

static void use_thread(unsigned us)
{
	uint64_t end = loop_now() + us * 1000ull;

	while (loop_now() < end)
		;
}

/* Begins with a change of the picture that is too large for the encoders. */
static bool is_rush_hour(void)
{
	static bool has_begun;

	if (loop_now() - start > 400000000 && bus.queue.first)
		has_begun = true;
	return has_begun;
}

static void run_encoder(void *arg)
{
	(void)arg;
	for (;;) {
		use_thread(300);
		if (is_rush_hour())
			fiber_yield();
		else
			fiber_sleep(4);
	}
}

static void run_logger(void *arg)
{
	(void)arg;
	for (;;) {
		fiber_lock(&bus);
		fiber_sleep(6); /* @ready */
		fiber_unlock(&bus);
		fiber_sleep(1);
	}
}

static void run_controller(void *arg)
{
	(void)arg;
	for (;;) {
		fiber_sleep(10);
		fiber_lock(&bus); /* @lock */
		fiber_unlock(&bus);
	}
}

int main(void)
{
	int i;

	start = loop_now();
	loop_spawn(run_logger, NULL, "logger")->priority = 2;
	for (i = 0; i < 2; i++)
		loop_spawn(run_encoder, NULL, "encoder-%d", i);
	loop_spawn(run_controller, NULL, "controller")->priority = 0;
	loop_run(1900);
	return 0;
}
