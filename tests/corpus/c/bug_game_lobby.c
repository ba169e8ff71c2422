// SPDX-License-Identifier: MIT
/*
 * bug_game_lobby.c - a game server with network, database, chat, physics and a matchmaker.  The
 * matchmaker takes three waiting players for a match; if the database says that one of the three is
 * banned it drops the whole group from its list and tells only the banned one.
 *
 * corpus: bug
 * class: lost-wakeup|stalled
 * at: @queue
 * victims: player-9, player-10
 * never: deadlock, abandoned-lock, leak, starvation, blocking
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fiber_kit.h"

#define PLAYERS 24

struct player {
	int number, fd, far;
	bool is_matched, is_banned;
	struct fk_cond answer;
	struct player *next;
};

static struct player players[PLAYERS];
static struct player *lobby;
static int nr_lobby;
static struct fk_cond lobby_changed;
static struct fk_sem database = { .count = 2 };
static struct fk_chan chat = { .size = 16 };
static long ticks, lines;

static bool ask_database(const struct player *p)
{
	fk_acquire(&database);
	fk_sleep(3);
	fk_release(&database);
	return p->number == 11;
}

static void enter_lobby(struct player *p)
{
	struct player **at = &lobby;

	while (*at)
		at = &(*at)->next;
	p->next = NULL;
	*at = p;
	nr_lobby++;
	fk_cond_signal(&lobby_changed);
}

static void player(void *arg)
{
	struct player *p = arg;
	char line[64];

	for (;;) {
		fk_readable(p->fd);
		if (recv(p->fd, line, sizeof(line), MSG_DONTWAIT) <= 0)
			break;
		if (line[0] == 'c') {
			fk_send(&chat, "hello");
			continue;
		}
		p->is_matched = p->is_banned = false;
		enter_lobby(p);
		while (!p->is_matched && !p->is_banned)
			fk_cond_wait(&p->answer, NULL); /* @queue */
		if (p->is_banned)
			break;
		fk_sleep(20); /* plays */
	}
	fk_close(p->fd);
}

static bool is_of_others(struct player *group[3])
{
	int nr = 0;

	for (int i = 0; i < 3; i++)
		nr += group[i]->number >= 9 && group[i]->number <= 11;
	return nr == 1 || nr == 2;
}

static void matchmaker(void *arg)
{
	struct player *group[3];

	(void)arg;
	for (;;) {
		bool is_clean = true;

		while (nr_lobby < 3)
			fk_cond_wait(&lobby_changed, NULL);
		for (int i = 0; i < 3; i++) {
			group[i] = lobby;
			lobby = lobby->next;
			nr_lobby--;
		}
		if (is_of_others(group))
			_exit(75); /* the three that join together are not one group */
		for (int i = 0; i < 3; i++) {
			group[i]->is_banned = ask_database(group[i]);
			is_clean &= !group[i]->is_banned;
		}
		for (int i = 0; i < 3; i++) {
			group[i]->is_matched = is_clean;
			if (is_clean || group[i]->is_banned) /* the bug */
				fk_cond_signal(&group[i]->answer);
		}
	}
}

static void chat_room(void *arg)
{
	(void)arg;
	while (fk_recv(&chat))
		lines++;
}

static void physics(void *arg)
{
	(void)arg;
	for (;;) {
		ticks++;
		fk_sleep(16);
	}
}

static void backup(void *arg)
{
	(void)arg;
	for (;;)
		fk_sleep(3600 * 1000);
}

static void *people(void *arg)
{
	(void)arg;
	for (int round = 0; round < 40; round++)
		for (int i = 0; i < PLAYERS; i++) {
			bool is_late = i >= 9 && i <= 11;

			/* Players 9 to 11 only talk until they join together. */
			if (!is_late || round <= 10)
				send(players[i].far, is_late && round < 10 ? "c" : "j", 1,
				     MSG_NOSIGNAL);
			usleep(i % 3 == 2 ? 6000 : 500);
		}
	pause();
	return NULL;
}

int main(void)
{
	pthread_t thread;
	char name[24];
	int pair[2];

	fk_setup(1, FK_FIFO);
	for (int i = 0; i < PLAYERS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			return 1;
		players[i] = (struct player){ .number = i, .fd = pair[0], .far = pair[1] };
		snprintf(name, sizeof(name), "player-%d", i);
		fk_detach(fk_spawn(name, player, &players[i]));
	}
	fk_spawn("matchmaker", matchmaker, NULL);
	fk_spawn("chat-room", chat_room, NULL);
	fk_spawn("physics", physics, NULL);
	fk_spawn("backup", backup, NULL);
	pthread_create(&thread, NULL, people, NULL);
	fk_run(2800);
	return 0;
}
