/* SPDX-License-Identifier: MIT */
/* call_counts.c - sums of counts, and what their misses cost. */
#include "memory/calls/call_counts.h"

#include "memory/blame/blame.h"

void call_counts_add(struct call_counts *to, const struct call_counts *from)
{
	uint32_t i;

	for (i = 0; i < CALL_COUNTS; i++)
		to->n[i] += from->n[i];
}

uint64_t call_counts_cost(const struct call_counts *c, uint32_t nr_levels)
{
	uint64_t cost = c->n[CALL_FROM_PEER] * BLAME_PEER_COST;
	uint32_t i;

	for (i = 0; i < nr_levels; i++)
		cost += call_counts_misses(c, i) * blame_level_cost(i, nr_levels);
	return cost;
}
