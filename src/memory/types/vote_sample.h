/* SPDX-License-Identifier: MIT */
/*
 * vote_sample.h - which blocks of a trace take part in the vote on types (block_types.h).
 *
 *	mem_reader_choose_blocks(reader, vote_sample_wants, sample);
 *
 * To decode all accesses takes nearly as long as to simulate them.  All of a short trace takes
 * part.  In a longer one, each instruction takes part with the first blocks that it is in, and each
 * kind of allocation (call stack and size) with the first blocks that it is in; then one block of
 * several, which stands for them.  Here a block is one of the trace, not one of the heap.
 */
#ifndef MEMORY_TYPES_VOTE_SAMPLE_H
#define MEMORY_TYPES_VOTE_SAMPLE_H

#include "memory/format/block_unpack.h"

#define VOTE_BLOCKS_ALL   16u /* at the start of the trace */
#define VOTE_BLOCKS_FIRST 4u  /* of an instruction, and of a kind of allocation */
#define VOTE_BLOCKS_STEP  8u  /* then one block of as many */

struct vote_sample;

/* NULL without memory. */
struct vote_sample *vote_sample_new(void);

/*
 * How many blocks the accesses of @block stand for; 0: they do not take part.  @sample: a struct
 * vote_sample.
 */
uint32_t vote_sample_wants(void *sample, const struct unpack *block);

/* Accepts NULL. */
void vote_sample_free(struct vote_sample *s);

#endif
