// SPDX-License-Identifier: MIT
/*
 * clean_requests_with_deadline.c - requests to a slow peer have a deadline; the watchdog cancels
 * fibers that miss it, the reads have a limit of their own.  Nothing is left behind.
 *
 * corpus: clean
 * never: deadlock, lost-wakeup, leak, closed-under-waiter, destroyed-suspended
 */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fiber_kit.h"

static int peer[2];
static int nr_answers, nr_late;

static void request(void *arg)
{
	char byte;

	(void)arg;
	if (fk_readable_for(peer[0], 10)) {
		if (recv(peer[0], &byte, 1, MSG_DONTWAIT) == 1)
			nr_answers++;
	} else {
		nr_late++;
	}
}

static void slow_peer(void *arg)
{
	(void)arg;
	for (int i = 0; i < 60; i++) {
		fk_sleep(25);
		if (send(peer[1], "a", 1, MSG_NOSIGNAL) < 0)
			return;
	}
}

static void stuck_request(void *arg)
{
	fk_park(CTP_REASON_USER, arg);
}

static void watchdog(void *arg)
{
	struct fk_fiber *f;
	char name[24];

	(void)arg;
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "request-%d", i);
		fk_join(fk_spawn(name, request, NULL));
		f = fk_spawn("doomed", stuck_request, NULL);
		fk_sleep(20);
		fk_cancel(f);
	}
}

int main(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, peer))
		return 1;
	fk_setup(1, FK_FIFO);
	fk_detach(fk_spawn("slow-peer", slow_peer, NULL));
	fk_detach(fk_spawn("watchdog", watchdog, NULL));
	fk_run(5000);
	return 0;
}
