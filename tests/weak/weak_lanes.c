/* SPDX-License-Identifier: MIT */
/* weak_lanes.c - all executions of lanes: events, chunks that go back, ends and deaths of threads.
 */
#include "weak_region.h"
#include "weak_tests.h"

static void one_lane(void)
{
	region_make(&(struct region_shape){ .lanes = 1, .chunks = 2, .lane_chunks = 2 });
}

static void two_lanes(void)
{
	region_make(&(struct region_shape){ .lanes = 2, .chunks = 2, .lane_chunks = 2 });
}

static void spare_lane(void)
{
	region_make(
		&(struct region_shape){ .lanes = 1, .chunks = 2, .spares = 1, .lane_chunks = 2 });
}

static void two_spares(void)
{
	region_make(
		&(struct region_shape){ .lanes = 2, .chunks = 2, .spares = 1, .lane_chunks = 1 });
	region_open(0);
	region_open(2);
}

/* ---- threads --------------------------------------------------------------------- */

static void write_one(void)
{
	region_event(weak_self());
	region_leave();
}

/* The next thread of the lane has read less of the counter: its times begin with this one's. */
static void write_ahead(void)
{
	region_run_ahead(8);
	write_one();
}

static void check_floor(const char *name)
{
	if (!region_floored())
		weak_fail("%s: no thread has continued with the time of another", name);
}

static void write_three(void)
{
	unsigned i;

	for (i = 0; i < 3; i++)
		region_event(weak_self());
	region_leave();
}

static void write_five(void)
{
	unsigned i;

	for (i = 0; i < 5; i++)
		region_event(weak_self());
	region_leave();
}

static void write_seven(void)
{
	unsigned i;

	for (i = 0; i < 7; i++)
		region_event(weak_self());
	region_leave();
}

static void write_pairs(void)
{
	region_event(weak_self());
	region_event_on(weak_self());
	region_event_on(weak_self());
	region_leave();
}

static void look_once(void)
{
	region_look();
}

static void look_thrice(void)
{
	region_look();
	region_look();
	region_look();
}

static void look_twice(void)
{
	region_look();
	region_look();
}

const struct weak_test weak_tests[] = {
	{ .name = "lane",
	  .what = "a thread writes 3 events and ends; 2 polls",
	  .nr_threads = 2,
	  .set_up = one_lane,
	  .threads = { write_three, look_twice },
	  .check = region_check },
	{ .name = "lane-full",
	  .what = "5 events, chunks for 4; 2 polls",
	  .nr_threads = 2,
	  .set_up = one_lane,
	  .threads = { write_five, look_twice },
	  .check = region_check },
	{ .name = "lane-fuller",
	  .what = "7 events, chunks for 4; 3 polls",
	  .nr_threads = 2,
	  .set_up = one_lane,
	  .threads = { write_seven, look_thrice },
	  .check = region_check,
	  .full_only = true },
	{ .name = "lane-pairs",
	  .what = "events of two records; 2 polls",
	  .nr_threads = 2,
	  .set_up = one_lane,
	  .threads = { write_pairs, look_twice },
	  .check = region_check },
	{ .name = "lane-death",
	  .what = "the thread dies anywhere; 2 polls",
	  .nr_threads = 2,
	  .set_up = one_lane,
	  .threads = { write_three, look_twice },
	  .check = region_check,
	  .mortal = 1 },
	{ .name = "lanes",
	  .what = "two threads, one event each; 1 poll",
	  .nr_threads = 3,
	  .set_up = two_lanes,
	  .threads = { write_one, write_one, look_once },
	  .check = region_check },
	{ .name = "lane-spare",
	  .what = "a thread takes over the lane of another, and its time",
	  .nr_threads = 3,
	  .set_up = spare_lane,
	  .threads = { write_ahead, write_one, look_once },
	  .check = region_check,
	  .finish = check_floor },
	{ .name = "lane-spares",
	  .what = "and a third one leaves its lane there",
	  .nr_threads = 3,
	  .set_up = two_spares,
	  .threads = { region_leave, write_one, region_leave },
	  .check = region_check },
	{ .name = "lanes-death",
	  .what = "two threads, three and one events, one dies; 2 polls",
	  .nr_threads = 3,
	  .set_up = two_lanes,
	  .threads = { write_three, write_one, look_twice },
	  .check = region_check,
	  .mortal = 1,
	  .most_switches = 3,
	  .full_only = true },
	{ 0 },
};
