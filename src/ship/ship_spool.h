/* SPDX-License-Identifier: MIT */
/*
 * ship_spool.h - the blocks of a trace that have not arrived: which to send, which to give up.
 *
 * The trace's file is the spool.  This is the queue of its blocks, in the order of the file: each
 * waits, was sent, has arrived, or was given up because the spool is full.  Facts that name sites
 * and processes are small, and later events need them: they are not given up.
 */
#ifndef SHIP_SPOOL_H
#define SHIP_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "ship/ship_follow.h"

/* More blocks than this do not wait, however small they are. */
#define SHIP_SPOOL_BLOCKS (UINT32_C(1) << 20)

enum ship_item_state { SHIP_WAITING, SHIP_SENT, SHIP_ARRIVED, SHIP_GIVEN_UP };

struct ship_item {
	struct ship_place behind; /* where the next block begins */
	uint64_t offset, number;
	uint32_t size; /* with the head */
	uint32_t transitions, others;
	uint32_t left_out_transitions, left_out_others; /* by sampling, since it was sent */
	uint8_t state;                                  /* enum ship_item_state */
	bool is_necessary;      /* not given up: facts, and what was sent and may have arrived */
	struct ship_damage gap; /* what is missing in front of it */
};

struct ship_count {
	uint64_t blocks, transitions, others, bytes;
};

/* All zero: empty. */
struct ship_spool {
	struct ship_item *items; /* those before first have arrived or were given up */
	uint32_t first, nr, room;
	uint32_t next; /* no item before this one waits */
	unsigned nr_sent;
	struct ship_count shipped, spooled, given_up; /* spooled: waiting or sent */
	struct ship_count left_out;                   /* by sampling, of blocks that arrived */
	struct ship_place place; /* behind the last block that arrived or was given up */
	bool has_changed;        /* since the caller cleared it */
	/* The bytes from @from to @to of the file were given up; may be NULL. */
	void (*freed)(void *ctx, uint64_t from, uint64_t to);
	void *freed_ctx;
};

void ship_spool_release(struct ship_spool *s);

/* Add the next block of the file, with @gap missing in front of it.  0 or -ENOMEM. */
int ship_spool_add(struct ship_spool *s, const struct ship_block *block,
		   const struct ship_damage *gap);

/* The first block that waits; NULL: there is none. */
struct ship_item *ship_spool_next(struct ship_spool *s);

void ship_spool_sent(struct ship_spool *s, struct ship_item *item);
void ship_spool_arrived(struct ship_spool *s, uint64_t number);

/* The connection was lost: all that was sent and has not arrived waits again. */
void ship_spool_resend(struct ship_spool *s);

/* The block cannot be read. */
void ship_spool_give_up(struct ship_spool *s, struct ship_item *item);

/*
 * Give up the oldest blocks that wait until at most @size bytes are in the spool.  Blocks that
 * were sent stay, whether or not their acknowledgement was lost.
 */
void ship_spool_bound(struct ship_spool *s, uint64_t size);

/* The first block that has not arrived and was not given up; NULL: none. */
const struct ship_item *ship_spool_oldest(const struct ship_spool *s);

#endif
