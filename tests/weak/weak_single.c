/* SPDX-License-Identifier: MIT */
/*
 * weak_single.c - all executions of attach and detach of a program with one thread: the generated
 * code takes its tickets without a read-modify-write.
 */
#include "frames/spec/frames_abi.h"
#include "weak_collector.h"
#include "weak_frame_process.h"
#include "weak_tests.h"

#define SLOTS 2u

static void make_one(void)
{
	struct process_shape shape = { .threads = 1, .sizes = { PPT_CONTROL_SIZE + SLOTS * 16u } };

	process_make(&shape);
	collector_make(SLOTS, false);
}

static void make_offer(void)
{
	make_one();
	collector_start();
}

static void save_two(void)
{
	process_save(1);
	process_save(2);
}

/* The library is unloaded: its end of the ring is all that the collector finds. */
static void save_and_unload(void)
{
	process_save(1);
	process_unload();
}

static void collect(void)
{
	collector_start();
	collector_step();
	collector_stop();
}

static void watch(void)
{
	collector_watch();
}

static void look(void)
{
	collector_step();
}

static void check_stopped(void)
{
	struct collector_result is;

	collector_result(&is);
	if (is.recorded + is.lost != is.issued || is.issued > is.tickets)
		weak_fail("%llu issued, %llu recorded, %llu lost", (unsigned long long)is.issued,
			  (unsigned long long)is.recorded, (unsigned long long)is.lost);
	if (is.handle == 0 && (is.issued != is.tickets || is.lost))
		weak_fail("detached: %llu issued, %llu lost", (unsigned long long)is.issued,
			  (unsigned long long)is.lost);
}

static void check_death(void)
{
	struct collector_result is;

	collector_process_died();
	collector_stop();
	collector_result(&is);
	if (is.final && is.final != is.tickets + 1)
		weak_fail("%llu is not the last ticket", (unsigned long long)is.final);
	if (is.recorded + is.lost != is.tickets)
		weak_fail("%llu recorded, %llu lost, %llu tickets", (unsigned long long)is.recorded,
			  (unsigned long long)is.lost, (unsigned long long)is.tickets);
}

const struct weak_test weak_tests[] = {
	{ .name = "single",
	  .what = "two frames are saved; the collector attaches, polls, detaches",
	  .nr_threads = 2,
	  .most_stale = 2,
	  .most_switches = 3,
	  .set_up = make_one,
	  .threads = { save_two, collect },
	  .check = check_stopped },
	{ .name = "single-death",
	  .what = "the thread dies before any access; a poll",
	  .nr_threads = 2,
	  .mortal = 1,
	  .most_stale = 2,
	  .most_switches = 3,
	  .set_up = make_offer,
	  .threads = { save_two, look },
	  .check = check_death },
	{ .name = "single-unload",
	  .what = "a frame is saved, and the library is unloaded; a poll",
	  .nr_threads = 2,
	  .set_up = make_offer,
	  .threads = { save_and_unload, look },
	  .check = check_death },
	{ .name = "single-watch",
	  .what = "the same; the collector sees that the process has left",
	  .nr_threads = 2,
	  .set_up = make_offer,
	  .threads = { save_and_unload, watch },
	  .check = check_death },
	{ 0 },
};
