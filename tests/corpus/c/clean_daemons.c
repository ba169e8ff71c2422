/* SPDX-License-Identifier: MIT */
/*
 * clean_daemons.c - daemons with their own rhythm, and one that waits for a reload that never
 * comes, beside short jobs; the program leaves without them.
 *
 * corpus: clean
 */
#include "loop_sync.h"

static struct fiber_cond reload;

static void run_daemon(void *arg)
{
	for (;;)
		fiber_sleep((unsigned)(uintptr_t)arg);
}

static void wait_for_reload(void *arg)
{
	(void)arg;
	for (;;)
		fiber_cond_wait(&reload);
}

static void run_job(void *arg)
{
	fiber_sleep((unsigned)(uintptr_t)arg);
}

static void start_jobs(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 100; i++) {
		loop_spawn(run_job, (void *)(uintptr_t)(2 + i % 9), "job-%d", i);
		fiber_sleep(12);
	}
	fiber_sleep(400);
	loop_leave();
}

int main(void)
{
	loop_spawn(run_daemon, (void *)25, "heartbeat");
	loop_spawn(run_daemon, (void *)200, "statistics");
	loop_spawn(run_daemon, (void *)900, "rotation");
	loop_spawn(wait_for_reload, NULL, "reload");
	loop_spawn(start_jobs, NULL, "jobs");
	loop_run(2500);
	return 0;
}
