// SPDX-License-Identifier: MIT
/*
 * clean_encoder_has_own_worker.c - a video encoder is pinned to worker 2 and computes for the whole
 * run; the user interface has the other two workers.
 *
 * corpus: clean
 * never: starvation, deadlock, lost-wakeup
 */
#include <stdio.h>

#include "fiber_kit.h"

static volatile unsigned sink;
static volatile int is_cancelled;

static void encoder(void *arg)
{
	(void)arg;
	for (long frame = 0; !is_cancelled; frame++)
		for (unsigned i = 0; i < 100000; i++)
			sink += i * 2654435761u;
}

static void panel(void *arg)
{
	for (int i = 0; i < 100; i++)
		fk_sleep(16 + (int)(long)arg);
}

static void progress(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20; i++)
		fk_sleep(100);
	is_cancelled = 1;
}

int main(void)
{
	char name[16];

	fk_setup(3, FK_STEAL);
	fk_detach(fk_spawn_on("encoder", encoder, NULL, 2));
	for (long i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "panel-%ld", i);
		fk_detach(fk_spawn_on(name, panel, (void *)i, (int)i % 2));
	}
	fk_detach(fk_spawn_on("progress", progress, NULL, 0));
	fk_run(8000);
	return 0;
}
