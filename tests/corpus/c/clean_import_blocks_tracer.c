// SPDX-License-Identifier: MIT
/*
 * clean_import_blocks_tracer.c - an import whose fibers yield after each of many small records;
 * with `--on-full block` the program waits for the collector from time to time.
 *
 * corpus: clean
 * never: blocking, never-yielded, starvation, deadlock
 * run: --on-full block
 */
#include <stdio.h>

#include "fiber_kit.h"

static struct fk_chan records = { .size = 48 };

static void reader(void *arg)
{
	for (long i = 1; i <= (long)arg; i++)
		fk_send(&records, (void *)i);
}

static void loader(void *arg)
{
	while (fk_recv(&records))
		if (++*(long *)arg % 2000 == 0)
			fk_sleep(2);
}

static void main_fiber(void *arg)
{
	struct fk_fiber *readers[3], *loaders[4];
	static long counts[4];
	char name[16];

	(void)arg;
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "loader-%d", i);
		loaders[i] = fk_spawn(name, loader, &counts[i]);
	}
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "reader-%d", i);
		readers[i] = fk_spawn(name, reader, (void *)60000L);
	}
	for (int i = 0; i < 3; i++)
		fk_join(readers[i]);
	fk_chan_close(&records);
	for (int i = 0; i < 4; i++)
		fk_join(loaders[i]);
}

int main(void)
{
	fk_setup(2, FK_STEAL);
	fk_detach(fk_spawn("main", main_fiber, NULL));
	fk_run(20000);
	return 0;
}
