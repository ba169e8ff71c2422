/* SPDX-License-Identifier: MIT */
/* weak_units.c - all executions of pools, of lives that are reused and read, and of sites. */
#include "weak_region.h"
#include "weak_tests.h"

#include <string.h>

#define IDS 16u

/* ---- lives ------------------------------------------------------------------------ */

static uint64_t parents[IDS]; /* by id, as the threads have begun them */
static struct life read_lives[4];
static unsigned nr_read_lives;

/* The first three lives exist: the reader looks at the first one. */
static void make_lives(uint32_t lives)
{
	const struct ctp_life *life;

	region_make(&(struct region_shape){
		.lanes = 2, .chunks = 4, .lives = lives, .lane_chunks = 2 });
	life = lanes_life(region_lanes(), 0);
	/* The check needs the state, the id, the time, the address and the parent. */
	weak_ignore(&life->events, sizeof(life->events));
	weak_ignore(&life->resource,
		    offsetof(struct ctp_life, parent) - offsetof(struct ctp_life, resource));
	weak_ignore(&life->pid, sizeof(*life) - offsetof(struct ctp_life, pid));
	region_open(0);
	region_open(1);
	memset(parents, 0, sizeof(parents));
	nr_read_lives = 0;
	weak_restore(parents, sizeof(parents));
	weak_restore(&nr_read_lives, sizeof(nr_read_lives));
}

static void no_more_lives(void)
{
	make_lives(0);
}

static void end_and_begin(void)
{
	region_end(0);
	if (region_begin(0, 100, NULL))
		parents[region_life_id(0)] = 100;
}

static void end_and_leave(void)
{
	region_end(0);
	region_leave();
}

static void begin_another(void)
{
	if (region_begin(1, 200, NULL))
		parents[region_life_id(1)] = 200;
}

static void begin_and_hand_over(void)
{
	region_end(0);
	if (region_begin(0, 100, NULL))
		parents[region_life_id(0)] = 100;
	weak_hand_over(0);
}

static void continue_it(void)
{
	weak_take_over(0);
	region_event(0);
}

static void resume_it(void)
{
	weak_take_over(0);
	region_resume(0);
}

static void return_from_it(void)
{
	weak_take_over(0);
	region_done(0);
}

static void destroy_it(void)
{
	weak_take_over(0);
	region_end(0);
}

static void read_life(void)
{
	if (life_read(region_lanes(), 0, &read_lives[nr_read_lives]))
		nr_read_lives++;
}

/* The first coroutine has no event but its end, at a time of thread 0: a multiple of 16. */
static bool is_of_first(const struct life *l)
{
	return l->addr == 0 && l->state == CTP_REC_BIRTH && l->last_ticks % 16 == 0;
}

/* What was read under an id is what the coroutine of that id had. */
static void check_lives(void)
{
	unsigned i;

	for (i = 0; i < nr_read_lives; i++) {
		const struct life *l = &read_lives[i];

		if (l->id >= IDS || l->parent != parents[l->id] || (l->id == 1 && !is_of_first(l)))
			weak_fail("coroutine %llu with the parent %llu and the address %llu",
				  (unsigned long long)l->id, (unsigned long long)l->parent,
				  (unsigned long long)l->addr);
	}
}

/* ---- pools --------------------------------------------------------------------------- */

#define MOST_TAKEN 2u /* by a thread */

static unsigned owners[8], nr_failed;

static void make_units(void)
{
	region_make(
		&(struct region_shape){ .lanes = 1, .chunks = 1, .lives = 2, .lane_chunks = 1 });
	memset(owners, 0, sizeof(owners));
	nr_failed = 0;
	weak_restore(owners, sizeof(owners));
	weak_restore(&nr_failed, sizeof(nr_failed));
}

/* A unit has one owner, which uses it plainly. */
static uint32_t take_unit(void)
{
	uint32_t number = region_take_life();

	if (!number) {
		nr_failed++;
		return 0;
	}
	if (owners[number - 1]++)
		weak_fail("unit %u has two owners", number - 1);
	region_use_life(number - 1);
	return number;
}

