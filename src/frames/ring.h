/* SPDX-License-Identifier: MIT */
/*
 * ring.h - take frames out of a ring that a program goes on writing.
 *
 * Every save() of the program takes a ticket, 1, 2, 3 ...; a frame carries its ticket's
 * low 32 bits in front and at its back, and lies in the slot that the ticket says.  So the
 * reader knows for each ticket where to look, and looks once it was issued: the frame is
 * there, or not yet (a thread is writing it, or sleeps in the middle of it), or a later
 * one lies in its place.  Tickets that are not there yet are remembered and asked again;
 * a thread that sleeps holds up nobody else's frames.
 *
 * Programs of the existing generator do not say how many tickets they gave out; there the
 * highest number that lies in the ring takes its place.
 *
 * The memory is the program's: whatever lies there, nothing is read outside of the slots.
 */
#ifndef FRAMES_RING_H
#define FRAMES_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One array of slots. */
struct ring_block {
	const uint8_t *slots;
	uint32_t nr;     /* of slots; 0: no block */
	uint64_t anchor; /* a ticket that belongs into slot 0 */
};

/* What was taken: a copy of ours, valid during the call. */
typedef void ring_frame_fn(void *arg, uint64_t ticket, const uint8_t *image);

struct ring {
	struct ring_block now;
	struct ring_block old; /* while a resize is under way: some are still writing there */
	uint32_t stride, frame_size;
	uint64_t next;     /* ticket to look for next */
	uint64_t *pending; /* tickets before it that were not there yet */
	size_t nr_pending, size_pending;
	unsigned stalled; /* polls that ended at the same ticket */
	uint8_t *copy;
	ring_frame_fn *each;
	void *arg;
	uint64_t taken, missed;
	uint64_t overrun; /* of the missed ones: the writers were faster than we were */
};

/* @next: the first ticket of interest.  -ENOMEM. */
int ring_init(struct ring *r, uint32_t stride, uint32_t frame_size, ring_frame_fn *each, void *arg);
void ring_release(struct ring *r);

/*
 * Takes what is there of the tickets below @head.  @patient: leave one that is being
 * written for the next time, so that frames come in order; not at the end.
 */
void ring_poll(struct ring *r, uint64_t head, bool patient);

/* Where the head must be, by the numbers in the ring. */
uint64_t ring_probe_head(const struct ring *r);

/*
 * For a ring whose first ticket nobody told: find the oldest frame, and begin there.
 * False while there is none.
 */
bool ring_find_start(struct ring *r);

/*
 * How many slots from the first one on hold whole frames with numbers that follow each
 * other, if slots are @stride apart.  Stops at 64.
 */
uint32_t ring_count_run(const uint8_t *slots, uint32_t nr, uint32_t stride, uint32_t frame_size);

/*
 * From now on new frames go to @block.  ring_resized() ends the time of the old one, when
 * nobody writes there any more: what lies in it below @head is taken first.
 */
void ring_resize(struct ring *r, const struct ring_block *block);
void ring_resized(struct ring *r, uint64_t head);

/* Tickets that will never come: those still pending.  After the last poll. */
void ring_finish(struct ring *r);

#endif
