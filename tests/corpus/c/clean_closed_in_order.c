/* SPDX-License-Identifier: MIT */
/*
 * clean_closed_in_order.c - connections come and go all the time: the number of a closed descriptor
 * is the number of the next connection.  A fiber that waits is woken before its descriptor is
 * closed.
 *
 * corpus: clean
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop_sync.h"

static void serve_connection(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char c;

	do {
		fiber_poll(fd, EPOLLIN);
	} while (read(fd, &c, 1) == 1);
	corotracer_closing(&fiber_current()->trace, fd);
	close(fd);
}

/* The other end closes: the server reads the end of the stream. */
static void run_client(void *arg)
{
	int fd = (int)(intptr_t)arg, i;

	for (i = 0; i < 5; i++) {
		(void)!write(fd, "x", 1);
		fiber_sleep(4);
	}
	close(fd);
}

static void open_connections(void *arg)
{
	int i, pair[2];

	(void)arg;
	for (i = 0; i < 180; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0)
			abort();
		loop_spawn(serve_connection, (void *)(intptr_t)pair[0], "conn-%d", i);
		loop_spawn(run_client, (void *)(intptr_t)pair[1], "client-%d", i);
		fiber_sleep(8);
	}
}

int main(void)
{
	loop_spawn(open_connections, NULL, "source");
	loop_run(2500);
	return 0;
}
