/* SPDX-License-Identifier: MIT */
/*
 * clean_watchdog.c - each connection has a watchdog with a limit of 30 s, which every request sets
 * back; it wakes to look at the new deadline, and sleeps again.
 *
 * corpus: clean
 */
#include "loop_sync.h"

#define NR_CONNS 6

struct conn {
	struct fiber *watchdog;
	uint64_t deadline;
	bool is_over;
};

static struct conn conns[NR_CONNS];

static void run_watchdog(void *arg)
{
	struct conn *c = arg;

	c->watchdog = fiber_current();
	while (!c->is_over) {
		fiber_sleep(30000);
		fiber_timer_cancel(fiber_current()); /* woken early */
	}
}

static void run_conn(void *arg)
{
	struct conn *c = arg;
	int i;

	for (i = 0; i < 60; i++) {
		fiber_sleep((unsigned)(9 + (c - conns)));
		c->deadline = loop_now() + 30000000000u;
		fiber_unpark(c->watchdog);
	}
	/* The last two connections stay open, the others end with their watchdog. */
	if (c - conns < NR_CONNS - 2) {
		fiber_sleep(20);
		c->is_over = true;
		fiber_unpark(c->watchdog);
	}
}

int main(void)
{
	int i;

	for (i = 0; i < NR_CONNS; i++) {
		loop_spawn(run_watchdog, &conns[i], "watchdog-%d", i);
		loop_spawn(run_conn, &conns[i], "conn-%d", i);
	}
	loop_run(2000);
	return 0;
}
