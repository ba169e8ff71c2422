/* SPDX-License-Identifier: MIT */
/*
 * feed.h - units of the wire, as take.h finds them, into a packer.
 *
 * For both consumers: plain C without a library behind it.  Units come from memory that a
 * program can write while we look: each word is read once, and nonsense is counted.
 *
 *	while (crw_take(r, &view, &cursor, max, gone, &run)) {
 *		used = crw_feed(&feed, pack, &run);
 *		if (used < run.nr)
 *			the block is full: finish it; cray_pack_begin(.., feed.order, feed.time_ns),
 *			cray_pack_weight(.., feed.weight_256), and take again
 *		crw_give_back(r, &view, &cursor, used);
 *	}
 *
 * A full block is 16 chunks of accesses.  A consumer does well to let that many gather in a
 * ring before it takes them (a thread that ended, or half a second without, being the
 * exceptions): caches like it, and sites are told once per block.
 */
#ifndef MEMORY_RT_FEED_H
#define MEMORY_RT_FEED_H

#include "pack.h"
#include "take.h"

/* A range of more bytes than a record can tell is cut at multiples of this. */
#define CRW_PIECE 64u

/* What is known of one thread's stream; zeros, then weight_256 = 256 at its start. */
struct crw_feed {
	uint64_t order; /* stamps that hold for what comes next */
	uint64_t time_ns;
	uint32_t weight_256; /* of what comes next; a change ends a block */
	uint32_t piece_how;  /* a range that did not fit into the last block: */
	uint64_t piece_at;   /* where it goes on, */
	uint64_t piece_left; /* for how many bytes, */
	uint64_t piece_pc;   /* and whose it is */
	uint64_t broken;     /* units that made no sense, ever */
	uint64_t ranges;     /* ranges that were longer than any memory: taken as broken */

	uint64_t told_full, told_sampled, told_filtered; /* what its gaps were about, ever */

	/* CRW_MODULE and CRW_FACT (@w0: its key) belong beside the blocks; may be NULL. */
	void (*aside)(void *context, unsigned code, uint64_t w0, const uint8_t *payload,
		      uint32_t size);
	void *context;
};

/* Units of @run that are in @p now, or were none of its business. */
uint32_t crw_feed(struct crw_feed *f, struct cray_pack *p, const struct crw_taken *run);

/*
 * A thread has ended: what is missing of it by @cause (CRAY_GAP_FULL, _SAMPLED, _FILTERED) and
 * in none of its gaps, because there was no room for one or no time.  @view: a last look.
 */
uint64_t crw_untold(const struct crw_feed *f, const struct crw_slot_view *view, uint32_t cause);

#endif
