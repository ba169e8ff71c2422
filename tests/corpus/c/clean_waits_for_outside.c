/* SPDX-License-Identifier: MIT */
/*
 * clean_waits_for_outside.c - a client waits for a slow server in another process: it is the only
 * coroutine that waits there, and its first reply comes at the end.
 *
 * corpus: clean
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loop_sync.h"

static int fds[2];

static void ask_server(void *arg)
{
	char reply[16];

	(void)arg;
	(void)!write(fds[0], "question", 8);
	fiber_poll(fds[0], EPOLLIN);
	(void)!read(fds[0], reply, sizeof(reply));
	loop_leave();
}

static void draw_progress(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(20);
}

/* The other process: thinks for 1.4 s. */
static void answer_question(void)
{
	char question[16];

	(void)!read(fds[1], question, sizeof(question));
	nanosleep(&(struct timespec){ 1, 400000000 }, NULL);
	(void)!write(fds[1], "42", 2);
	_exit(0);
}

int main(void)
{
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
		abort();
	child = fork();
	if (child == 0)
		answer_question();
	close(fds[1]);
	loop_spawn(draw_progress, NULL, "progress");
	loop_spawn(ask_server, NULL, "client");
	loop_run(10000);
	waitpid(child, NULL, 0);
	return 0;
}
