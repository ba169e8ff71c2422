// SPDX-License-Identifier: MIT
/*
 * bug_cache_entry_left_locked.c - a page fault handler locks a cache entry; when the entry is stale
 * it returns early and leaves it locked.  The next ones that want this entry wait for ever, the
 * others go on.
 *
 * corpus: bug
 * class: abandoned-lock
 * at: @entry
 * victims: fault-*
 * never: deadlock, leak
 */
#include <stdio.h>

#include "fiber_kit.h"

static struct fk_mutex entries[8];
static int nr_faults;

static void fault(void *arg)
{
	int entry = (int)(long)arg;

	fk_lock(&entries[entry]); /* @entry */
	fk_sleep(2);
	if (entry == 6 && nr_faults > 60)
		return; /* stale: the bug */
	fk_unlock(&entries[entry]);
}

static void cpu(void *arg)
{
	char name[24];

	(void)arg;
	for (long i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "fault-%ld", i);
		nr_faults++;
		fk_detach(fk_spawn(name, fault, (void *)(i * 5 % 8)));
		fk_sleep(6);
	}
}

int main(void)
{
	fk_setup(2, FK_STEAL);
	fk_spawn("cpu", cpu, NULL);
	fk_run(2000);
	return 0;
}
