// SPDX-License-Identifier: MIT
/*
 * bug_stack_order_ready.c - the ready queue is a stack.  Some of a crawler's fetchers and parsers
 * keep making each other ready, and those at the bottom of the stack wait for a second at a time.
 *
 * corpus: bug
 * class: unfair-order|starvation
 * at: @link|@page
 * victims: fetcher-*, parser-*
 * never: lost-wakeup, deadlock
 */
#include <stdio.h>

#include "fiber_kit.h"

static volatile unsigned sink;
static struct fk_chan pages = { .size = 32 };
static struct fk_chan links = { .size = 32 };

static void burn_us(int us)
{
	uint64_t end = fk_now_ns() + (uint64_t)us * 1000u;

	while (fk_now_ns() < end)
		sink++;
}

static void fetcher(void *arg)
{
	for (;;) {
		fk_send(&pages, fk_recv(&links)); /* @link */
		burn_us((int)(long)arg);
	}
}

static void parser(void *arg)
{
	void *page;

	while ((page = fk_recv(&pages))) { /* @page */
		burn_us((int)(long)arg);
		fk_send(&links, page);
	}
}

static void robots(void *arg)
{
	(void)arg;
	for (;;)
		fk_sleep(60);
}

static void seed(void *arg)
{
	(void)arg;
	fk_sleep(400);
	for (long i = 1; i <= 6; i++)
		fk_send(&links, (void *)i);
}

int main(void)
{
	char name[24];

	fk_setup(1, FK_LIFO);
	fk_spawn("robots", robots, NULL);
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "fetcher-%d", i);
		fk_spawn(name, fetcher, (void *)200L);
		snprintf(name, sizeof(name), "parser-%d", i);
		fk_spawn(name, parser, (void *)300L);
	}
	fk_spawn("seed", seed, NULL);
	fk_run(2500);
	return 0;
}
