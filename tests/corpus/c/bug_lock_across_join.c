/* SPDX-License-Identifier: MIT */
/*
 * bug_lock_across_join.c - a parent waits for its child while it holds the lock that the child
 * needs; the child needs it only when its cache is cold.
 *
 * corpus: bug
 * class: deadlock
 * at: @join|@lock
 * victims: import-25, row-25
 */
#include "loop_sync.h"

static struct fiber_mutex catalog;

struct import {
	int number;
	bool is_cold;
};

static void parse_row(void *arg)
{
	struct import *im = arg;

	fiber_sleep(1);
	if (im->is_cold) {
		fiber_lock(&catalog); /* @lock */
		fiber_unlock(&catalog);
	}
}

static void run_import(void *arg)
{
	struct import *im = arg;
	struct fiber *child;

	fiber_lock(&catalog);
	child = loop_spawn(parse_row, im, "row-%d", im->number);
	fiber_join(child); /* @join */
	fiber_unlock(&catalog);
}

static void start_imports(void *arg)
{
	static struct import imports[26];
	int i;

	(void)arg;
	for (i = 0; i < 26; i++) {
		imports[i] = (struct import){ i, i == 25 };
		loop_spawn(run_import, &imports[i], "import-%d", i);
		fiber_sleep(12);
	}
	for (;;)
		fiber_sleep(12); /* new files? */
}

int main(void)
{
	loop_spawn(start_imports, NULL, "watcher");
	loop_run(1700);
	return 0;
}
