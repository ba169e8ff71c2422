/* SPDX-License-Identifier: MIT */
/*
 * frame_ring.h - read frames from a ring while a program writes it.
 *
 * Every save() of the program takes a ticket, 1, 2, 3 ...  A frame has its ticket's low 32 bits
 * in front and at its back, and the ticket determines its slot.  So for each issued ticket the
 * reader knows the slot: the frame is there, or not yet (a thread is writing it, or sleeps while
 * it does), or a later frame has overwritten it.  Tickets whose frame is not there yet are kept
 * and checked again; a sleeping thread does not delay the frames of other threads.
 *
 * Programs of the existing generator do not publish their ticket counter; for them the highest
 * number in the ring replaces it.
 *
 * The program owns the memory: whatever it contains, nothing is read outside of the slots.
 */
#ifndef FRAMES_LIVE_FRAME_RING_H
#define FRAMES_LIVE_FRAME_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One array of slots. */
struct ring_block {
	const uint8_t *slots;
	uint32_t nr;           /* of slots; 0: no block */
	uint64_t anchor;       /* a ticket that belongs to slot 0 */
	const uint8_t *stamps; /* one per slot, struct ppt_stamp; NULL: none */
};

/* Receives a copy of a frame, valid during the call. */
typedef void ring_frame_fn(void *arg, uint64_t ticket, const uint8_t *image);

struct ring {
	struct ring_block now;
	struct ring_block old; /* during a resize: threads may still write there */
	uint32_t stride, frame_size;
	uint64_t next;     /* next ticket to read */
	uint64_t *pending; /* tickets below next whose frame was not there yet */
	size_t nr_pending, size_pending;
	unsigned stalled; /* polls that ended at the same ticket */
	uint8_t *copy;
	uint64_t stamp_time, stamp_tid; /* of the copy; 0 without stamps */
	ring_frame_fn *each;
	void *arg;
	uint64_t taken, missed;
	uint64_t overrun; /* of the missed ones: overwritten before they were read */
};

/* Reading starts at ticket 1.  Returns 0 or -ENOMEM. */
int ring_init(struct ring *r, uint32_t stride, uint32_t frame_size, ring_frame_fn *each, void *arg);
void ring_release(struct ring *r);

/*
 * Read the frames of tickets below @head.  @patient: leave a frame that is being written for the
 * next poll, so that frames stay in order; false for the last poll.
 */
void ring_poll(struct ring *r, uint64_t head, bool patient);

/* The head of the ring, derived from the sequence numbers in it. */
uint64_t ring_probe_head(const struct ring *r);

/*
 * For a ring without a known first ticket: start at the oldest frame.  Returns false while there
 * is none.
 */
bool ring_find_start(struct ring *r);

/*
 * The number of slots from the first on that hold complete frames with consecutive numbers, if
 * the stride is @stride.  Stops at 64.
 */
uint32_t ring_count_run(const uint8_t *slots, uint32_t nr, uint32_t stride, uint32_t frame_size);

/*
 * From now on new frames go to @block.  ring_resized() drops the old block when no thread writes
 * there any more: it first reads the frames below @head.
 */
void ring_resize(struct ring *r, const struct ring_block *block);
void ring_resized(struct ring *r, uint64_t head);

/* Count tickets that are still pending as lost.  Call it after the last poll. */
void ring_finish(struct ring *r);

#endif
