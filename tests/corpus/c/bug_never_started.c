/* SPDX-License-Identifier: MIT */
/*
 * bug_never_started.c - at most three uploads run; one more waits in the backlog, which has one
 * place. The next one overwrites it: the fiber exists and is never started.
 *
 * corpus: bug
 * class: never-run
 * at: @spawn
 * victims: upload-6
 */
#include "loop_sync.h"

static struct fiber *backlog;
static int nr_running, nr_lost;

static void run_upload(void *arg)
{
	(void)arg;
	fiber_sleep(40);
	nr_running--;
	if (backlog) {
		nr_running++;
		fiber_unpark(backlog);
		backlog = NULL;
	}
}

static void accept_uploads(void *arg)
{
	struct fiber *f;
	int i;

	(void)arg;
	for (i = 0; i < 60; i++) {
		f = loop_create(run_upload, NULL, "upload-%d", i); /* @spawn */
		if (nr_running < 3) {
			nr_running++;
			fiber_unpark(f);
		} else {
			nr_lost += backlog != NULL;
			backlog = f;
		}
		/* One every 30 ms, except 4, 5, 6 and 7, which arrive together. */
		if (i < 4 || i > 6)
			fiber_sleep(30);
	}
}

int main(void)
{
	loop_spawn(accept_uploads, NULL, "acceptor");
	loop_run(1900);
	return nr_lost == 1 ? 0 : 75;
}
