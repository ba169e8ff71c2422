/* SPDX-License-Identifier: MIT */
/*
 * bug_upgrade_ring.c - two readers of a lock both want to become its writer, and each waits until
 * the other one has stopped reading.
 *
 * corpus: bug
 * class: deadlock
 * at: @upgrade
 * victims: editor-0, editor-1
 */
#include "loop_sync.h"

static int nr_readers;
static struct fiber_cond reader_left;

static void document_open(void)
{
	nr_readers++;
	corotracer_acquired(&fiber_current()->trace, (uintptr_t)&nr_readers);
}

static void document_close(void)
{
	corotracer_released(&fiber_current()->trace, (uintptr_t)&nr_readers);
	nr_readers--;
	fiber_cond_broadcast(&reader_left);
}

#define document_upgrade() document_upgrade_at(COROTRACER_HERE)
static void document_upgrade_at(struct corotracer_site *site)
{
	while (nr_readers > 1)
		fiber_queue_wait(site, &reader_left.queue, CTP_REASON_MUTEX, &nr_readers);
}

/* Read for 3 ms; now and then there is something to change. */
static void edit_document(void *arg)
{
	int number = (int)(intptr_t)arg, i;

	for (i = 0;; i++) {
		fiber_sleep(number ? 7 : 5);
		document_open();
		fiber_sleep(3);
		/* Number 1 starts to edit later: until then upgrades of number 0 are served. */
		if (i % 5 == 4 && (number == 0 || i > 40))
			document_upgrade(); /* @upgrade */
		document_close();
	}
}

static void show_clock(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(10);
}

int main(void)
{
	int i;

	for (i = 0; i < 2; i++)
		loop_spawn(edit_document, (void *)(intptr_t)i, "editor-%d", i);
	loop_spawn(show_clock, NULL, "clock");
	loop_run(2400);
	return nr_readers == 2 ? 0 : 75;
}
