/* SPDX-License-Identifier: MIT */
/*
 * bug_thundering_herd.c - each new item wakes all forty workers; one takes it and thirty-nine go
 * back to sleep.
 *
 * corpus: bug
 * class: herd
 * at: @wait
 * victims: worker-*
 */
#include "loop_sync.h"

#define NR_WORKERS 40

static struct fiber_cond not_empty;
static int nr_items;

static void run_worker(void *arg)
{
	(void)arg;
	for (;;) {
		while (!nr_items)
			fiber_cond_wait(&not_empty); /* @wait */
		nr_items--;
		fiber_sleep(2);
	}
}

static void add_items(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 250; i++) {
		nr_items++;
		fiber_cond_broadcast(&not_empty);
		fiber_sleep(4);
	}
}

int main(void)
{
	int i;

	for (i = 0; i < NR_WORKERS; i++)
		loop_spawn(run_worker, NULL, "worker-%d", i);
	loop_spawn(add_items, NULL, "producer");
	loop_run(1200);
	return 0;
}
