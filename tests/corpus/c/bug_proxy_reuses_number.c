// SPDX-License-Identifier: MIT
/*
 * bug_proxy_reuses_number.c - a proxy closes the socket of a session whose user logged out, without
 * a word to the fiber that reads from it.  The next client gets the same number and is served.
 *
 * corpus: bug
 * class: closed-under-waiter
 * at: @read
 * victims: session-3
 * also: session-*
 * never: leak, deadlock
 */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fiber_kit.h"

struct session {
	int fd, number;
};

static struct session sessions[16];
static int nr_sessions, port;

static void serve(void *arg)
{
	struct session *s = arg;
	char line[128];
	ssize_t n;

	for (;;) {
		fk_readable(s->fd); /* @read */
		n = recv(s->fd, line, sizeof(line), 0);
		if (n <= 0)
			break;
		if (send(s->fd, line, (size_t)n, 0) < 0)
			break;
	}
	fk_close(s->fd);
}

static void acceptor(void *arg)
{
	int fd = *(int *)arg, client;
	char name[24];

	for (;;) {
		fk_acceptable(fd);
		client = accept(fd, NULL, NULL);
		if (client < 0)
			continue;
		struct session *s = &sessions[nr_sessions];

		s->fd = client;
		s->number = nr_sessions++;
		snprintf(name, sizeof(name), "session-%d", s->number);
		fk_detach(fk_spawn(name, serve, s));
	}
}

/* An administrator logs user 3 out. */
static void console(void *arg)
{
	(void)arg;
	fk_sleep(600);
	close(sessions[3].fd); /* the bug: serve() still waits for it */
	for (;;)
		fk_sleep(250);
}

static void talk(int fd, int times)
{
	char answer[64];

	for (int i = 0; i < times; i++) {
		if (send(fd, "status", 6, MSG_NOSIGNAL) < 0 ||
		    recv(fd, answer, sizeof(answer), 0) <= 0)
			return;
		usleep(9000);
	}
}

/* In a process of their own. */
static void users(void)
{
	int fd[5], late;

	for (int i = 0; i < 5; i++)
		fd[i] = fk_connect(port);
	for (int i = 0; i < 5; i++)
		talk(fd[i], 10);
	usleep(400000);
	late = fk_connect(port);
	talk(late, 40);
	close(late);
	for (int i = 0; i < 5; i++)
		if (i != 3)
			talk(fd[i], 5);
	pause();
}

int main(void)
{
	int fd = fk_listen(&port);
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		users();
		_exit(0);
	}
	fk_setup(1, FK_FIFO);
	fk_spawn("acceptor", acceptor, &fd);
	fk_spawn("console", console, NULL);
	fk_run(2500);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}
