/* SPDX-License-Identifier: MIT */
/*
 * test_pool.c - a unit of a pool has one owner at a time, and no unit is lost.
 *
 * The race runs until every thread has taken often enough and units have changed
 * owners: a race without contention proves nothing.  A unit's content is written by
 * plain stores, so that ThreadSanitizer sees whether taking comes after giving (ctp-J).
 */
#include <corotracer/pool.h>

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>

#include "check.h"

#define UNIT 64u
#define MOST 64u

struct unit {
	uint32_t link;
	uint32_t owner; /* [shared] 0: free */
	uint64_t value; /* plain: the owner's */
	uint64_t last;  /* plain: the last owner, 1 + number */
	uint8_t rest[UNIT - 24];
};

static struct unit units[MOST] __attribute__((aligned(64)));
static struct ctp_pool pool;
static struct ctp_arena arena;
static uint32_t nr_grown;

static void open_pool(uint32_t limit, uint32_t committed)
{
	memset(units, 0, sizeof(units));
	memset(&pool, 0, sizeof(pool));
	pool.limit = limit;
	pool.unit = UNIT;
	pool.committed = committed;
	arena = (struct ctp_arena){ &pool, (char *)units, UNIT, limit };
	nr_grown = 0;
}

/* Commits memory for two more units at a time. */
static int grow(void *ctx, struct ctp_arena *a)
{
	/* (ctp-K) pairs with the release in ctp_pool_committed(). */
	uint32_t before = ctp_load_acquire(&a->pool->committed);

	(void)ctx;
	if (before >= a->limit)
		return 0;
	ctp_pool_committed(a->pool, before, before + 2);
	ctp_fetch_add_relaxed(&nr_grown, 1u);
	return 1;
}

static int no_memory(void *ctx, struct ctp_arena *a)
{
	(void)ctx;
	(void)a;
	return 0;
}

/* ---- one thread ------------------------------------------------------------------ */

static void all_units_are_had_once_and_then_none(void)
{
	bool had[8] = { false };
	uint32_t i;

	open_pool(8, 2);
	for (i = 0; i < 8; i++) {
		uint32_t number = ctp_pool_take(&arena, grow, NULL);

		CHECK(number >= 1 && number <= 8);
		CHECK(!had[number - 1]);
		had[number - 1] = true;
	}
	CHECK_EQ(nr_grown, 3);
	CHECK_EQ(ctp_pool_take(&arena, grow, NULL), 0);
	CHECK_EQ(ctp_pool_take(&arena, grow, NULL), 0);
	CHECK_EQ(pool.refused, 2);
	CHECK_EQ(pool.used, 8);
}

static void what_was_given_back_last_is_had_first(void)
{
	uint32_t a, b, c;

	open_pool(8, 8);
	a = ctp_pool_take(&arena, grow, NULL);
	b = ctp_pool_take(&arena, grow, NULL);
	c = ctp_pool_take(&arena, grow, NULL);
	ctp_pool_give(&arena, a - 1);
	ctp_pool_give(&arena, c - 1);
	CHECK_EQ(ctp_pool_take(&arena, grow, NULL), c);
	CHECK_EQ(ctp_pool_take(&arena, grow, NULL), a);
	CHECK_EQ(ctp_pool_take(&arena, grow, NULL), 4);
	CHECK(b != a && b != c);
	CHECK_EQ(pool.refused, 0);
}

static void without_memory_what_there_is_is_used(void)
{
	uint32_t a;

	open_pool(8, 1);
	a = ctp_pool_take(&arena, no_memory, NULL);
	CHECK_EQ(a, 1);
	CHECK_EQ(ctp_pool_take(&arena, no_memory, NULL), 0);
	CHECK_EQ(pool.refused, 1);
	CHECK_EQ(pool.used, 1);
	ctp_pool_give(&arena, a - 1);
	CHECK_EQ(ctp_pool_take(&arena, no_memory, NULL), 1);
}

/* The tag distinguishes a top from the same unit on top again. */
static void every_step_changes_the_tag(void)
{
	uint64_t seen[6];
	uint32_t i, j, number = 0;

	open_pool(8, 8);
	for (i = 0; i < 6; i++) {
		if (i % 2)
			ctp_pool_give(&arena, number - 1);
		else
			number = ctp_pool_take(&arena, grow, NULL);
		seen[i] = pool.free;
	}
	for (i = 1; i < 6; i++)
		for (j = 1; j < i; j++)
			CHECK(seen[i] != seen[j]);
	/* Even when it wraps. */
	pool.free = UINT64_C(0xffffffff) << 32;
	ctp_pool_give(&arena, 3);
	CHECK(pool.free == 4);
}

/* ---- corrupt pools ----------------------------------------------------------------- */

static void numbers_beyond_the_pool_are_not_followed(void)
{
	uint32_t number;

	open_pool(8, 8);
	pool.free = 9;
	CHECK_EQ(ctp_pool_take(&arena, grow, NULL), 1); /* from the end of the pool */
	pool.free = UINT64_MAX;
	CHECK_EQ(ctp_pool_take(&arena, grow, NULL), 2);
	/* A link that leads outside: the pop returns the unit itself, and then nothing. */
	pool.free = 5;
	units[4].link = 0xdeadbeef;
	number = ctp_pool_take(&arena, grow, NULL);
	CHECK_EQ(number, 5);
	CHECK_EQ(ctp_pool_take(&arena, grow, NULL), 3);
	pool.used = UINT32_MAX;
	CHECK_EQ(ctp_pool_take(&arena, grow, NULL), 0);
	pool.used = 8;
	pool.committed = UINT32_MAX;
	CHECK_EQ(ctp_pool_take(&arena, grow, NULL), 0);
	/* The limit in shared memory is not read again. */
	pool.limit = UINT32_MAX;
	CHECK_EQ(ctp_pool_take(&arena, grow, NULL), 0);
}

