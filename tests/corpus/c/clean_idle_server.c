/* SPDX-License-Identifier: MIT */
/*
 * clean_idle_server.c - a server with an accept loop; a few clients come in the first half, and
 * then there is silence.
 *
 * corpus: clean
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop_sync.h"

static struct sockaddr_in address = { .sin_family = AF_INET };

static void serve_client(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char data[64];
	ssize_t n;

	for (;;) {
		n = read(fd, data, sizeof(data));
		if (n > 0)
			(void)!write(fd, data, (size_t)n);
		else if (n < 0 && errno == EAGAIN)
			fiber_poll(fd, EPOLLIN);
		else
			break;
	}
	corotracer_closing(&fiber_current()->trace, fd);
	close(fd);
}

static void accept_clients(void *arg)
{
	int listener = (int)(intptr_t)arg, fd, nr = 0;

	for (;;) {
		fiber_poll(listener, EPOLLIN);
		fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
		if (fd >= 0)
			loop_spawn(serve_client, (void *)(intptr_t)fd, "client-%d", nr++);
	}
}

/* A client of the same program: some requests, and goodbye. */
static void visit_server(void *arg)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), i;
	char data[64];

	(void)arg;
	(void)!connect(fd, (struct sockaddr *)&address, sizeof(address));
	fiber_poll(fd, EPOLLOUT);
	for (i = 0; i < 10; i++) {
		(void)!write(fd, "hello", 5);
		fiber_poll(fd, EPOLLIN);
		(void)!read(fd, data, sizeof(data));
		fiber_sleep(10);
	}
	corotracer_closing(&fiber_current()->trace, fd);
	close(fd);
}

int main(void)
{
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), i;
	socklen_t size = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(listener, 16) != 0)
		abort();
	getsockname(listener, (struct sockaddr *)&address, &size);
	loop_spawn(accept_clients, (void *)(intptr_t)listener, "acceptor");
	for (i = 0; i < 8; i++) {
		loop_spawn(visit_server, NULL, "visitor-%d", i);
		loop_run(60);
	}
	loop_run(1600);
	return 0;
}
