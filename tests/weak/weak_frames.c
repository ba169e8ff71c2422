/* SPDX-License-Identifier: MIT */
/*
 * weak_frames.c - all executions of the ring of frames: threads of generated code that save, and
 * the collector's reader.
 *
 * In every execution each frame is read whole and at most once, and all that were saved are read or
 * counted as lost; nothing is lost while there is room.
 */
#include <string.h>

#include "frames/live/control_block.h"
#include "frames/live/frame_ring.h"
#include "weak_frame_writer.h"
#include "weak_tests.h"

#define FRAME_SIZE 16u
#define FRAMES     8u
#define OF_SECOND  4u /* the values of the second thread begin here */

static struct ring reader;
static struct frames_control control;
static uint64_t pending[64];
static uint8_t image[FRAME_SIZE];
static unsigned seen[FRAMES];
static struct frame_shape shape;

/* ---- set up ------------------------------------------------------------------------ */

static void take_frame(void *arg, uint64_t ticket, const uint8_t *copy)
{
	uint32_t word[4];

	(void)arg;
	memcpy(word, copy, sizeof(word));
	if (word[0] != (uint32_t)ticket || word[3] != word[0] || word[2] != ~word[1] ||
	    word[1] >= FRAMES)
		weak_fail("frame %llu is %u %u %u %u", (unsigned long long)ticket, word[0], word[1],
			  word[2], word[3]);
	if (seen[word[1]]++)
		weak_fail("frame %u comes twice", word[1]);
}

static void make_frames(unsigned nr_slots, unsigned block)
{
	shape = (struct frame_shape){ .nr_slots = nr_slots, .block = block };
	frame_writer_make(&shape);
	memset(&reader, 0, sizeof(reader));
	memset(seen, 0, sizeof(seen));
	reader = (struct ring){ .now = { frame_writer_slots(), nr_slots, 1, NULL },
				.stride = FRAME_SIZE,
				.frame_size = FRAME_SIZE,
				.next = 1,
				.pending = pending,
				.size_pending = 64,
				.copy = image,
				.each = take_frame };
	control = (struct frames_control){ .block = frame_writer_control(), .extended = true };
	weak_restore(&reader, sizeof(reader));
	weak_restore(seen, sizeof(seen));
	weak_restore(pending, sizeof(pending));
}

static void make_two_slots(void)
{
	make_frames(2, 0);
}

static void make_one_slot(void)
{
	make_frames(1, 0);
}

static void make_blocks(void)
{
	make_frames(1, 1);
}

/* ---- threads --------------------------------------------------------------------------- */

static void save_one(void)
{
	frame_writer_save(1);
}

static void save_three(void)
{
	frame_writer_save(1);
	frame_writer_save(2);
	frame_writer_save(3);
}

static void save_two(void)
{
	frame_writer_save(1);
	frame_writer_save(2);
}

static void save_one_more(void)
{
	frame_writer_save(OF_SECOND);
}

static void save_two_more(void)
{
	frame_writer_save(OF_SECOND);
	frame_writer_save(OF_SECOND + 1);
}

static void read_frames(void)
{
	ring_poll(&reader, control_next_ticket(&control), true);
}

static void read_twice(void)
{
	read_frames();
	read_frames();
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Tickets count frames; with blocks the threads' own counts do, as settle_blocks() has it. */
static void check_frames(void)
{
	uint64_t saved, overwritten;

	ring_poll(&reader, control_next_ticket(&control), false);
	ring_finish(&reader);
	saved = shape.block ? control_saved(&control) : control_next_ticket(&control) - 1;
	if (!shape.block && reader.taken + reader.missed != saved)
		weak_fail("%llu saved, %llu read, %llu lost", (unsigned long long)saved,
			  (unsigned long long)reader.taken, (unsigned long long)reader.missed);
	overwritten = control_next_ticket(&control) - 1 > shape.nr_slots;
	if (reader.taken > saved || (!overwritten && reader.taken != saved))
		weak_fail("%llu saved, %llu read, no frame was overwritten",
			  (unsigned long long)saved, (unsigned long long)reader.taken);
}

/* A thread that ended inside save() has taken a ticket; its frame may not be there. */
static void check_death(void)
{
	ring_poll(&reader, control_next_ticket(&control), false);
	ring_finish(&reader);
	if (reader.taken + reader.missed != control_next_ticket(&control) - 1)
		weak_fail("%llu read, %llu lost", (unsigned long long)reader.taken,
			  (unsigned long long)reader.missed);
}

const struct weak_test weak_tests[] = {
	{ .name = "frame",
	  .what = "3 frames, room for 2; 2 polls",
	  .nr_threads = 2,
	  .set_up = make_two_slots,
	  .threads = { save_three, read_twice },
	  .check = check_frames },
	{ .name = "frame-death",
	  .what = "as frame; the thread dies before any access",
	  .nr_threads = 2,
	  .mortal = 1,
	  .set_up = make_two_slots,
	  .threads = { save_three, read_twice },
	  .check = check_death },
	{ .name = "frame-slot",
	  .what = "two threads with one frame each, one slot; 1 poll",
	  .nr_threads = 3,
	  .set_up = make_one_slot,
	  .threads = { save_one, save_one_more, read_frames },
	  .check = check_frames },
	{ .name = "frame-laps",
	  .what = "two threads with two frames and one, one slot",
	  .nr_threads = 2,
	  .set_up = make_one_slot,
	  .threads = { save_two, save_one_more },
	  .check = check_frames },
	{ .name = "frame-block",
	  .what = "the same, with blocks of tickets: a thread comes late; three preemptions",
	  .nr_threads = 2,
	  .has_membarrier = true,
	  .most_switches = 3,
	  .set_up = make_blocks,
	  .threads = { save_two, save_one_more },
	  .check = check_frames },
	{ .name = "frame-blocks",
	  .what = "any number of preemptions",
	  .nr_threads = 2,
	  .has_membarrier = true,
	  .full_only = true,
	  .set_up = make_blocks,
	  .threads = { save_two, save_one_more },
	  .check = check_frames },
	{ .name = "frame-blocks-read",
	  .what = "and 1 poll, at most two preemptions",
	  .nr_threads = 3,
	  .has_membarrier = true,
	  .most_switches = 2,
	  .full_only = true,
	  .set_up = make_blocks,
	  .threads = { save_two, save_two_more, read_frames },
	  .check = check_frames },
	{ 0 },
};
