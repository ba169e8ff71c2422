/* SPDX-License-Identifier: MIT */
/*
 * clean_silent_users.c - users arrive all the time, say hello, and are silent: they read.
 *
 * corpus: clean
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop_sync.h"

static void serve_user(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char c;

	do {
		fiber_poll(fd, EPOLLIN);
	} while (read(fd, &c, 1) == 1);
	close(fd);
}

static void let_users_arrive(void *arg)
{
	int i, pair[2];

	(void)arg;
	for (i = 0; i < 120; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0)
			abort();
		loop_spawn(serve_user, (void *)(intptr_t)pair[0], "user-%d", i);
		(void)!write(pair[1], "h", 1);
		fiber_sleep(15);
	}
}

int main(void)
{
	loop_spawn(let_users_arrive, NULL, "door");
	loop_run(2000);
	return 0;
}
