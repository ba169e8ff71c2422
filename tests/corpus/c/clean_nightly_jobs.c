// SPDX-License-Identifier: MIT
/*
 * clean_nightly_jobs.c - a scheduler of nightly jobs during the day: hour timers, a control socket
 * that is unused, a metrics fiber, and a slow start that reads a big table before the first fiber
 * runs again.
 *
 * corpus: clean
 * never: deadlock, lost-wakeup, starvation, leak
 */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fiber_kit.h"

static struct fk_chan commands = { .size = 4 };
static volatile unsigned sink;

static void nightly(void *arg)
{
	for (;;) {
		fk_sleep(3600 * 1000 + 60 * (int)(long)arg);
		sink++;
	}
}

static void control(void *arg)
{
	while (fk_recv(&commands))
		*(int *)arg += 1;
}

static void boot(void *arg)
{
	uint64_t end = fk_now_ns() + 400000000u;

	(void)arg;
	while (fk_now_ns() < end)
		sink++;
}

static void metrics(void *arg)
{
	(void)arg;
	for (;;)
		fk_sleep(100);
}

int main(void)
{
	static int nr_commands;
	char name[24];

	fk_setup(1, FK_FIFO);
	fk_detach(fk_spawn("boot", boot, NULL));
	for (long i = 0; i < 9; i++) {
		snprintf(name, sizeof(name), "nightly-%ld", i);
		fk_spawn(name, nightly, (void *)i);
	}
	fk_spawn("control", control, &nr_commands);
	fk_spawn("metrics", metrics, NULL);
	fk_run(2500);
	return 0;
}
