/* SPDX-License-Identifier: MIT */
/*
 * ship_whole.h - coroutines with findings, which are sent whole although others are sampled.
 *
 * Their events are taken from the blocks that the spool still has, and sent as further blocks,
 * which only exist in memory: a shipper that is killed loses those that have not arrived.
 */
#ifndef SHIP_WHOLE_H
#define SHIP_WHOLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/u64map.h"
#include "ship/ship_sample.h"

/* Numbers of these blocks: behind those of every trace. */
#define SHIP_WHOLE_FIRST (UINT64_C(1) << 62)
/* More coroutines than this, or more blocks at a time, are not sent whole. */
#define SHIP_WHOLE_COROUTINES 4096u
#define SHIP_WHOLE_BLOCKS     64u

struct ship_whole_block {
	uint64_t number;
	struct bytes data;
	uint32_t transitions, others;
	bool is_sent;
};

/* All zero: none. */
struct ship_whole {
	struct u64map from; /* coroutine: number of the first block that was not searched for it */
	uint32_t nr_coroutines;
	uint64_t refused;                            /* coroutines beyond the limit */
	uint64_t rate;                               /* N: one coroutine in N is sent anyway */
	uint64_t first;                              /* the lowest number in @from */
	uint64_t made, arrived, transitions, others; /* blocks; events in those that arrived */
	struct ship_whole_block blocks[SHIP_WHOLE_BLOCKS];
	unsigned nr_blocks; /* made, and not arrived */
};

void ship_whole_release(struct ship_whole *w);

/* The coroutine has a finding.  0 or -ENOMEM. */
int ship_whole_add(struct ship_whole *w, uint64_t probe_id);

/*
 * Make blocks of what the file of @f holds of the coroutines, from offset @begin on and before the
 * block @end.  0 or a negative errno.
 */
int ship_whole_collect(struct ship_whole *w, struct ship_sampler *sampler, const char *path,
		       const struct ship_place *begin, uint64_t end);

/* A block that was not sent; NULL: none. */
struct ship_whole_block *ship_whole_next(struct ship_whole *w);

void ship_whole_arrived(struct ship_whole *w, uint64_t number);
void ship_whole_resend(struct ship_whole *w);

#endif
