// SPDX-License-Identifier: MIT
/*
 * bug_config_read_twice.c - a request holds the read lock of the configuration, and a helper of it
 * takes the read lock again.  That is harmless until the reloader waits for the write lock in
 * between: the second read waits behind the writer, and the writer waits for the first read.
 *
 * corpus: bug
 * class: deadlock
 * at: @again|@write
 * victims: reloader, request-*
 * never: abandoned-lock, lost-wakeup
 */
#include <stdio.h>

#include "fiber_kit.h"

static struct fk_rwlock config;

static void look_up(void)
{
	fk_rdlock(&config); /* @again */
	fk_sleep(1);
	fk_rwunlock(&config);
}

static void request(void *arg)
{
	(void)arg;
	fk_rdlock(&config); /* @again */
	fk_sleep(12);
	look_up();
	fk_rwunlock(&config);
}

static void reloader(void *arg)
{
	(void)arg;
	for (;;) {
		fk_sleep(350);
		fk_wrlock(&config); /* @write */
		fk_sleep(3);
		fk_rwunlock(&config);
	}
}

static void listener(void *arg)
{
	char name[24];

	(void)arg;
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "request-%d", i);
		fk_detach(fk_spawn(name, request, NULL));
		fk_sleep(10);
	}
}

static void heartbeat(void *arg)
{
	(void)arg;
	for (;;)
		fk_sleep(100);
}

int main(void)
{
	fk_setup(1, FK_FIFO);
	fk_spawn("listener", listener, NULL);
	fk_spawn("reloader", reloader, NULL);
	fk_spawn("heartbeat", heartbeat, NULL);
	fk_run(2500);
	return 0;
}
