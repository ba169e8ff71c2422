// SPDX-License-Identifier: MIT
/*
 * clean_spare_workers.c - twelve workers, a last-in-first-out list of idle ones: two do all the
 * work, the others were used in the first rush only.
 *
 * corpus: clean
 * never: deadlock, abandoned-lock, starvation, wake-before-suspend
 */
#include <stdio.h>

#include "fiber_kit.h"

#define WORKERS 12

struct worker {
	struct fk_fiber *fiber;
	int job;
	struct worker *next;
};

static struct worker workers[WORKERS];
static struct worker *idle;
static long done;

static void work(void *arg)
{
	struct worker *w = arg;

	for (;;) {
		w->next = idle;
		idle = w;
		fk_park(CTP_REASON_CHANNEL_RECV, &idle);
		fk_sleep(w->job);
		done++;
	}
}

static void dispatcher(void *arg)
{
	int i = 0;

	(void)arg;
	fk_sleep(20);
	for (;;) {
		struct worker *w = idle;

		if (w) {
			idle = w->next;
			w->job = 4;
			fk_ready(w->fiber, CTP_REASON_CHANNEL_RECV, &idle);
		}
		i++;
		if (i > 30)
			fk_sleep(3);
		else if (i % 10 == 0)
			fk_sleep(15);
	}
}

int main(void)
{
	char name[16];

	fk_setup(1, FK_FIFO);
	for (int i = 0; i < WORKERS; i++) {
		snprintf(name, sizeof(name), "worker-%d", i);
		workers[i].fiber = fk_spawn(name, work, &workers[i]);
	}
	fk_spawn("dispatcher", dispatcher, NULL);
	fk_run(2500);
	return 0;
}
