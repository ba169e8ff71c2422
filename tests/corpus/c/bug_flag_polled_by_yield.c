// SPDX-License-Identifier: MIT
/*
 * bug_flag_polled_by_yield.c - a fiber waits for the end of a download by yielding until a flag is
 * set; the other fibers sleep most of the time, so the thread is busy with nothing.
 *
 * corpus: bug
 * class: busy-yield
 * at: @spin
 * victims: installer
 * never: lost-wakeup, starvation
 */
#include "fiber_kit.h"

static int is_downloaded;

static void installer(void *arg)
{
	(void)arg;
	while (!is_downloaded)
		fk_yield(); /* @spin */
	fk_sleep(100);
}

static void downloader(void *arg)
{
	(void)arg;
	for (int i = 0; i < 60; i++)
		fk_sleep(20);
	is_downloaded = 1;
}

static void spinner(void *arg)
{
	(void)arg;
	for (;;)
		fk_sleep(33);
}

int main(void)
{
	fk_setup(1, FK_FIFO);
	fk_spawn("installer", installer, NULL);
	fk_spawn("downloader", downloader, NULL);
	fk_spawn("spinner", spinner, NULL);
	fk_run(1800);
	return 0;
}
