/* SPDX-License-Identifier: MIT */
/* classes.c - classify misses: cold, capacity, conflict or coherence. */
#include "memory/sim/classes.h"

int classes_lost(struct cache *c, uint64_t line)
{
	uint64_t *bits = u64map_at(&c->lost, line / 64);

	if (!bits)
		return -ENOMEM;
	*bits |= UINT64_C(1) << line % 64;
	return 0;
}

bool classes_was_lost(struct cache *c, uint64_t line)
{
	uint64_t bits, bit = UINT64_C(1) << line % 64;

	if (!u64map_get(&c->lost, line / 64, &bits) || !(bits & bit))
		return false;
	*u64map_at(&c->lost, line / 64) &= ~bit; /* the key exists: this call allocates nothing */
	return true;
}

int classes_miss(struct cache *c, uint64_t line, bool was_lost)
{
	uint32_t *cell = recency_cell(&c->shadow, line);
	bool in_shadow, seen;

	if (!cell)
		return -ENOMEM;
	seen = *cell & RECENCY_MARK;
	in_shadow = c->shadow.last == line || recency_use(&c->shadow, cell);
	c->shadow.last = line;
	if (was_lost)
		return SIM_COHERENCE;
	if (in_shadow)
		return SIM_CONFLICT;
	*cell |= RECENCY_MARK;
	return seen ? SIM_CAPACITY : SIM_COLD;
}
