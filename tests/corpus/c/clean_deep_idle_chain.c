/* SPDX-License-Identifier: MIT */
/*
 * clean_deep_idle_chain.c - each session is a chain of fibers in which each waits for the next; the
 * last one waits for a peer that has nothing to say.
 *
 * corpus: clean
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop_sync.h"

#define NR_SESSIONS 5
#define DEPTH       12

static int fds[NR_SESSIONS][2];

struct layer {
	int session, depth;
};

static void run_layer(void *arg)
{
	struct layer *l = arg, below = { l->session, l->depth + 1 };
	char c;

	if (l->depth < DEPTH) {
		fiber_join(loop_spawn(run_layer, &below, "layer-%d-%d", l->session, l->depth + 1));
		return;
	}
	do {
		fiber_poll(fds[l->session][0], EPOLLIN);
	} while (read(fds[l->session][0], &c, 1) == 1);
}

static void run_session(void *arg)
{
	struct layer top = { (int)(intptr_t)arg, 0 };

	run_layer(&top);
}

/* The first two sessions talk for a while, and one of them ends. */
static void talk_to_sessions(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 40; i++) {
		(void)!write(fds[i % 2][1], "x", 1);
		fiber_sleep(15);
	}
	close(fds[0][1]);
}

int main(void)
{
	int i;

	for (i = 0; i < NR_SESSIONS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds[i]) != 0)
			abort();
		loop_spawn(run_session, (void *)(intptr_t)i, "session-%d", i);
	}
	loop_spawn(talk_to_sessions, NULL, "talker");
	loop_run(2100);
	return 0;
}
