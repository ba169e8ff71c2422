// SPDX-License-Identifier: MIT
/*
 * clean_chat_rooms.c - a chat server: 40 people connect, a few talk, most are silent for the rest
 * of the evening.  The server is stopped by SIGTERM and does not wait for anybody.
 *
 * corpus: clean
 * never: deadlock, abandoned-lock, closed-under-waiter, leak, starvation, blocking
 * signal: TERM 2.2
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fiber_kit.h"

static int port, fds[64], nr_people;
static sigset_t term;

static void person(void *arg)
{
	int fd = fds[(long)arg];
	char line[256];
	ssize_t n;

	for (;;) {
		fk_readable(fd);
		n = recv(fd, line, sizeof(line), MSG_DONTWAIT);
		if (n <= 0)
			break;
		for (int i = 0; i < nr_people; i++)
			if (i != (long)arg && fds[i] >= 0)
				send(fds[i], line, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	fds[(long)arg] = -1;
	fk_close(fd);
}

static void door(void *arg)
{
	char name[24];
	int fd;

	for (;;) {
		fk_acceptable(*(int *)arg);
		fd = accept(*(int *)arg, NULL, NULL);
		if (fd < 0)
			continue;
		fds[nr_people] = fd;
		snprintf(name, sizeof(name), "person-%d", nr_people);
		fk_detach(fk_spawn(name, person, (void *)(long)nr_people++));
	}
}

static void janitor(void *arg)
{
	(void)arg;
	for (;;)
		fk_sleep(60000);
}

static void stopper(void *arg)
{
	int fd = signalfd(-1, &term, SFD_NONBLOCK);

	(void)arg;
	fk_readable(fd);
	fk_stop();
}

static void *people(void *arg)
{
	int client[40];
	char text[512];

	(void)arg;
	for (int i = 0; i < 40; i++) {
		client[i] = fk_connect(port);
		usleep(8000);
	}
	for (int round = 0; round < 30; round++) {
		int who = round * 3 % 10;

		if (send(client[who], "hello everybody\n", 16, MSG_NOSIGNAL) < 0)
			return NULL;
		if (round == 20)
			close(client[39]);
		usleep(20000);
		for (int i = 0; i < 39; i++)
			while (recv(client[i], text, sizeof(text), MSG_DONTWAIT) > 0)
				;
	}
	pause();
	return NULL;
}

int main(void)
{
	pthread_t thread;
	int fd;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, NULL);
	fk_setup(1, FK_FIFO);
	fd = fk_listen(&port);
	fk_spawn("door", door, &fd);
	fk_spawn("janitor", janitor, NULL);
	fk_spawn("stopper", stopper, NULL);
	pthread_create(&thread, NULL, people, NULL);
	fk_run(20000);
	return 0;
}
