/* SPDX-License-Identifier: MIT */
/*
 * classes.h - classify misses: cold, capacity, conflict or coherence.
 *
 * Each cache has a shadow: a fully associative LRU cache of the same size that sees the same
 * uses.  One bit per line records whether the line was ever used, another whether another core
 * took it away.  Both maps grow with the memory that the program touches.
 */
#ifndef MEMORY_SIM_CLASSES_H
#define MEMORY_SIM_CLASSES_H

#include "memory/sim/cache.h"

/* Record a use of @line in the shadow of @c.  Returns true if the shadow held the line. */
static inline bool classes_use(struct cache *c, uint64_t line)
{
	struct pool *p = &c->shadow;
	uint64_t value = SLOT_OF(line);
	uint32_t node;

	if (p->nodes[p->newest].value == value) /* node 0 is always empty */
		return true;
	node = pool_find(p, value);
	if (node) {
		pool_to_front(p, node);
		return true;
	}
	if (pool_full(p)) {
		pool_remove(p, p->oldest);
		pool_fetch(p, p->nodes[p->oldest].value); /* the next victim */
	}
	pool_add(p, value);
	return false;
}

/* Record a use of the line in @slot.  In most cases c->nodes has its node in the shadow. */
static inline void classes_hit(struct cache *c, const uint64_t *slot)
{
	struct pool *p = &c->shadow;
	uint64_t value = *slot & ~SLOT_FLAGS;
	uint32_t *node;

	if (!c->nodes) {
		classes_use(c, SLOT_LINE(value));
		return;
	}
	node = &c->nodes[slot - c->slots];
	if (p->nodes[*node].value == value) {
		pool_to_front(p, *node);
		return;
	}
	classes_use(c, SLOT_LINE(value));
	*node = p->newest;
}

/* A use has just inserted the line in @slot: store its node in the shadow. */
static inline void classes_came(struct cache *c, const uint64_t *slot)
{
	if (c->nodes)
		c->nodes[slot - c->slots] = c->shadow.newest;
}

/* Another core took the line away.  Returns 0 or -ENOMEM. */
int classes_lost(struct cache *c, uint64_t line);

/*
 * True if another core took the line away and this cache has not asked for it since.  Clears the
 * mark.
 */
bool classes_was_lost(struct cache *c, uint64_t line);

/* Record the use that missed, and return the class of the miss, or -ENOMEM. */
int classes_miss(struct cache *c, uint64_t line, bool was_lost);

#endif
