/* SPDX-License-Identifier: MIT */
/*
 * bug_closed_number_reused_epoll.c - a reaper closes a session that is too old; the next session
 * gets the same number, and the fiber of the old one waits for ever.
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
	loop_forget(fds[4][0]);
	close(fds[4][0]);
	close(fds[4][1]);
	fiber_sleep(50);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds[4]) != 0)
		abort();
	loop_spawn(serve_session, (void *)4, "session-%d", NR_SESSIONS);
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
