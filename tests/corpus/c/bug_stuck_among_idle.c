/* SPDX-License-Identifier: MIT */
/*
 * bug_stuck_among_idle.c - twelve keep-alive connections have had their requests and are idle; the
 * thirteenth reads once per edge and waits with a request unread, and its client for the reply.
 *
 * corpus: bug
 * class: lost-wakeup
 * at: @stuck
 * victims: conn-12
 * also: client-12
 */
#include <sys/socket.h>
#include <unistd.h>

#include "edge_sched.h"

#define NR_CONNS 13
#define REQUEST  32

static struct edge_conn conns[NR_CONNS], clients[NR_CONNS];
static int nr_rounds[NR_CONNS];

static bool serve_connection(struct edge_conn *c)
{
	char request[REQUEST];
	ssize_t n;

	EDGE_BEGIN(c);
	for (;;) {
		EDGE_WAIT(c, EPOLLIN); /* @stuck */
		n = read(c->fd, request, sizeof(request));
		if (n > 0)
			(void)!write(c->fd, request, (size_t)n);
	}
	EDGE_END();
}

/* Eight requests, then nothing; the last client sends its last two at once. */
static bool send_requests(struct edge_conn *c)
{
	int *round = c->arg;
	char data[2 * REQUEST] = { 0 };
	size_t n;

	EDGE_BEGIN(c);
	for (*round = 0; *round < 8; ++*round) {
		n = c == &clients[NR_CONNS - 1] && *round == 7 ? 2 * REQUEST : REQUEST;
		(void)!write(c->fd, data, n);
		EDGE_WAIT(c, EPOLLIN);
		while (read(c->fd, data, sizeof(data)) > 0)
			;
	}
	EDGE_WAIT(c, EPOLLIN); /* for the second reply, or until the server says goodbye */
	EDGE_END();
}

int main(void)
{
	int i, pair[2];

	for (i = 0; i < NR_CONNS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
			return 1;
		edge_spawn(&conns[i], serve_connection, NULL, pair[0], "conn-%d", i);
		edge_spawn(&clients[i], send_requests, &nr_rounds[i], pair[1], "client-%d", i);
	}
	edge_run(2200);
	return 0;
}