static void a_stack_that_bites_its_tail_ends_nowhere_but_ends(void)
{
	uint32_t i;

	open_pool(8, 8);
	pool.free = 3;
	units[2].link = 3;
	for (i = 0; i < 100; i++)
		CHECK_EQ(ctp_pool_take(&arena, grow, NULL), 3);
}

/* ---- many threads -------------------------------------------------------------------- */

#ifdef __SANITIZE_THREAD__ /* finds a race that happens once */
enum { ENOUGH = 30000 };
#else
enum { ENOUGH = 150000 };
#endif
enum { NR_THREADS = 4, ENOUGH_CHANGED = 1000, HELD_MOST = 5 };

static struct racer {
	pthread_t thread;
	uint64_t nr; /* from 1 */
	uint64_t takes, refused, changed_hands;
	uint32_t held[HELD_MOST], nr_held;
	uint64_t state;
} racers[NR_THREADS];

static uint32_t stop;

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void take_one(struct racer *r)
{
	uint32_t number = ctp_pool_take(&arena, grow, NULL);
	struct unit *u;

	if (!number) {
		r->refused++;
		return;
	}
	CHECK(number <= arena.limit && number <= ctp_load_relaxed(&pool.committed));
	u = &units[number - 1];
	/* No other thread owns it. */
	CHECK(ctp_cas_relaxed(&u->owner, 0u, (uint32_t)r->nr));
	if (u->last) {
		CHECK(u->value == ~u->last);
		r->changed_hands += u->last != r->nr;
	}
	u->last = r->nr;
	u->value = ~r->nr;
	r->held[r->nr_held++] = number;
	ctp_store_relaxed(&r->takes, r->takes + 1);
}

static void give_one(struct racer *r)
{
	uint32_t i = (uint32_t)(next_random(&r->state) % r->nr_held), number = r->held[i];

	r->held[i] = r->held[--r->nr_held];
	CHECK(ctp_cas_relaxed(&units[number - 1].owner, (uint32_t)r->nr, 0u));
	ctp_pool_give(&arena, number - 1);
}

static void *race(void *arg)
{
	struct racer *r = arg;

	while (!ctp_load_relaxed(&stop)) {
		if (r->nr_held < HELD_MOST && (!r->nr_held || next_random(&r->state) % 2))
			take_one(r);
		else
			give_one(r);
		/* On few cores: hand-overs in the middle of an operation. */
		if (next_random(&r->state) % 64 == 0)
			sched_yield();
	}
	while (r->nr_held)
		give_one(r);
	return NULL;
}

static bool enough(void)
{
	uint32_t i;

	for (i = 0; i < NR_THREADS; i++)
		if (ctp_load_relaxed(&racers[i].takes) < ENOUGH)
			return false;
	return true;
}

static void run_race(uint32_t limit, uint32_t committed)
{
	uint64_t refused = 0, changed = 0;
	uint32_t i, left = 0;

	open_pool(limit, committed);
	memset(racers, 0, sizeof(racers));
	ctp_store_relaxed(&stop, 0u);
	for (i = 0; i < NR_THREADS; i++) {
		racers[i].nr = i + 1;
		racers[i].state = (i + 1) * UINT64_C(0x9E3779B97F4A7C15);
		CHECK_EQ(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
	}
	while (!enough())
		sched_yield();
	ctp_store_relaxed(&stop, 1u);
	for (i = 0; i < NR_THREADS; i++) {
		pthread_join(racers[i].thread, NULL);
		refused += racers[i].refused;
		changed += racers[i].changed_hands;
	}
	CHECK(changed >= ENOUGH_CHANGED);
	CHECK_EQ(pool.refused, refused);
	/* Everything was given back, and is there exactly once. */
	while (ctp_pool_pop(&arena))
		left++;
	CHECK_EQ(left, pool.used);
	CHECK(pool.used <= limit);
}

static void four_threads_never_have_the_same_unit(void)
{
	run_race(MOST, MOST);
	/* Each holds at most five: more were never needed. */
	CHECK(pool.used <= NR_THREADS * HELD_MOST);
}

/* Few units: the same one is on top again and again, which provokes ABA. */
static void four_threads_on_three_units_never_have_the_same(void)
{
	run_race(3, 3);
	CHECK(pool.refused > 0);
}

static void four_threads_growing_a_pool_never_pass_its_memory(void)
{
	run_race(10, 2);
	CHECK_EQ(pool.committed, 10);
}

int main(void)
{
	RUN(all_units_are_had_once_and_then_none);
	RUN(what_was_given_back_last_is_had_first);
	RUN(without_memory_what_there_is_is_used);
	RUN(every_step_changes_the_tag);
	RUN(numbers_beyond_the_pool_are_not_followed);
	RUN(a_stack_that_bites_its_tail_ends_nowhere_but_ends);
	RUN(four_threads_never_have_the_same_unit);
	RUN(four_threads_on_three_units_never_have_the_same);
	RUN(four_threads_growing_a_pool_never_pass_its_memory);
	return 0;
}
