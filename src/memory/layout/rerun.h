/* SPDX-License-Identifier: MIT */
/*
 * rerun.h - the trace once more, as if some types had other layouts.
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
#ifndef MEMORY_LAYOUT_RERUN_H
#define MEMORY_LAYOUT_RERUN_H

#include "memory/layout/pieces.h"
#include "memory/record.h"
#include "memory/sim/sim.h"
#include "memory/types/places.h"

struct rerun;

/* The configuration is copied.  NULL: no memory, or the configuration is impossible. */
struct rerun *rerun_new(const struct sim_config *config, struct err *err);

/* Of this type from now on; @moved: its blocks move even if they need not.  0 or -ENOMEM. */
int rerun_shape(struct rerun *r, const struct shape *s, bool moved);

/* A record of the trace; for accesses, what lies there.  0 or -ENOMEM. */
int rerun_record(struct rerun *r, const struct mem_record *rec, const struct place *place,
		 const struct owner *owner);

/* At the end. */
int rerun_finish(struct rerun *r);

struct sim *rerun_sim(struct rerun *r);

/* Where an access would go, for tests: the address of its first byte.  0 or -ENOMEM. */
int rerun_address(struct rerun *r, uint64_t address, const struct place *place,
		  const struct owner *owner, uint64_t *out);

void rerun_free(struct rerun *r);

#endif
