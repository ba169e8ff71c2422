/* SPDX-License-Identifier: MIT */
/*
 * bug_stuck_among_idle.c - twelve keep-alive connections have had their requests and are idle; the
 * thirteenth reads once per edge and waits with a request unread, and its client for the reply.
 *
 * No event shows which descriptor has unread bytes; the collector asks the kernel.
 *
 * corpus: bug
 * class: lost-wakeup
 * at: @stuck|@reply
 * victims: conn-12
 * also: client-12
 */
#include <sys/socket.h>
#include <unistd.h>

#include "edge_sched.h"

#define NR_CONNS 13
#define REQUEST  32

static struct edge_conn conns[NR_CONNS], clients[NR_CONNS];

static bool serve_connection(struct edge_conn *c)
{
	char request[REQUEST];
	ssize_t n;

	EDGE_BEGIN(c);
	for (;;) {
		EDGE_WAIT(c); /* @stuck */
		n = read(c->fd, request, sizeof(request));
		if (n > 0)
			(void)!write(c->fd, request, (size_t)n);
	}
	EDGE_END();
}

struct client {
	int round;
	size_t nr_expected; /* bytes of replies */
};

static struct client states[NR_CONNS];

/* Eight requests, then nothing; the last client sends its last two at once. */
static bool send_requests(struct edge_conn *c)
{
	struct client *s = c->arg;
	char data[2 * REQUEST] = { 0 };
	ssize_t n;

	EDGE_BEGIN(c);
	for (s->round = 0; s->round < 8; s->round++) {
		s->nr_expected = s == &states[NR_CONNS - 1] && s->round == 7 ? 2 * REQUEST
									     : REQUEST;
		(void)!write(c->fd, data, s->nr_expected);
		while (s->nr_expected > 0) {
			EDGE_WAIT(c); /* @reply */
			while ((n = read(c->fd, data, sizeof(data))) > 0)
				s->nr_expected -= (size_t)n;
		}
	}
	EDGE_WAIT(c); /* until the server says goodbye */
	EDGE_END();
}

int main(void)
{
	int i, pair[2];

	for (i = 0; i < NR_CONNS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
			return 1;
		edge_spawn(&conns[i], serve_connection, NULL, pair[0], "conn-%d", i);
		edge_spawn(&clients[i], send_requests, &states[i], pair[1], "client-%d", i);
		edge_run(40);
	}
	edge_run(1600);
	return 0;
}
