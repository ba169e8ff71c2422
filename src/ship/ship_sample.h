/* SPDX-License-Identifier: MIT */
/*
 * ship_sample.h - send one of N coroutines: whole lives, chosen by a hash of their number.
 *
 * A block of events is decoded, and encoded again with the events of the chosen coroutines; it
 * keeps its number.  Gaps and facts stay: they are about all coroutines.
 */
#ifndef SHIP_SAMPLE_H
#define SHIP_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "ship/ship_follow.h"
#include "trace/compact_decode.h"
#include "trace/compact_encode.h"

/* The same coroutines on every machine, and in every part of a run. */
bool ship_sample_has(uint64_t probe_id, uint64_t rate);

typedef bool (*ship_wanted_fn)(const void *ctx, uint64_t probe_id);

/* All zero: nothing allocated. */
struct ship_sampler {
	struct compact_unpacker unpacker;
	struct compact_packer packer;
	struct compact_decoder *decoder;
	struct compact_encoder *encoder;
};

void ship_sampler_release(struct ship_sampler *s);

/*
 * Replace @block, a block of events in the file @fd, by one with the events of the coroutines that
 * @wanted accepts.  Its head gets @number, and its data is valid until the next call.  @has_gaps:
 * gaps are kept.  1; 0: the block is damaged; or a negative errno.
 */
int ship_sampler_filter(struct ship_sampler *s, int fd, struct ship_block *block, uint64_t number,
			bool has_gaps, ship_wanted_fn wanted, const void *ctx);

#endif
