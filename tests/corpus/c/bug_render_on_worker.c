// SPDX-License-Identifier: MIT
/*
 * bug_render_on_worker.c - widgets may be drawn on thread 0 only.  The widgets are pinned there;
 * the status bar was spawned without the pin, and a worker steals it when thread 0 is busy.
 *
 * corpus: bug
 * class: wrong-thread
 * victims: widget-statusbar
 * never: lost-wakeup, starvation
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

static void widget(void *arg)
{
	(void)arg;
	for (;;) {
		burn_us(150);
		fk_sleep(16);
	}
}

static void indexer(void *arg)
{
	(void)arg;
	for (;;) {
		burn_us(400);
		fk_sleep(5);
	}
}

int main(void)
{
	static const char *names[] = {
		"menu", "list", "editor", "tree", "tabs", "search", "minimap"
	};
	char name[32];

	fk_setup(3, FK_STEAL);
	for (int i = 0; i < 7; i++) {
		snprintf(name, sizeof(name), "widget-%s", names[i]);
		fk_spawn_on(name, widget, NULL, 0);
	}
	fk_spawn("widget-statusbar", widget, NULL); /* the bug: any thread */
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "indexer-%d", i);
		fk_spawn(name, indexer, NULL);
	}
	fk_run(2000);
	return 0;
}
