/* SPDX-License-Identifier: MIT */
/*
 * call_counts.h - accesses and misses of a function, a source line or a call.
 *
 * Counts of a call_tree are in 1/256 of an access, since an access of a sampled trace stands for
 * several; those of a call_profile are whole accesses.
 */
#ifndef MEMORY_CALLS_CALL_COUNTS_H
#define MEMORY_CALLS_CALL_COUNTS_H

#include "memory/sim/sim.h"

enum call_count {
	CALL_READS,
	CALL_WRITES,
	CALL_FROM_PEER, /* lines that another core's cache supplied */
	CALL_MISSES,    /* first level: reads, writes; then the same for each further level */
	CALL_COUNTS = CALL_MISSES + 2 * SIM_LEVELS_MAX,
};

struct call_counts {
	uint64_t n[CALL_COUNTS];
};

/* Misses of the reads and writes of @level. */
static inline uint64_t call_counts_misses(const struct call_counts *c, uint32_t level)
{
	return c->n[CALL_MISSES + 2 * level] + c->n[CALL_MISSES + 2 * level + 1];
}

void call_counts_add(struct call_counts *to, const struct call_counts *from);

/* Estimated cost of the misses in cycles, as blame_cost(). */
uint64_t call_counts_cost(const struct call_counts *c, uint32_t nr_levels);

#endif
