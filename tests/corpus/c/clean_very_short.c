/* SPDX-License-Identifier: MIT */
/*
 * clean_very_short.c - a command-line tool: a few milliseconds, and some fibers still wait at its
 * end.
 *
 * corpus: clean
 */
#include "loop_sync.h"

static void list_folder(void *arg)
{
	fiber_sleep((unsigned)(uintptr_t)arg);
}

int main(void)
{
	int i;

	for (i = 0; i < 20; i++)
		loop_spawn(list_folder, (void *)(uintptr_t)(i % 12), "folder-%d", i);
	loop_run(8);
	return 0;
}
