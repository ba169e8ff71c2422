/* SPDX-License-Identifier: MIT */
/*
 * bug_epoll_removes_both.c - a reader and a writer of a connection share its entry in epoll; the
 * end of a write removes the entry, and the reader with it.
 *
 * corpus: bug
 * class: lost-wakeup
 * at: @stuck
 * victims: reader-4
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "loop_sync.h"

#define NR_CONNS 8

static int fds[NR_CONNS][2];

static void read_requests(void *arg)
{
	int number = (int)(intptr_t)arg;
	char data[64];

	for (;;) {
		fiber_poll(fds[number][0], EPOLLIN); /* @stuck */
		if (read(fds[number][0], data, sizeof(data)) == 0)
			return;
	}
}

/* A message from the server every 30 ms; one of them goes through the path with the mistake. */
static void write_messages(void *arg)
{
	int number = (int)(intptr_t)arg, i;

	for (i = 0;; i++) {
		fiber_sleep(30);
		fiber_poll(fds[number][0], EPOLLOUT);
		(void)!write(fds[number][0], "m", 1);
		if (number == 4 && i == 15)
			loop_forget(fds[number][0]);
	}
}

static void *run_clients(void *arg)
{
	char data[64];
	int i;

	(void)arg;
	for (;;) {
		for (i = 0; i < NR_CONNS; i++) {
			(void)!send(fds[i][1], "request", 7, MSG_DONTWAIT | MSG_NOSIGNAL);
			(void)!recv(fds[i][1], data, sizeof(data), MSG_DONTWAIT);
		}
		nanosleep(&(struct timespec){ 0, 7000000 }, NULL);
	}
	return NULL;
}

int main(void)
{
	pthread_t clients;
	intptr_t i;

	for (i = 0; i < NR_CONNS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds[i]) != 0)
			abort();
		loop_spawn(read_requests, (void *)i, "reader-%d", (int)i);
		loop_spawn(write_messages, (void *)i, "writer-%d", (int)i);
	}
	pthread_create(&clients, NULL, run_clients, NULL);
	loop_run(2200);
	return 0;
}