static void give_unit(uint32_t number)
{
	if (!number)
		return;
	owners[number - 1]--;
	region_give_life(number - 1);
}

static void take_and_give(void)
{
	give_unit(take_unit());
	give_unit(take_unit());
}

static void take_two(void)
{
	uint32_t a = take_unit(), b = take_unit();

	give_unit(a);
	give_unit(b);
}

static void take_one(void)
{
	take_unit();
}

static void check_units(void)
{
	unsigned i, used = 0;

	for (i = 0; i < 8; i++)
		used += owners[i];
	if (region_life_room() + used != 2)
		weak_fail("%u units are free, %u are used, of 2", region_life_room(), used);
	if (nr_failed == 2 * MOST_TAKEN)
		weak_fail("no unit was taken");
}

/* ---- sites, and memory that is allocated on demand ---------------------------------------- */

static void grown_region(void)
{
	region_make(&(struct region_shape){
		.lanes = 1, .chunks = 1, .lives = 2, .lane_chunks = 1, .grows = true });
	memset(owners, 0, sizeof(owners));
	weak_restore(owners, sizeof(owners));
	weak_restore(&nr_failed, sizeof(nr_failed));
}

static void make_site(void)
{
	region_site("a.c");
}

static void see_site(void)
{
	region_look();
}

static void check_nothing(void)
{
}

const struct weak_test weak_tests[] = {
	{ .name = "life",
	  .what = "a coroutine ends, another has its memory; a reader",
	  .nr_threads = 2,
	  .set_up = no_more_lives,
	  .threads = { end_and_begin, read_life },
	  .check = check_lives },
	{ .name = "life-threads",
	  .what = "the same, of two threads",
	  .nr_threads = 3,
	  .set_up = no_more_lives,
	  .threads = { end_and_leave, begin_another, read_life },
	  .check = check_lives },
	{ .name = "life-hand-over",
	  .what = "and the other is handed over to a third thread",
	  .nr_threads = 3,
	  .set_up = no_more_lives,
	  .threads = { begin_and_hand_over, continue_it, read_life },
	  .check = check_lives },
	{ .name = "life-resume",
	  .what = "which resumes it",
	  .nr_threads = 3,
	  .set_up = no_more_lives,
	  .threads = { begin_and_hand_over, resume_it, read_life },
	  .check = check_lives },
	{ .name = "life-done",
	  .what = "or returns from it",
	  .nr_threads = 3,
	  .set_up = no_more_lives,
	  .threads = { begin_and_hand_over, return_from_it, read_life },
	  .check = check_lives },
	{ .name = "life-end",
	  .what = "or destroys it",
	  .nr_threads = 3,
	  .set_up = no_more_lives,
	  .threads = { begin_and_hand_over, destroy_it, read_life },
	  .check = check_lives },
	{ .name = "life-multi-copy",
	  .what = "the same on x86-64 and aarch64, without the fence",
	  .nr_threads = 3,
	  .set_up = no_more_lives,
	  .threads = { begin_and_hand_over, continue_it, read_life },
	  .check = check_lives,
	  .is_multi_copy = true },
	{ .name = "pool",
	  .what = "two threads take and give two units",
	  .nr_threads = 2,
	  .set_up = make_units,
	  .threads = { take_and_give, take_two },
	  .check = check_units },
	{ .name = "pool-three",
	  .what = "three threads",
	  .nr_threads = 3,
	  .set_up = make_units,
	  .threads = { take_and_give, take_two, take_one },
	  .check = check_units,
	  .full_only = true },
	{ .name = "pool-grows",
	  .what = "two threads, each unit is allocated first",
	  .nr_threads = 2,
	  .set_up = grown_region,
	  .threads = { take_two, take_two },
	  .check = check_units },
	{ .name = "site",
	  .what = "a thread registers a site; 1 poll",
	  .nr_threads = 2,
	  .set_up = make_units,
	  .threads = { make_site, see_site },
	  .check = check_nothing },
	{ 0 },
};
