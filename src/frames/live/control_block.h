/* SPDX-License-Identifier: MIT */
/*
 * control_block.h - the control block, in the three layouts that programs use.
 *
 *	extended   base protocol's order, followed by the corotracer extension
 *	base       base protocol's order, and nothing more
 *	existing   the existing ppt tool's order
 *
 * Code of `generate --dialect ppt` has the existing order *and* the extension.  The program
 * writes into the block: the caller checks everything read here.
 */
#ifndef FRAMES_LIVE_CONTROL_BLOCK_H
#define FRAMES_LIVE_CONTROL_BLOCK_H

#include "frames/live/counters.h"
#include "frames/spec/layout_json.h"

struct frames_control {
	void *block;
	bool old_order; /* flags and number of counters come before the counters */
	bool extended;
};

/* What the program stored when it attached. */
struct control_answer {
	uint64_t data_block, data_block_sz, data_offset;
	uint32_t stride;
	int32_t client_pid;
};

/* The most bytes that the program of @d reserves before slot 0. */
size_t control_size(const struct desc *d, unsigned stamp_kind);

/* True if threads of the program may take tickets in blocks. */
bool control_has_blocks(const struct desc *d, unsigned stamp_kind);

/*
 * Fill in a block that is all zero.  @stamp_kind: PPT_STAMP_*, if the program knows stamps; then
 * its threads take tickets in blocks, and the control block has PPT_CONTROL_SIZE_COUNTS bytes.
 */
void control_fill(struct frames_control *c, void *block, const struct desc *d,
		  const struct counters *counters, int data_id, unsigned stamp_kind);

/*
 * True if the program has mapped the ring, now or earlier; *@answer is what it stored.  A
 * program that has exited or detached since left its frames in the ring.
 */
bool control_attached(const struct frames_control *c, struct control_answer *answer);

uint64_t control_flags(const struct frames_control *c);

/*
 * The counters of @counters that the program does not measure, a bit each: it opened none, or
 * those of an earlier collector (@adopted).  In extended programs the frames also mark what a
 * thread did not measure.
 */
unsigned control_unmeasured(const struct frames_control *c, const struct counters *counters,
			    bool adopted);

/* Extended programs only. */
uint64_t control_next_ticket(const struct frames_control *c);
uint64_t control_dropped(const struct frames_control *c);
/* True if threads count their saves: they take tickets in blocks.  False without membarrier(2). */
bool control_counts(const struct frames_control *c);
/* Then: frames that all threads saved, written or not. */
uint64_t control_saved(const struct frames_control *c);
uint32_t control_threads(const struct frames_control *c);
int control_counter_error(const struct frames_control *c, unsigned *which);
void control_calibration(const struct frames_control *c, uint64_t *ticks, uint64_t *ns);

/* Resizable buffers only. */
void control_set_data(struct frames_control *c, int id);
int control_wanted_data(const struct frames_control *c);
int control_attached_data(const struct frames_control *c);
int control_left_data(const struct frames_control *c);

#endif
