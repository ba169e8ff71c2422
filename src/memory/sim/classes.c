/* SPDX-License-Identifier: MIT */
/* classes.c - classify misses: cold, capacity, conflict or coherence. */
#include "memory/sim/classes.h"

#include <errno.h>

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
	bool in_shadow = classes_use(c, line);
	uint64_t *seen, bit = UINT64_C(1) << line % 64;

	if (was_lost)
		return SIM_COHERENCE;
	if (in_shadow)
		return SIM_CONFLICT;
	seen = u64map_at(&c->seen, line / 64);
	if (!seen)
		return -ENOMEM;
	if (*seen & bit)
		return SIM_CAPACITY;
	*seen |= bit;
	return SIM_COLD;
}
