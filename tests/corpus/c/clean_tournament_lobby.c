// SPDX-License-Identifier: MIT
/*
 * clean_tournament_lobby.c - the lobby of a tournament: players wait in it for the next round, most
 * of them for most of the run; rounds come at unequal times, and the last one is still far away
 * when the server is stopped.  Two workers.
 *
 * corpus: clean
 * never: deadlock, abandoned-lock, leak, starvation, blocking, wake-before-suspend, wrong-thread
 */
#include <stdio.h>

#include "fiber_kit.h"

static struct fk_mutex table;
static struct fk_cond round_starts;
static int round_number;

static void player(void *arg)
{
	int seen = 0, me = (int)(long)arg;

	for (;;) {
		fk_lock(&table);
		while (seen == round_number)
			fk_cond_wait(&round_starts, &table);
		seen = round_number;
		fk_unlock(&table);
		fk_sleep(5 + me % 4);
	}
}

static void referee(void *arg)
{
	static const int pauses[] = { 30, 50, 40, 90, 60, 200, 80, 30, 250, 60, 120, 3600000 };

	(void)arg;
	for (int i = 0; i < 12; i++) {
		fk_sleep(pauses[i]);
		fk_lock(&table);
		round_number++;
		fk_cond_broadcast(&round_starts);
		fk_unlock(&table);
	}
}

static void scoreboard(void *arg)
{
	(void)arg;
	for (;;)
		fk_sleep(100);
}

int main(void)
{
	char name[24];

	fk_setup(2, FK_STEAL);
	for (long i = 0; i < 30; i++) {
		snprintf(name, sizeof(name), "player-%ld", i);
		fk_spawn(name, player, (void *)i);
	}
	fk_spawn("referee", referee, NULL);
	fk_spawn("scoreboard", scoreboard, NULL);
	fk_run(2800);
	return 0;
}
