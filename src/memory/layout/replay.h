/* SPDX-License-Identifier: MIT */
/*
 * replay.h - the trace once more, as if some types had other layouts.
 *
 * Every replay has a simulator of its own; many run beside each other over one reading of the
 * trace.  Accesses to records of a reshaped type go where their field lies now; all others
 * go where they went.
 *
 * Blocks whose elements change their size or alignment cannot stay where they are.  They move to
 * an address space of our own: variables and long blocks keep their offset in a page, short
 * blocks lie as an allocator would put them, one after the other, freed ones used again.  The
 * difference that moving makes is not the layout's merit, so what such a shape is compared with
 * is the layout as it is, moved in the same way.
 */
#ifndef MEMORY_LAYOUT_REPLAY_H
#define MEMORY_LAYOUT_REPLAY_H

#include "memory/layout/pieces.h"
#include "memory/record.h"
#include "memory/sim/sim.h"
#include "memory/types/places.h"

struct replay;

/* The configuration is copied.  NULL: no memory, or the configuration is impossible. */
struct replay *replay_new(const struct sim_config *config, struct err *err);

/* Of this type from now on; @moved: its blocks move even if they need not.  0 or -ENOMEM. */
int replay_shape(struct replay *r, const struct shape *s, bool moved);

/* A record of the trace; for accesses, what lies there.  0 or -ENOMEM. */
int replay_record(struct replay *r, const struct mem_record *rec, const struct place *place,
		  const struct owner *owner);

/* At the end. */
int replay_finish(struct replay *r);

struct sim *replay_sim(struct replay *r);

/* Where an access would go, for tests: the address of its first byte.  0 or -ENOMEM. */
int replay_address(struct replay *r, uint64_t address, const struct place *place,
		   const struct owner *owner, uint64_t *out);

void replay_free(struct replay *r);

#endif
