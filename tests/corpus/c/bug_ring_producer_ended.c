/* SPDX-License-Identifier: MIT */
/*
 * bug_ring_producer_ended.c - each file has a reader and a parser with a channel between them; a
 * reader that meets an unreadable file returns without closing its channel.  Traced with the least
 * that the SDK needs.
 *
 * corpus: bug
 * class: lost-wakeup|long-suspended
 * at: @stuck
 * victims: parser-3
 */
#include <stdio.h>

#include "ring_sched.h"

#define NR_FILES 40

static struct ring_chan blocks[NR_FILES];

static void read_file(long number)
{
	long i;

	for (i = 0; i < 12; i++) {
		if (number == 3 && i == 7)
			return;
		ring_send(&blocks[number], i);
		ring_sleep(2);
	}
	ring_close(&blocks[number]);
}

static void parse_file(long number)
{
	long block;

	while (ring_recv(&blocks[number], &block)) /* @stuck */
		;
}

static void start_files(long nr)
{
	char name[32];
	long i;

	for (i = 0; i < nr; i++) {
		blocks[i].capacity = 4;
		snprintf(name, sizeof(name), "reader-%ld", i);
		ring_spawn(read_file, i, name);
		snprintf(name, sizeof(name), "parser-%ld", i);
		ring_spawn(parse_file, i, name);
		ring_sleep(40);
	}
}

int main(void)
{
	ring_spawn(start_files, NR_FILES, "source");
	ring_run(2000);
	return 0;
}
