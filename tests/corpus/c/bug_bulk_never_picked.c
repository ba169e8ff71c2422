// SPDX-License-Identifier: MIT
/*
 * bug_bulk_never_picked.c - strict priorities: interactive requests take the whole thread, three
 * bulk exports are ready and are not picked for as long as the load lasts.
 *
 * corpus: bug
 * class: starvation
 * at: @bulk
 * victims: export-0, export-1, export-2
 * never: lost-wakeup, deadlock
 */
#include <stdio.h>

#include "fiber_kit.h"

static volatile unsigned sink;

static void burn_us(int us)
{
	uint64_t end = fk_now_ns() + (uint64_t)us * 1000u;

	while (fk_now_ns() < end)
		sink++;
}

static void export_rows(void *arg)
{
	(void)arg;
	for (;;) {
		burn_us(300);
		fk_sleep(5); /* @bulk */
	}
}

static void interactive(void *arg)
{
	int delay = (int)(long)arg;

	fk_sleep(delay);
	for (;;) {
		burn_us(400);
		fk_yield();
	}
}

int main(void)
{
	char name[24];

	fk_setup(1, FK_PRIORITY);
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "export-%d", i);
		fk_spawn_prio(name, export_rows, NULL, 0);
	}
	for (long i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "user-%ld", i);
		fk_spawn_prio(name, interactive, (void *)(300 + i * 50), 3);
	}
	fk_run(2200);
	return 0;
}
