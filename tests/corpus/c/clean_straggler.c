/* SPDX-License-Identifier: MIT */
/*
 * clean_straggler.c - of a hundred downloads ninety-nine are short; one is large, makes slow
 * progress, and is not finished when the program ends.
 *
 * corpus: clean
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop_sync.h"

struct download {
	int fds[2];
	int nr_chunks;
	unsigned pause_ms;
};

static void send_chunks(void *arg)
{
	struct download *d = arg;
	int i;

	for (i = 0; i < d->nr_chunks; i++) {
		(void)!write(d->fds[1], "chunk", 5);
		fiber_sleep(d->pause_ms);
	}
	close(d->fds[1]);
}

static void read_chunks(void *arg)
{
	struct download *d = arg;
	char data[64];
	ssize_t n;

	do {
		n = read(d->fds[0], data, sizeof(data));
		if (n < 0 && errno == EAGAIN)
			fiber_poll(d->fds[0], EPOLLIN);
	} while (n != 0);
	close(d->fds[0]);
}

static void start_downloads(void *arg)
{
	static struct download downloads[100];
	int i;

	(void)arg;
	for (i = 0; i < 100; i++) {
		struct download *d = &downloads[i];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, d->fds) != 0)
			abort();
		d->nr_chunks = i == 20 ? 100 : 3;
		d->pause_ms = i == 20 ? 350 : 4;
		loop_spawn(send_chunks, d, "server-%d", i);
		loop_spawn(read_chunks, d, "download-%d", i);
		fiber_sleep(14);
	}
}

int main(void)
{
	loop_spawn(start_downloads, NULL, "source");
	loop_run(2300);
	return 0;
}
