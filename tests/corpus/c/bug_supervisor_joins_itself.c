// SPDX-License-Identifier: MIT
/*
 * bug_supervisor_joins_itself.c - at shutdown the supervisor joins every fiber of its group, and it
 * is a member of that group.
 *
 * corpus: bug
 * class: deadlock
 * at: @join
 * victims: supervisor
 * also: main
 * never: lost-wakeup, never-run
 */
#include <stdio.h>

#include "fiber_kit.h"

static struct fk_fiber *group[8];
static int nr_group;

static void worker(void *arg)
{
	for (int i = 0; i < 20 + (int)(long)arg; i++)
		fk_sleep(9);
}

static void supervisor(void *arg)
{
	char name[16];

	(void)arg;
	group[nr_group++] = fk_self();
	for (long i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "worker-%ld", i);
		group[nr_group++] = fk_spawn(name, worker, (void *)i);
	}
	for (int i = nr_group - 1; i >= 0; i--)
		fk_join(group[i]); /* @join */
}

static void main_fiber(void *arg)
{
	fk_join(fk_spawn("supervisor", supervisor, arg));
	fk_stop();
}

int main(void)
{
	fk_setup(2, FK_STEAL);
	fk_spawn("main", main_fiber, NULL);
	fk_run(2000);
	return 0;
}
