/* SPDX-License-Identifier: MIT */
/*
 * bug_unnamed_stuck.c - coroutines without names; three of eighty wait for a parser that has given
 * up on their file.  Traced with the least that the SDK needs.
 *
 * corpus: bug
 * class: lost-wakeup|long-suspended
 * at: @stuck
 * count: 3
 */
#include <stddef.h>

#include "ring_sched.h"

#define NR_FILES 80

static struct ring_chan results[NR_FILES];

static void wait_for_result(long number)
{
	long result;

	ring_recv(&results[number], &result); /* @stuck */
}

static void parse_files(long nr)
{
	long i;

	for (i = 0; i < nr; i++) {
		results[i].capacity = 1;
		ring_spawn(wait_for_result, i, NULL);
		ring_sleep(8);
		if (i != 20 && i != 21 && i != 33) /* not UTF-8 */
			ring_send(&results[i], i);
		ring_sleep(8);
	}
}

int main(void)
{
	ring_spawn(parse_files, NR_FILES, NULL);
	ring_run(1900);
	return 0;
}
