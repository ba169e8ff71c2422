// SPDX-License-Identifier: MIT
/*
 * bug_log_fiber_per_line.c - a logger that spawns a fiber for every line; the disk takes one line
 * in four milliseconds, and lines come every two.  The fibers pile up.
 *
 * corpus: bug
 * class: leak|unbounded-spawn
 * at: @spawn|@wait
 * victims: line-*
 * never: deadlock, abandoned-lock
 */
#include <stdio.h>

#include "fiber_kit.h"

static struct fk_mutex disk;

static void write_line(void *arg)
{
	(void)arg;
	fk_lock(&disk); /* @wait */
	fk_sleep(4);
	fk_unlock(&disk);
}

static void service(void *arg)
{
	char name[24];

	(void)arg;
	for (int i = 0;; i++) {
		snprintf(name, sizeof(name), "line-%d", i);
		fk_detach(fk_spawn(name, write_line, NULL)); /* @spawn */
		fk_sleep(2);
	}
}

int main(void)
{
	fk_setup(1, FK_FIFO);
	fk_spawn("service", service, NULL);
	fk_run(2500);
	return 0;
}
