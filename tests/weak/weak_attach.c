/* SPDX-License-Identifier: MIT */
/*
 * weak_attach.c - all executions of attach and detach: threads of generated code that save, and a
 * collector's session.
 *
 * In every execution no thread uses a ring that is unmapped; each frame is read whole and at most
 * once; all tickets are read or counted as lost, and none is lost while there is room; and when the
 * process has said that it has detached, its frames are there and no more will come.
 */
#include <string.h>

#include "frames/spec/frames_abi.h"
#include "weak_collector.h"
#include "weak_frame_process.h"
#include "weak_tests.h"

#define SEGMENT(slots) (PPT_CONTROL_SIZE + (slots)*16u)
#define OF_SECOND      4u /* the values of the second thread begin here */

static bool has_room; /* for all frames */

/* ---- set up ------------------------------------------------------------------------ */

static void make_process(unsigned threads, unsigned slots, bool lacks_membarrier)
{
	struct process_shape shape = { .threads = threads,
				       .lacks_membarrier = lacks_membarrier,
				       .sizes = { SEGMENT(slots), SEGMENT(slots) } };

	process_make(&shape);
	collector_make(slots, false);
	has_room = true;
}

static void make_one(void)
{
	make_process(1, 2, false);
}

static void make_refused(void)
{
	struct process_shape shape = { .threads = 1, .sizes = { SEGMENT(1) } };

	process_make(&shape);
	collector_make(1, false);
}

/* A collector has set the handle; no thread has noticed. */
static void make_offer(void)
{
	make_process(3, 2, false);
	collector_start();
}

/* The same with blocks of two tickets. */
static void make_blocks(void)
{
	struct process_shape shape = { .threads = 3,
				       .sizes = { PPT_CONTROL_SIZE_COUNTS + 16 * (16 + 16) } };

	process_make(&shape);
	collector_make(16, false);
	collector_wants_blocks();
	collector_start();
	has_room = true;
}

/* As make_offer(), and a thread that does not run has attached. */
static void make_attached(void)
{
	make_process(3, 4, false);
	collector_start();
	process_saved(2, 0);
}

/* Both threads have saved, and the collector asks to detach. */
static void make_detach(void)
{
	make_process(3, 4, false);
	collector_start();
	process_saved(0, 0);
	process_saved(1, 3);
	*process_handle() = PPT_HMEM_DETACH;
}

static void make_detach_fenced(void)
{
	make_process(3, 4, true);
	collector_start();
	process_saved(0, 0);
	process_saved(1, 3);
	*process_handle() = PPT_HMEM_DETACH;
}

/* The second thread has no record yet, and there is none that it could use. */
static void make_detach_first(void)
{
	make_process(3, 4, false);
	collector_start();
	process_saved(0, 0);
	process_saved(2, 6);
	*process_handle() = PPT_HMEM_DETACH;
}

/* The first thread is inside save(), without a ticket. */
static void make_detach_inside(void)
{
	make_process(3, 4, false);
	collector_start();
	process_saved(1, 3);
	process_entered(0);
	*process_handle() = PPT_HMEM_DETACH;
}

/* Another collector has set the handle to its segment. */
static void make_take_over(void)
{
	make_process(3, 4, false);
	collector_start();
	process_saved(0, 0);
	process_saved(1, 3);
	*process_handle() = collector_second(1, SEGMENT(4));
}

/* The second thread has a record, and may end; the others have none that they could not use. */
static void make_end(void)
{
	make_process(7, 4, false);
	collector_start();
	process_saved(1, 0);
}

