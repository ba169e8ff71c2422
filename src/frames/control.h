/* SPDX-License-Identifier: MIT */
/*
 * control.h - the control block, in the three shapes that programs expect it in.
 *
 *	ours       seed's order, our part behind it (description: "extended")
 *	seed       the seed's order, and nothing more
 *	existing   the existing tool's order
 *
 * --dialect ppt of our own generator has the existing order *and* our part behind it.
 * The program writes into it: everything read here is checked by the caller.
 */
#ifndef FRAMES_CONTROL_H
#define FRAMES_CONTROL_H

#include "frames/counters.h"
#include "frames/desc.h"

struct control {
	void *block;
	bool old_order; /* flags and number of counters before the counters */
	bool extended;
};

/* What the program said when it attached. */
struct control_answer {
	uint64_t data_block, data_block_sz, data_offset;
	uint32_t stride;
	int32_t client_pid;
};

/* Bytes in front of slot 0 that @d's program reserves at most. */
size_t control_size(const struct desc *d);

/* Fills in a block that is all zero. */
void control_fill(struct control *c, void *block, const struct desc *d,
		  const struct counters *counters, int data_id);

/*
 * Has the program mapped it, now or at any time before?  Then *@answer is what it said.  A program
 * that has exited or let go meanwhile left its frames in the ring.
 */
bool control_attached(const struct control *c, struct control_answer *answer);

uint64_t control_flags(const struct control *c);

/*
 * Which of @counters the program does not measure, as bits: it opened none, or it opened those of
 * an earlier collector (@adopted).  Threads of extended programs tell more in their frames.
 */
unsigned control_unmeasured(const struct control *c, const struct counters *counters, bool adopted);

/* Extended ones only. */
uint64_t control_next_ticket(const struct control *c);
uint64_t control_dropped(const struct control *c);
uint32_t control_threads(const struct control *c);
int control_counter_error(const struct control *c, unsigned *which);
void control_calibration(const struct control *c, uint64_t *ticks, uint64_t *ns);

/* Resizable ones only. */
void control_set_data(struct control *c, int id);
int control_wanted_data(const struct control *c);
int control_attached_data(const struct control *c);
int control_left_data(const struct control *c);

#endif
