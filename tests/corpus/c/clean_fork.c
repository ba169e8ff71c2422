/* SPDX-License-Identifier: MIT */
/*
 * clean_fork.c - a server forks a child in the middle of its work; the child has coroutines of its
 * own and exits, while those of the parent exist in it as copies.
 *
 * corpus: clean
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loop_sync.h"

static void serve_requests(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 150; i++)
		fiber_sleep(8);
}

/* The child: a few coroutines without a loop. */
static void write_snapshot(void)
{
	struct corotracer_coro parts[4] = { 0 };
	int i, round;

	for (i = 0; i < 4; i++)
		corotracer_spawn(&parts[i], "part", NULL);
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 4; i++) {
			corotracer_resume(&parts[i]);
			corotracer_await(&parts[i], CTP_REASON_YIELD, 0);
		}
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
	}
	for (i = 0; i < 4; i++)
		corotracer_end(&parts[i]);
}

static void take_snapshots(void *arg)
{
	pid_t child;
	int i;

	(void)arg;
	for (i = 0; i < 3; i++) {
		fiber_sleep(150);
		child = fork();
		if (child == 0) {
			write_snapshot();
			_exit(0);
		}
		while (waitpid(child, NULL, WNOHANG) == 0)
			fiber_sleep(10);
	}
}

int main(void)
{
	int i;

	for (i = 0; i < 8; i++)
		loop_spawn(serve_requests, NULL, "server-%d", i);
	loop_spawn(take_snapshots, NULL, "snapshots");
	loop_run(3000);
	return 0;
}
