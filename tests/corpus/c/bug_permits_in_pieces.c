/* SPDX-License-Identifier: MIT */
/*
 * bug_permits_in_pieces.c - a transfer needs two of four buffers and takes them one by one; four
 * transfers that start together have one each and wait for the second.
 *
 * corpus: bug
 * class: deadlock|stalled|lost-wakeup
 * at: @second
 * victims: transfer-40, transfer-41, transfer-42, transfer-43
 * also: transfer-*
 */
#include "loop_sync.h"

static struct fiber_sem buffers = { .permits = 4 };

static void run_transfer(void *arg)
{
	(void)arg;
	fiber_sem_take(&buffers);
	fiber_sleep(1);           /* the header */
	fiber_sem_take(&buffers); /* @second */
	fiber_sleep(4);
	fiber_sem_give(&buffers);
	fiber_sem_give(&buffers);
}

static void start_transfers(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 44; i++) {
		loop_spawn(run_transfer, NULL, "transfer-%d", i);
		if (i < 40)
			fiber_sleep(9);
	}
}

static void report_rate(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(20);
}

int main(void)
{
	loop_spawn(start_transfers, NULL, "source");
	loop_spawn(report_rate, NULL, "rate");
	loop_run(1900);
	return 0;
}