/* A thread that does not run has been in slot 1 for a lap. */
static void make_stuck(void)
{
	make_process(3, 2, false);
	collector_start();
	process_saved(0, 0);
	process_stuck(2);
	has_room = false;
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

static void save_and_end(void)
{
	process_save(1);
	process_thread_end();
}

static void prepare_and_end(void)
{
	process_prepare();
	process_thread_end();
}

static void finish_save(void)
{
	process_finish(1);
}

static void save_and_unload(void)
{
	process_save(1);
	process_unload();
}

/* Two threads of the process, one after the other. */
static void save_as_two(void)
{
	process_save(OF_SECOND);
	process_thread_end();
	process_save(OF_SECOND + 1);
}

static void collect(void)
{
	collector_start();
	if (collector_step())
		collector_stop();
}

static void look(void)
{
	collector_start();
	collector_step();
}

static void look_once(void)
{
	collector_step();
}

static void look_twice(void)
{
	collector_step();
	collector_step();
}

/* ---- the end --------------------------------------------------------------------------------- */

static void fail_result(const char *what, const struct collector_result *is)
{
	weak_fail("%s: %llu issued, %llu recorded, %llu lost, %llu tickets", what,
		  (unsigned long long)is->issued, (unsigned long long)is->recorded,
		  (unsigned long long)is->lost, (unsigned long long)is->tickets);
}

/* The process has ended; the collector reads what it left. */
static void check_end(void)
{
	struct collector_result is;

	collector_process_died();
	collector_stop();
	collector_result(&is);
	if (is.recorded + is.lost != is.tickets || (has_room && is.lost))
		fail_result("at the end", &is);
}

/* The process has the ring as long as it has not answered. */
static void check_detached(void)
{
	struct collector_result is;

	check_end();
	collector_result(&is);
	if (is.is_mapped && *process_handle() == 0)
		weak_fail("the process has detached, and did not unmap the ring");
}

/* A thread that died inside save() has taken a ticket; its frame may not be there. */
static void check_death(void)
{
	has_room = false;
	check_end();
}

/* The collector has stopped. */
static void check_stopped(void)
{
	struct collector_result is;

	collector_result(&is);
	if (is.recorded + is.lost != is.issued || is.issued > is.tickets)
		fail_result("stopped", &is);
	if (is.handle == 0 && (is.issued != is.tickets || is.lost))
		fail_result("detached", &is);
}

/* A process that says that it has left takes no more tickets. */
static void check_watched(void)
{
	struct collector_result is;

	check_detached();
	collector_result(&is);
	if (is.final && is.final != is.tickets + 1)
		weak_fail("%llu is not the last ticket", (unsigned long long)is.final);
}

static void check_nothing(void)
{
}

const struct weak_test weak_tests[] = {
	{ .name = "attach",
	  .what = "a thread saves two frames; the collector attaches, polls, detaches",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .outside = 2,
	  .most_stale = 2,
	  .most_switches = 3,
	  .set_up = make_one,
	  .threads = { save_two, collect },
	  .check = check_stopped },
	{ .name = "attach-refused",
	  .what = "a ring that the process cannot use",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .outside = 2,
	  .set_up = make_refused,
	  .threads = { save_one, collect },
	  .check = check_nothing },
	{ .name = "attach-death",
	  .what = "the thread dies before any access; it attaches and saves two frames",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .outside = 2,
	  .mortal = 1,
	  .most_stale = 2,
	  .most_switches = 3,
	  .set_up = make_one,
	  .threads = { save_two, look },
	  .check = check_death },
	{ .name = "attach-two",
	  .what = "two threads save their first frame, both try to attach",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .most_stale = 1,
	  .most_switches = 2,
	  .set_up = make_offer,
	  .threads = { save_one, save_one_more },
	  .check = check_end },
	{ .name = "attach-two-polls",
	  .what = "and the collector polls; at most one preemption",
	  .nr_threads = 3,
	  .has_own_sequences = true,
	  .outside = 4,
	  .most_stale = 1,
	  .most_switches = 1,
	  .set_up = make_offer,
	  .threads = { save_one, save_one_more, look_twice },
	  .check = check_end },
	{ .name = "attach-blocks",
	  .what = "a thread attaches before an interval, another one takes a block of tickets; a "
		  "poll",
	  .nr_threads = 3,
	  .has_own_sequences = true,
	  .outside = 4,
	  .most_stale = 1,
	  .most_switches = 1,
	  .set_up = make_blocks,
	  .threads = { process_prepare, save_one_more, look_once },
	  .check = check_end },
	{ .name = "detach",
	  .what = "two threads save, one of them detaches",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .has_membarrier = true,
	  .most_stale = 1,
	  .most_switches = 2,
	  .set_up = make_detach,
	  .threads = { save_one, save_one_more },
	  .check = check_detached },
	{ .name = "detach-fenced",
	  .what = "the same without membarrier(2)",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .most_stale = 1,
	  .most_switches = 2,
	  .set_up = make_detach_fenced,
	  .threads = { save_one, save_one_more },
	  .check = check_detached },
	{ .name = "detach-first",
	  .what = "one of them saves its first frame",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .has_membarrier = true,
	  .most_stale = 1,
	  .most_switches = 2,
	  .set_up = make_detach_first,
	  .threads = { save_one, save_one_more },
	  .check = check_detached },
	{ .name = "detach-end",
	  .what = "a thread ends inside save(), the other one detaches",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .has_membarrier = true,
	  .most_stale = 1,
	  .most_switches = 2,
	  .set_up = make_detach_inside,
	  .threads = { process_thread_end_inside, save_one_more },
	  .check = check_death },
	{ .name = "detach-watch",
	  .what = "a thread is inside save(), another one detaches; the collector sees that",
	  .nr_threads = 3,
	  .has_own_sequences = true,
	  .has_membarrier = true,
	  .outside = 4,
	  .most_stale = 2,
	  .most_switches = 1,
	  .set_up = make_detach_inside,
	  .threads = { finish_save, save_one_more, collector_watch },
	  .check = check_watched },
	{ .name = "take-over",
	  .what = "two threads save, one of them attaches to another collector",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .has_membarrier = true,
	  .most_stale = 1,
	  .most_switches = 2,
	  .set_up = make_take_over,
	  .threads = { save_one, save_one_more },
	  .check = check_end },
	{ .name = "thread-ends",
	  .what = "a thread ends, a new one may get its record",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .most_stale = 1,
	  .most_switches = 2,
	  .set_up = make_attached,
	  .threads = { save_and_end, save_as_two },
	  .check = check_end },
	{ .name = "thread-ends-third",
	  .what = "a thread ends, another one frees its record, a third one gets it",
	  .nr_threads = 3,
	  .has_own_sequences = true,
	  .most_stale = 1,
	  .most_switches = 1,
	  .set_up = make_end,
	  .threads = { save_and_end, process_thread_end, save_one_more },
	  .check = check_end },
	{ .name = "unload-first",
	  .what = "a thread attaches and unloads the library while another one saves its first "
		  "frame",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .has_membarrier = true,
	  .most_stale = 1,
	  .most_switches = 2,
	  .set_up = make_offer,
	  .threads = { save_and_unload, save_one_more },
	  .check = check_end },
	{ .name = "thread-ends-early",
	  .what = "the same with a thread that has saved nothing",
	  .nr_threads = 3,
	  .has_own_sequences = true,
	  .most_stale = 1,
	  .most_switches = 1,
	  .set_up = make_end,
	  .threads = { prepare_and_end, process_thread_end, save_one_more },
	  .check = check_end },
	{ .name = "thread-stuck",
	  .what = "a thread has been in a slot for a lap, and a thread saves its first frame",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .most_stale = 2,
	  .most_switches = 3,
	  .set_up = make_stuck,
	  .threads = { save_two, save_one_more },
	  .check = check_end },
	{ .name = "unload",
	  .what = "a thread attaches while the library is unloaded",
	  .nr_threads = 2,
	  .has_own_sequences = true,
	  .has_membarrier = true,
	  .set_up = make_offer,
	  .threads = { save_one, process_unload },
	  .check = check_death },
	{ 0 },
};
