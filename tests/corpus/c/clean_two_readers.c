/* SPDX-License-Identifier: MIT */
/*
 * clean_two_readers.c - two fibers read from one descriptor, which is legal; one more joins them
 * later.
 *
 * corpus: clean
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop_sync.h"

static int fds[2];

static void read_packets(void *arg)
{
	char packet[16];

	(void)arg;
	for (;;) {
		if (read(fds[0], packet, sizeof(packet)) <= 0)
			fiber_poll(fds[0], EPOLLIN);
	}
}

static void send_packets(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 60; i++) {
		(void)!write(fds[1], "packet", 6);
		fiber_sleep(8);
		if (i == 30)
			loop_spawn(read_packets, NULL, "reader-late");
	}
}

int main(void)
{
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, fds) != 0)
		abort();
	loop_spawn(read_packets, NULL, "reader-a");
	loop_spawn(read_packets, NULL, "reader-b");
	loop_spawn(send_packets, NULL, "sender");
	loop_run(1900);
	return 0;
}
