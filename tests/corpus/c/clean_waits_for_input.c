/* SPDX-License-Identifier: MIT */
/*
 * clean_waits_for_input.c - an editor: all fibers wait, one for a key, the others for what the key
 * may cause.  The user types, and then thinks.
 *
 * corpus: clean
 */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "loop_sync.h"

static int keys[2];
static struct fiber_chan commands = { .capacity = 4 }, redraws = { .capacity = 4 };
static int token;

static void read_keys(void *arg)
{
	char key;

	(void)arg;
	for (;;) {
		fiber_poll(keys[0], EPOLLIN);
		if (read(keys[0], &key, 1) == 1)
			fiber_send(&commands, &token);
	}
}

static void run_commands(void *arg)
{
	(void)arg;
	while (fiber_recv(&commands))
		fiber_send(&redraws, &token);
}

static void draw_screen(void *arg)
{
	(void)arg;
	while (fiber_recv(&redraws))
		;
}

/* Thirty keys with 17 ms between them, and a second and a half of thinking. */
static void *type_keys(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 30; i++) {
		nanosleep(&(struct timespec){ 0, 17000000 }, NULL);
		(void)!write(keys[1], "k", 1);
	}
	return NULL;
}

int main(void)
{
	pthread_t user;

	if (pipe(keys) != 0)
		abort();
	pthread_create(&user, NULL, type_keys, NULL);
	loop_spawn(read_keys, NULL, "keyboard");
	loop_spawn(run_commands, NULL, "commands");
	loop_spawn(draw_screen, NULL, "screen");
	loop_run(2100);
	return 0;
}
