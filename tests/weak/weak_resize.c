/* SPDX-License-Identifier: MIT */
/*
 * weak_resize.c - all executions of a change of the slots: threads of generated code that save, and
 * a collector's session.
 *
 * In every execution no thread uses slots that are unmapped, or that the collector has released;
 * each frame is read whole and at most once; all tickets are read or counted as lost, and a resize
 * itself loses none; and a resize that fails says why.
 */
#include <errno.h>

#include "frames/spec/frames_abi.h"
#include "weak_collector.h"
#include "weak_frame_process.h"
#include "weak_tests.h"

#define DATA(slots) ((slots)*16u)
#define OF_SECOND   4u /* the values of the second thread begin here */

static bool has_room;   /* for all frames */
static bool may_refuse; /* the process cannot map the new slots */

/* ---- set up ------------------------------------------------------------------------ */

static void make_process(unsigned threads, bool lacks_membarrier, unsigned refused)
{
	struct process_shape shape = { .threads = threads,
				       .lacks_membarrier = lacks_membarrier,
				       .refused = refused,
				       .sizes = { PPT_CONTROL_SIZE, DATA(4), DATA(2) } };

	process_make(&shape);
	collector_make(4, true);
	collector_start();
	process_saved(0, 0);
	collector_step();
	has_room = true;
	may_refuse = refused != 0;
}

static void make_one(void)
{
	make_process(1, false, 0);
}

static void make_refused(void)
{
	make_process(1, false, 2);
}

/* Both threads have saved, and the collector asks for other slots. */
static void make_two(bool lacks_membarrier)
{
	make_process(3, lacks_membarrier, 0);
	process_saved(1, 3);
	collector_resize(2);
}

static void make_asked(void)
{
	make_two(false);
}

static void make_asked_fenced(void)
{
	make_two(true);
}

/*
 * The first thread has changed the slots while the second one is inside the old ones, with a
 * ticket; the collector knows.
 */
static void make_left(void)
{
	make_process(3, false, 0);
	process_stuck(1);
	collector_resize(2);
	process_saved(0, 6);
	collector_step();
}

/* And to detach. */
static void make_detach(void)
{
	make_two(false);
	process_saved(1, 6);
	*process_handle() = PPT_HMEM_DETACH;
}

static void make_detach_fenced(void)
{
	make_two(true);
	process_saved(1, 6);
	*process_handle() = PPT_HMEM_DETACH;
}

/* ---- threads --------------------------------------------------------------------------- */

static void save_one(void)
{
	process_save(1);
}

static void save_two(void)
{
	process_save(1);
	process_save(2);
}

static void save_one_more(void)
{
	process_save(OF_SECOND);
}

static void finish_save(void)
{
	process_finish(OF_SECOND);
}

static void resize_and_poll(void)
{
	collector_resize(2);
	collector_step();
	collector_step();
}

static void poll_once(void)
{
	collector_step();
}

/* ---- the end --------------------------------------------------------------------------------- */

/* The process has ended; the collector reads what it left. */
static void check_end(void)
{
	struct collector_result is;

	collector_process_died();
	collector_stop();
	collector_result(&is);
	if (is.recorded + is.lost != is.tickets || (has_room && is.lost))
		weak_fail("%llu recorded, %llu lost, %llu tickets", (unsigned long long)is.recorded,
			  (unsigned long long)is.lost, (unsigned long long)is.tickets);
	if (is.is_mapped && *process_handle() == 0)
		weak_fail("the process has detached, and did not unmap the ring");
	if (is.refused && (!may_refuse || is.refused != EINVAL))
		weak_fail("the resize was refused, or without a reason");
}

/* A thread that died inside save() has taken a ticket; its frame may not be there. */
static void check_death(void)
{
	has_room = false;
	check_end();
}

const struct weak_test weak_tests[] = {
	{ .name = "resize",
	  .what = "a thread saves two frames; the collector asks for fewer slots, polls",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .outside = 2,
	  .most_stale = 1,
	  .most_switches = 2,
	  .set_up = make_one,
	  .threads = { save_two, resize_and_poll },
	  .check = check_end },
	{ .name = "resize-refused",
	  .what = "slots that the process cannot map",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .outside = 2,
	  .most_stale = 1,
	  .most_switches = 2,
	  .set_up = make_refused,
	  .threads = { save_two, resize_and_poll },
	  .check = check_end },
	{ .name = "resize-death",
	  .what = "as resize; the thread dies before any access",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .outside = 2,
	  .mortal = 1,
	  .most_stale = 1,
	  .most_switches = 2,
	  .set_up = make_one,
	  .threads = { save_two, resize_and_poll },
	  .check = check_death },
	{ .name = "resize-left",
	  .what = "a thread leaves the old slots, another one unmaps them; the collector polls",
	  .nr_threads = 3,
	  .has_own_sequences = true,
	  .has_membarrier = true,
	  .outside = 4,
	  .most_stale = 2,
	  .most_switches = 1,
	  .set_up = make_left,
	  .threads = { process_prepare, finish_save, poll_once },
	  .check = check_end },
	{ .name = "resize-two",
	  .what = "two threads save, one of them changes the slots",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .has_membarrier = true,
	  .most_stale = 1,
	  .most_switches = 2,
	  .set_up = make_asked,
	  .threads = { save_one, save_one_more },
	  .check = check_end },
	{ .name = "resize-fenced",
	  .what = "the same without membarrier(2)",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .most_stale = 1,
	  .most_switches = 2,
	  .set_up = make_asked_fenced,
	  .threads = { save_one, save_one_more },
	  .check = check_end },
	{ .name = "resize-detach",
	  .what = "two threads save after a resize, one of them detaches",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .has_membarrier = true,
	  .most_stale = 1,
	  .most_switches = 2,
	  .set_up = make_detach,
	  .threads = { save_one, save_one_more },
	  .check = check_death },
	{ .name = "resize-detach-fenced",
	  .what = "the same without membarrier(2)",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .most_stale = 1,
	  .most_switches = 2,
	  .set_up = make_detach_fenced,
	  .threads = { save_one, save_one_more },
	  .check = check_death },
	{ .name = "resize-two-polls",
	  .what = "two threads and the collector, which polls",
	  .nr_threads = 3,
	  .has_own_sequences = true,
	  .outside = 4,
	  .has_membarrier = true,
	  .full_only = true,
	  .most_stale = 1,
	  .most_switches = 2,
	  .set_up = make_asked,
	  .threads = { save_one, save_one_more, poll_once },
	  .check = check_end },
	{ 0 },
};
