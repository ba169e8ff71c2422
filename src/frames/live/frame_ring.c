/* SPDX-License-Identifier: MIT */
/* frame_ring.c - read frames from a ring, by ticket. */
#include "frames/live/frame_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frames/live/fence.h"
#include "frames/spec/frames_abi.h"

/* More pending tickets would mean as many threads stopped inside save(). */
#define PENDING_MAX (1u << 20)
/* Polls to wait for an unfinished frame before skipping it. */
#define PATIENCE 3
/* How far after an unwritten slot a probe searches for written ones. */
#define LOOK_AHEAD 64

int ring_init(struct ring *r, uint32_t stride, uint32_t frame_size, ring_frame_fn *each, void *arg)
{
	memset(r, 0, sizeof(*r));
	r->stride = stride;
	r->frame_size = frame_size;
	r->each = each;
	r->arg = arg;
	r->next = 1;
	r->copy = calloc(1, frame_size);
	return r->copy ? 0 : -ENOMEM;
}

void ring_release(struct ring *r)
{
	free(r->copy);
	free(r->pending);
	r->copy = NULL;
	r->pending = NULL;
	r->nr_pending = r->size_pending = 0;
}

/* ---- one slot ------------------------------------------------------------ */

enum look { LOOK_TAKEN, LOOK_NOT_YET, LOOK_GONE };

static uint64_t ring_slot_number(const struct ring_block *b, uint64_t ticket)
{
	return (ticket % b->nr + b->nr - b->anchor % b->nr) % b->nr;
}

static const uint8_t *ring_slot_of(const struct ring *r, const struct ring_block *b,
				   uint64_t ticket)
{
	return b->slots + ring_slot_number(b, ticket) * r->stride;
}

static uint32_t load_front(const uint8_t *slot)
{
	/* (ppt-B) pairs with the release store of front in slot_write(). */
	return __atomic_load_n((const uint32_t *)(const void *)slot, __ATOMIC_ACQUIRE);
}

static uint32_t load_word(const uint8_t *at)
{
	return __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_RELAXED);
}

static bool is_newer(uint32_t seqno, uint32_t than)
{
	return seqno && (int32_t)(seqno - than) > 0;
}

/* The program may be writing the slot; the caller checks the sequence numbers afterwards. */
static void copy_slot(struct ring *r, const uint8_t *slot)
{
	uint32_t at, word;

	for (at = 0; at + 4 <= r->frame_size; at += 4) {
		word = load_word(slot + at);
		memcpy(r->copy + at, &word, 4);
	}
}

/* The stamp is written with the frame, before front: the caller's check covers it. */
static void copy_stamp(struct ring *r, const struct ring_block *b, uint64_t ticket)
{
	const struct ppt_stamp *stamps = (const void *)b->stamps;
	const struct ppt_stamp *stamp = stamps ? &stamps[ring_slot_number(b, ticket)] : NULL;

	r->stamp_time = stamp ? __atomic_load_n(&stamp->time, __ATOMIC_RELAXED) : 0;
	r->stamp_tid = stamp ? __atomic_load_n(&stamp->tid, __ATOMIC_RELAXED) : 0;
}

static enum look ring_look_at(struct ring *r, const struct ring_block *b, uint64_t ticket)
{
	const uint8_t *slot = ring_slot_of(r, b, ticket), *back = slot + r->frame_size - 4;
	uint32_t seqno = (uint32_t)ticket, front = load_front(slot), back_copied;

	if (front != seqno)
		return is_newer(front, seqno) ? LOOK_GONE : LOOK_NOT_YET;
	copy_slot(r, slot);
	copy_stamp(r, b, ticket);
	/* (ppt-A) pairs with the release fence after the back number in slot_write(). */
	fence_load_load();
	memcpy(&back_copied, r->copy + r->frame_size - 4, 4);
	front = load_word(slot);
	if (front == seqno && back_copied == seqno && load_word(back) == seqno)
		return LOOK_TAKEN;
	return is_newer(front, seqno) || is_newer(load_word(back), seqno) ? LOOK_GONE
									  : LOOK_NOT_YET;
}

/* Search the new block and, during a resize, the old block too. */
static enum look look_for(struct ring *r, uint64_t ticket)
{
	enum look found = ring_look_at(r, &r->now, ticket);

	if (found == LOOK_TAKEN || !r->old.nr)
		return found;
	if (ring_look_at(r, &r->old, ticket) == LOOK_TAKEN)
		return LOOK_TAKEN;
	/* A frame overwritten in one block may still arrive in the other until the resize ends. */
	return LOOK_NOT_YET;
}

/* ---- tickets ------------------------------------------------------------- */

static void ring_take(struct ring *r, uint64_t ticket)
{
	r->taken++;
	r->each(r->arg, ticket, r->copy);
}

