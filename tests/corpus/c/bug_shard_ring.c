// SPDX-License-Identifier: MIT
/*
 * bug_shard_ring.c - five shards are rebalanced in pairs, each mover locks its own shard and then
 * the next one: after some good rounds all five hold one lock and wait for the neighbour's.
 *
 * corpus: bug
 * class: deadlock
 * at: @second
 * victims: mover-0, mover-1, mover-2, mover-3, mover-4
 * also: stats
 * never: lost-wakeup, abandoned-lock, leak
 */
#include <stdio.h>

#include "fiber_kit.h"

#define SHARDS 5

static struct fk_mutex shard[SHARDS];
static long keys[SHARDS];
static int round_of[SHARDS];

static void move_keys(int from, int to, int pause)
{
	fk_lock(&shard[from]);
	fk_sleep(pause);     /* reads the index of the shard */
	fk_lock(&shard[to]); /* @second */
	keys[from] -= 10;
	keys[to] += 10;
	fk_unlock(&shard[to]);
	fk_unlock(&shard[from]);
}

static void mover(void *arg)
{
	int me = (int)(long)arg;

	fk_sleep(20 * me);
	for (;;) {
		/* In the beginning they come one after the other; a slow disk brings them together.
		 */
		move_keys(me, (me + 1) % SHARDS, round_of[me]++ < 6 ? 3 : 140);
		fk_sleep(100);
	}
}

static void stats(void *arg)
{
	long sum;

	for (;;) {
		sum = 0;
		for (int i = 0; i < SHARDS; i++)
			sum += keys[i];
		*(long *)arg = sum;
		fk_sleep(50);
	}
}

int main(void)
{
	static long total;
	char name[16];

	fk_setup(1, FK_FIFO);
	for (long i = 0; i < SHARDS; i++) {
		snprintf(name, sizeof(name), "mover-%ld", i);
		fk_spawn(name, mover, (void *)i);
	}
	fk_spawn("stats", stats, &total);
	fk_run(3000);
	return 0;
}
