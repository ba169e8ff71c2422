/* SPDX-License-Identifier: MIT */
/*
 * bug_epoll_wrong_mask.c - an upload that fills the socket waits for EPOLLIN, where it should wait
 * for EPOLLOUT; the receiver never sends anything.
 *
 * corpus: bug
 * class: lost-wakeup
 * at: @stuck
 * victims: upload-3
 * also: download-3
 * never: deadlock
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop_sync.h"

struct upload {
	int fd, peer;
	size_t size;
};

static void receive_all(void *arg)
{
	struct upload *u = arg;
	static char data[4096];
	ssize_t n;

	for (;;) {
		n = read(u->peer, data, sizeof(data));
		if (n == 0)
			break;
		if (n < 0)
			fiber_poll(u->peer, EPOLLIN);
		fiber_sleep(1);
	}
	close(u->peer);
}

static void send_all(void *arg)
{
	struct upload *u = arg;
	static const char data[4096];
	size_t left = u->size;
	ssize_t n;

	while (left > 0) {
		n = write(u->fd, data, left < sizeof(data) ? left : sizeof(data));
		if (n > 0)
			left -= (size_t)n;
		else if (errno == EAGAIN)
			fiber_poll(u->fd, EPOLLIN); /* @stuck */
		else
			break;
	}
	close(u->fd);
}

static void start_uploads(void *arg)
{
	static struct upload uploads[30];
	int i, pair[2];

	(void)arg;
	for (i = 0; i < 30; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0)
			abort();
		/* The others fit into the socket's buffer. */
		uploads[i] = (struct upload){ pair[0], pair[1], i == 3 ? 900000 : 20000 };
		loop_spawn(receive_all, &uploads[i], "download-%d", i);
		loop_spawn(send_all, &uploads[i], "upload-%d", i);
		fiber_sleep(40);
	}
}

int main(void)
{
	loop_spawn(start_uploads, NULL, "starter");
	loop_run(2000);
	return 0;
}
