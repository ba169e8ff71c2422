/* SPDX-License-Identifier: MIT */
/*
 * clean_bursts.c - eighty requests arrive at once, three times a second, at a lock that serves them
 * one after the other; the last ones wait fifty times as long as the first.
 *
 * corpus: clean
 */
#include "loop_sync.h"

static struct fiber_mutex disk;

static void handle_request(void *arg)
{
	(void)arg;
	fiber_lock(&disk);
	fiber_sleep(1);
	fiber_unlock(&disk);
}

static void send_bursts(void *arg)
{
	int burst, i;

	(void)arg;
	for (burst = 0; burst < 5; burst++) {
		for (i = 0; i < 80; i++)
			loop_spawn(handle_request, NULL, "request-%d", burst * 80 + i);
		fiber_sleep(300);
	}
}

int main(void)
{
	loop_spawn(send_bursts, NULL, "source");
	loop_run(3000);
	return 0;
}
