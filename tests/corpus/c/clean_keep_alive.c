/* SPDX-License-Identifier: MIT */
/*
 * clean_keep_alive.c - sixteen connections with a few requests each, at different times; between
 * and after them the connections are kept alive and idle.
 *
 * corpus: clean
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "edge_sched.h"

#define NR_CONNS 16

static struct edge_conn conns[NR_CONNS];
static int peers[NR_CONNS];

static bool serve_connection(struct edge_conn *c)
{
	char data[256];
	ssize_t n;

	EDGE_BEGIN(c);
	for (;;) {
		EDGE_WAIT(c);
		while ((n = read(c->fd, data, sizeof(data))) > 0)
			(void)!write(c->fd, data, (size_t)n);
		if (n == 0)
			break;
	}
	EDGE_END();
}

/* Requests of all clients in the first 0.8 s: the first has one, the last has sixteen. */
static void *send_requests(void *arg)
{
	char data[256];
	int i, round;

	(void)arg;
	for (round = 0; round < NR_CONNS; round++) {
		for (i = round; i < NR_CONNS; i++) {
			(void)!write(peers[i], "request", 7);
			(void)!read(peers[i], data, sizeof(data));
		}
		nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;
	int i, pair[2];

	for (i = 0; i < NR_CONNS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
			abort();
		peers[i] = pair[1];
		edge_spawn(&conns[i], serve_connection, NULL, pair[0], "conn-%d", i);
	}
	pthread_create(&thread, NULL, send_requests, NULL);
	edge_run(2300);
	return 0;
}
