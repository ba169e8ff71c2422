/* SPDX-License-Identifier: MIT */
/*
 * bug_edge_not_drained.c - a server with edge-triggered epoll reads once per edge.  A client that
 * sends two requests at once gets one reply; the second request stays in the socket.
 *
 * corpus: bug
 * class: lost-wakeup
 * at: @stuck
 * victims: conn-5
 * never: closed-under-waiter
 */
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "edge_sched.h"

#define NR_CONNS 12
#define REQUEST  64

static struct edge_conn conns[NR_CONNS];
static int peers[NR_CONNS];

static bool serve_connection(struct edge_conn *c)
{
	char request[REQUEST];
	ssize_t n;

	EDGE_BEGIN(c);
	for (;;) {
		EDGE_WAIT(c); /* @stuck */
		n = read(c->fd, request, sizeof(request));
		if (n == 0)
			break;
		if (n > 0)
			(void)!write(c->fd, request, (size_t)n);
	}
	EDGE_END();
}

/* One client: a request every 10 ms; client 5 pipelines two of them, once. */
static void *run_client(void *arg)
{
	int number = (int)(intptr_t)arg, round;
	char data[2 * REQUEST] = { 0 };
	size_t n;

	for (round = 0;; round++) {
		n = number == 5 && round == 40 ? 2 * REQUEST : REQUEST;
		if (write(peers[number], data, n) != (ssize_t)n)
			return NULL;
		while (n > 0)
			n -= (size_t)read(peers[number], data, n);
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
	}
}

int main(void)
{
	pthread_t thread;
	int i, pair[2];

	for (i = 0; i < NR_CONNS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
			return 1;
		peers[i] = pair[1];
		edge_spawn(&conns[i], serve_connection, NULL, pair[0], "conn-%d", i);
		pthread_create(&thread, NULL, run_client, (void *)(intptr_t)i);
	}
	edge_run(2200);
	return 0;
}
