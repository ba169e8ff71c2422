/* SPDX-License-Identifier: MIT */
/*
 * weak_again.c - all executions in which a thread of generated code meets a ring's descriptor that
 * is used again, or the page of rings of a forked child.
 *
 * In every execution no thread uses a ring that is unmapped, and each use of a ring comes after
 * what the thread that mapped it has stored.
 */
#include "frames/spec/frames_abi.h"
#include "weak_collector.h"
#include "weak_frame_process.h"
#include "weak_tests.h"

#define SLOTS     4u
#define SEGMENT   (PPT_CONTROL_SIZE + SLOTS * 16u)
#define OF_SECOND 4u /* the values of the second thread begin here */

static int next_id; /* segment of another collector */

/* ---- set up ------------------------------------------------------------------------ */

/* A collector is attached, and thread @first has saved. */
static void make_process(unsigned first, bool lacks_membarrier)
{
	struct process_shape shape = { .threads = 7,
				       .lacks_membarrier = lacks_membarrier,
				       .sizes = { SEGMENT, SEGMENT, SEGMENT } };

	process_make(&shape);
	collector_make(SLOTS, false);
	collector_start();
	process_saved(first, 0);
}

/* The collector asks to detach, and another one has a segment; see detach_and_attach(). */
static void ask_to_detach(void)
{
	*process_handle() = PPT_HMEM_DETACH;
	next_id = collector_second(1, SEGMENT);
}

static void make_again(void)
{
	make_process(0, false);
	process_saved(1, 3);
	ask_to_detach();
}

static void make_again_fenced(void)
{
	make_process(0, true);
	process_saved(1, 3);
	ask_to_detach();
}

/* The second thread has no record yet, and there is none that it could use. */
static void make_again_first(void)
{
	make_process(0, false);
	process_saved(2, 6);
	ask_to_detach();
}

/* The process has detached, and two other collectors have a segment: the handle is that of one. */
static void make_again_offer(void)
{
	make_process(0, false);
	process_saved(1, 3);
	*process_handle() = PPT_HMEM_DETACH;
	process_saved(0, 1);
	*process_handle() = collector_second(1, SEGMENT);
	next_id = collector_second(2, SEGMENT);
}

/* A forked child: only thread @forks has a record.  Another collector has set the handle. */
static void fork_process(unsigned forks, bool lacks_membarrier)
{
	make_process(forks, lacks_membarrier);
	process_fork();
	*process_handle() = collector_second(1, SEGMENT);
}

static void make_fork(void)
{
	fork_process(1, false);
}

static void make_fork_fenced(void)
{
	fork_process(0, true);
}

/* ---- threads --------------------------------------------------------------------------- */

static void set_handle(int32_t id)
{
	__atomic_store_n(process_handle(), id, __ATOMIC_RELAXED);
}

static void save_one(void)
{
	process_save(1);
}

static void save_one_more(void)
{
	process_save(OF_SECOND);
}

/* The ring's descriptor is used again. */
static void detach_and_attach(void)
{
	process_save(1);
	set_handle(next_id);
	process_save(2);
}

static void ask_detach_and_attach(void)
{
	set_handle(PPT_HMEM_DETACH);
	detach_and_attach();
}

static void detach(void)
{
	set_handle(PPT_HMEM_DETACH);
	process_save(2);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* The first collector reads what the process left. */
static void check_end(void)
{
	struct collector_result is;

	collector_process_died();
	collector_stop();
	collector_result(&is);
	if (is.recorded != is.tickets || is.lost)
		weak_fail("%llu recorded, %llu lost, %llu tickets", (unsigned long long)is.recorded,
			  (unsigned long long)is.lost, (unsigned long long)is.tickets);
}

static void check_uses(void)
{
}

const struct weak_test weak_tests[] = {
	{ .name = "again",
	  .what = "a thread detaches and attaches to another collector, with the same descriptor",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .has_membarrier = true,
	  .most_stale = 1,
	  .most_switches = 1,
	  .set_up = make_again,
	  .threads = { detach_and_attach, save_one_more },
	  .check = check_end },
	{ .name = "again-fenced",
	  .what = "the same without membarrier(2)",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .most_stale = 1,
	  .most_switches = 1,
	  .set_up = make_again_fenced,
	  .threads = { detach_and_attach, save_one_more },
	  .check = check_end },
	{ .name = "again-first",
	  .what = "as again; the other thread saves its first frame",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .has_membarrier = true,
	  .most_stale = 1,
	  .most_switches = 1,
	  .set_up = make_again_first,
	  .threads = { detach_and_attach, save_one_more },
	  .check = check_end },
	{ .name = "again-offer",
	  .what = "a thread attaches; another one detaches, and attaches to another collector",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .has_membarrier = true,
	  .most_stale = 1,
	  .most_switches = 1,
	  .set_up = make_again_offer,
	  .threads = { ask_detach_and_attach, save_one_more },
	  .check = check_end },
	{ .name = "fork",
	  .what = "a forked child: a thread attaches, the one that forked saves, a third one "
		  "detaches",
	  .nr_threads = 3,
	  .has_own_sequences = true,
	  .has_membarrier = true,
	  .most_stale = 1,
	  .most_switches = 1,
	  .set_up = make_fork,
	  .threads = { save_one, save_one_more, detach },
	  .check = check_uses },
	{ .name = "fork-first",
	  .what = "a forked child: the thread that forked attaches, a new one enters the ring",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .most_stale = 1,
	  .most_switches = 2,
	  .set_up = make_fork_fenced,
	  .threads = { save_one, process_prepare },
	  .check = check_uses },
	{ 0 },
};
