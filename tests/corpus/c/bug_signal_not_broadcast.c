/* SPDX-License-Identifier: MIT */
/*
 * bug_signal_not_broadcast.c - a new version is announced to five listeners with broadcast, and the
 * end of the stream with signal: one of them hears it.
 *
 * corpus: bug
 * class: lost-wakeup
 * at: @stuck
 * victims: listener-1, listener-2, listener-3, listener-4
 */
#include "loop_sync.h"

static struct fiber_cond changed;
static bool is_over;

static void listen_for_versions(void *arg)
{
	(void)arg;
	while (!is_over)
		fiber_cond_wait(&changed); /* @stuck */
}

static void publish_versions(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 30; i++) {
		fiber_sleep(15);
		fiber_cond_broadcast(&changed);
	}
	fiber_sleep(15);
	is_over = true;
	fiber_cond_signal(&changed);
}

static void serve_pages(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(12);
}

int main(void)
{
	int i;

	for (i = 0; i < 5; i++)
		loop_spawn(listen_for_versions, NULL, "listener-%d", i);
	loop_spawn(publish_versions, NULL, "publisher");
	for (i = 0; i < 4; i++)
		loop_spawn(serve_pages, NULL, "page-%d", i);
	loop_run(2100);
	return 0;
}
