/* SPDX-License-Identifier: MIT */
/*
 * replay_layout.h - replay a trace as if some types had other layouts.
 *
 * Every replay has its own simulator; many replays share one pass over the trace.  Accesses to
 * records of a reshaped type go to the new address of their field; all other accesses keep their
 * address.  Of the results only misses count: an access that cannot change them is not simulated.
 *
 * Blocks whose elements change their size or alignment cannot stay at their address.  They move
 * to a separate address range: variables and long blocks keep their offset in a page; short
 * blocks are placed as malloc() of glibc would place them, in its size classes, one after the
 * other, with reuse of freed ones of the same class.  Moving alone changes the number of misses,
 * and the layout must not get credit for that. So such a shape is compared with the current layout,
 * moved in the same way.
 */
#ifndef MEMORY_LAYOUT_REPLAY_LAYOUT_H
#define MEMORY_LAYOUT_REPLAY_LAYOUT_H

#include "memory/layout/members.h"
#include "memory/format/mem_record.h"
#include "memory/sim/sim.h"
#include "memory/types/address_owner.h"

struct rerun;

/*
 * An access to the line that its set of the first level used last hits, and leaves the caches as
 * they are, unless it is the first write.  Only misses are of interest here: such accesses need not
 * be simulated.  False: prefetches, or levels that take lines from those above, change the set.
 */
bool rerun_can_skip(const struct sim_config *config);

/* Sets of the first level. */
uint64_t rerun_sets(const struct sim_config *config);

/* Copies the configuration.  NULL: no memory, or the configuration is invalid. */
struct rerun *rerun_new(const struct sim_config *config, struct err *err);

/*
 * Use @s for its type from now on; @moved: move its blocks even if they could stay.  Returns 0
 * or -ENOMEM.
 */
int rerun_shape(struct rerun *r, const struct shape *s, bool moved);

/* Process a record that is not an access.  Returns 0 or -ENOMEM. */
int rerun_record(struct rerun *r, const struct mem_record *rec);

/* False: accesses to data of @owner keep their address. */
bool rerun_reshapes(const struct rerun *r, const struct owner *owner);

/* The data of an access that may change its address. */
struct rerun_place {
	uint32_t index; /* of the access */
	struct address_owner place;
	const struct owner *owner;
};

/*
 * Process accesses of one thread.  All that are not in @places, which are sorted, keep their
 * address.  Returns 0 or -ENOMEM.
 */
int rerun_accesses(struct rerun *r, uint32_t thread, uint32_t weight_256,
		   const struct mem_access *access, size_t nr, const struct rerun_place *places,
		   size_t nr_places);

/* Call it once, after the last record. */
int rerun_finish(struct rerun *r);

struct sim *rerun_sim(struct rerun *r);

/* For tests: the new address of the first byte of an access.  Returns 0 or -ENOMEM. */
int rerun_address(struct rerun *r, uint64_t address, const struct address_owner *place,
		  const struct owner *owner, uint64_t *out);

void rerun_free(struct rerun *r);

#endif