static void ring_remember(struct ring *r, uint64_t ticket)
{
	if (r->nr_pending == r->size_pending) {
		size_t size = r->size_pending ? r->size_pending * 2 : 64;
		uint64_t *more = size <= PENDING_MAX ? realloc(r->pending, size * sizeof(*more))
						     : NULL;

		if (!more) {
			r->missed++;
			return;
		}
		r->pending = more;
		r->size_pending = size;
	}
	r->pending[r->nr_pending++] = ticket;
}

static void ask_again(struct ring *r)
{
	size_t i, kept = 0;

	for (i = 0; i < r->nr_pending; i++) {
		uint64_t ticket = r->pending[i];

		switch (look_for(r, ticket)) {
		case LOOK_TAKEN:
			ring_take(r, ticket);
			break;
		case LOOK_GONE:
			r->missed++;
			break;
		default:
			r->pending[kept++] = ticket;
		}
	}
	r->nr_pending = kept;
}

/* Frames among the @nr tickets from @from on: tickets whose low 32 bits are 0 are not frames. */
static uint64_t frames_among(uint64_t from, uint64_t nr)
{
	uint64_t last = from + nr - 1;

	return nr ? nr - ((last >> 32) - ((from - 1) >> 32)) : 0;
}

/* Frames that writers have overwritten are lost; no need to check their slots. */
static void skip_lapped(struct ring *r, uint64_t head)
{
	uint64_t room = (uint64_t)r->now.nr + r->old.nr, lapped;

	if (head - r->next <= room)
		return;
	lapped = head - room - r->next;
	r->missed += frames_among(r->next, lapped);
	r->overrun += lapped;
	r->next += lapped;
}

/* True if there is time to wait for the thread that is writing the next frame. */
static bool may_wait(struct ring *r, uint64_t head)
{
	return r->stalled < PATIENCE && (head - r->next) * 4 < r->now.nr;
}

void ring_poll(struct ring *r, uint64_t head, bool patient)
{
	uint64_t began = r->next;

	if (!r->now.nr || head < r->next)
		return;
	if (r->nr_pending)
		ask_again(r);
	skip_lapped(r, head);
	for (; r->next < head; r->next++) {
		enum look found;

		if (!(uint32_t)r->next)
			continue;
		found = look_for(r, r->next);
		if (found == LOOK_TAKEN) {
			ring_take(r, r->next);
		} else if (found == LOOK_GONE) {
			r->missed++;
			r->overrun++;
		} else {
			if (patient && may_wait(r, head))
				break;
			ring_remember(r, r->next);
		}
	}
	r->stalled = r->next < head && r->next == began ? r->stalled + 1 : 0;
}

/* ---- without a ticket counter -------------------------------------------- */

/* The ticket nearest to @near whose low 32 bits are @seqno. */
static uint64_t ring_widen(uint32_t seqno, uint64_t near)
{
	return near + (uint64_t)(int64_t)(int32_t)(seqno - (uint32_t)near);
}

uint64_t ring_probe_head(const struct ring *r)
{
	uint64_t head = r->next;
	uint32_t step, ahead;

	for (step = 0; step < r->now.nr; step++) {
		for (ahead = 0; ahead < LOOK_AHEAD && ahead < r->now.nr; ahead++) {
			uint32_t front = load_front(ring_slot_of(r, &r->now, head + ahead));

			if (front == (uint32_t)(head + ahead) ||
			    is_newer(front, (uint32_t)(head + ahead))) {
				head = ring_widen(front, head + ahead) + 1;
				break;
			}
		}
		if (ahead == LOOK_AHEAD || ahead >= r->now.nr)
			break;
	}
	return head;
}

bool ring_find_start(struct ring *r)
{
	uint32_t first = load_front(r->now.slots), oldest = first, i;

	if (!first)
		return false;
	for (i = 1; i < r->now.nr; i++) {
		uint32_t front = load_front(r->now.slots + (size_t)i * r->stride);

		if (front && (int32_t)(oldest - front) > 0)
			oldest = front;
	}
	/* One lap above zero, so that neither becomes negative. */
	r->now.anchor = UINT64_C(0x100000000) + first;
	r->next = ring_widen(oldest, r->now.anchor);
	return true;
}

uint32_t ring_count_run(const uint8_t *slots, uint32_t nr, uint32_t stride, uint32_t frame_size)
{
	uint32_t first = load_front(slots), i;

	for (i = 0; first && i < nr && i < LOOK_AHEAD; i++) {
		const uint8_t *slot = slots + (size_t)i * stride;
		uint32_t front = load_front(slot);

		/* Of this lap, or of the previous one. */
		if (front != load_word(slot + frame_size - 4) ||
		    (front != first + i && front != first + i - nr))
			break;
	}
	return i;
}

/* ---- resize, end --------------------------------------------------------- */

void ring_resize(struct ring *r, const struct ring_block *block)
{
	r->old = r->now;
	r->now = *block;
}

void ring_resized(struct ring *r, uint64_t head)
{
	ask_again(r);
	ring_poll(r, head, false);
	memset(&r->old, 0, sizeof(r->old));
}

void ring_finish(struct ring *r)
{
	r->missed += r->nr_pending;
	r->nr_pending = 0;
}
