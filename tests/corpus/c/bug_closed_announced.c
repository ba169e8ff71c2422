/* SPDX-License-Identifier: MIT */
/*
 * bug_closed_announced.c - a reaper closes sessions that are too old, with corotracer_closing();
 * the fiber that waits for the descriptor is not told.
 *
 * corpus: bug
 * class: closed-under-waiter
 * at: @stuck
 * victims: session-4
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop_sync.h"

#define NR_SESSIONS 10

static int fds[NR_SESSIONS][2];

static void serve_session(void *arg)
{
	int fd = fds[(intptr_t)arg][0];
	char c;

	for (;;) {
		fiber_poll(fd, EPOLLIN); /* @stuck */
		if (read(fd, &c, 1) <= 0)
			return;
	}
}

static void send_traffic(void *arg)
{
	int i;

	(void)arg;
	for (;;) {
		for (i = 0; i < NR_SESSIONS; i++)
			(void)!send(fds[i][1], "x", 1, MSG_NOSIGNAL);
		fiber_sleep(12);
	}
}

static void reap_sessions(void *arg)
{
	(void)arg;
	fiber_sleep(400);
	corotracer_closing(&fiber_current()->trace, fds[4][0]);
	loop_forget(fds[4][0]);
	close(fds[4][0]);
}

int main(void)
{
	intptr_t i;

	for (i = 0; i < NR_SESSIONS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds[i]) != 0)
			abort();
		loop_spawn(serve_session, (void *)i, "session-%d", (int)i);
	}
	loop_spawn(send_traffic, NULL, "traffic");
	loop_spawn(reap_sessions, NULL, "reaper");
	loop_run(2000);
	return 0;
}
