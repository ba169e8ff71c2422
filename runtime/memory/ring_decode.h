/* SPDX-License-Identifier: MIT */
/*
 * ring_decode.h - pass units that ring_read.h found in the region to a packer.
 *
 * Plain C, no libraries.  The program can overwrite units while they are read: each word is read
 * once, and corrupt units are counted.  ring_pack.h has the loop around it.
 *
 * A full block is 16 chunks of accesses.  A consumer should let that many gather in a ring before
 * it takes them (except after the thread ended, or after half a second): this is better for
 * caches, and each site is stored once per block.
 */
#ifndef RUNTIME_MEMORY_RING_DECODE_H
#define RUNTIME_MEMORY_RING_DECODE_H

#include "decode_calls.h"
#include "pack.h"
#include "ring_read.h"

/* A range longer than a record can express is split at multiples of this. */
#define CRW_PIECE 64u

/* The state of one thread's stream.  Initial value: zeros, and weight_256 = 256. */
struct crw_feed {
	uint64_t order; /* stamps of the next record */
	uint64_t time_ns;
	uint32_t weight_256; /* of the next record; a change ends the block */
	uint32_t piece_how;  /* rest of a range that did not fit into the last block: CRAY_HOW, */
	uint64_t piece_at;   /* its address, */
	uint64_t piece_left; /* its bytes, */
	uint64_t piece_pc;   /* and its code address */
	uint64_t broken;     /* corrupt units so far */
	uint64_t ranges;     /* ranges longer than 2^36 bytes so far: corrupt */

	uint64_t told_full, told_sampled, told_filtered; /* accesses counted in gaps so far */

	/* The last CRW_CORO, for the next block: how is 0 before the first one. */
	uint64_t coroutine;
	uint32_t coroutine_how, coroutine_size;
	char coroutine_text[CRW_PAYLOAD_MAX];

	struct crw_calls calls; /* functions that the thread is in */

	/*
	 * Called for CRW_MODULE, CRW_FACT (@w0: the key) and CRW_STACK (@w0: its number), which are
	 * not part of blocks; may be NULL.
	 */
	void (*aside)(void *context, unsigned code, uint64_t w0, const uint8_t *payload,
		      uint32_t size);
	void *context;
};

/*
 * In an empty block, before units: repeat which coroutine runs and which functions the thread is
 * in, as far as the stream has said so.
 */
void crw_feed_repeat(const struct crw_feed *f, struct cray_pack *p);

/* Pass units of @run to @p.  Returns how many are done; fewer than run->nr: finish the block. */
uint32_t crw_feed(struct crw_feed *f, struct cray_pack *p, const struct crw_taken *run);

/*
 * Accesses of an ended thread that are missing by @cause (CRAY_GAP_FULL, _SAMPLED, _FILTERED) and
 * that no gap counts, because there was no room or no time for a gap unit.  @view: read after the
 * ring was drained.
 */
uint64_t crw_untold(const struct crw_feed *f, const struct crw_slot_view *view, uint32_t cause);

#endif
