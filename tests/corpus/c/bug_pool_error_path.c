// SPDX-License-Identifier: MIT
/*
 * bug_pool_error_path.c - a pool of four database connections; a query that fails returns without
 * giving its connection back.  After the fourth failure every request waits.
 *
 * corpus: bug
 * class: abandoned-lock
 * at: @take
 * victims: request-*
 * never: deadlock, leak
 */
#include <stdio.h>

#include "fiber_kit.h"

static struct fk_sem connections = { .count = 4 };
static int nr_queries;

static int run_query(void)
{
	fk_sleep(8);
	return ++nr_queries % 9 == 0 ? -1 : 0;
}

static void request(void *arg)
{
	(void)arg;
	fk_acquire(&connections); /* @take */
	if (run_query() < 0)
		return; /* the bug: no fk_release() */
	fk_release(&connections);
}

static void front_end(void *arg)
{
	char name[24];

	(void)arg;
	for (int i = 0; i < 90; i++) {
		snprintf(name, sizeof(name), "request-%d", i);
		fk_detach(fk_spawn(name, request, NULL));
		fk_sleep(15);
	}
}

int main(void)
{
	fk_setup(1, FK_FIFO);
	fk_spawn("front-end", front_end, NULL);
	fk_run(2500);
	return 0;
}
