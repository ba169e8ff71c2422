/* SPDX-License-Identifier: MIT */
/*
 * classes.h - why a cache did not have a line.
 *
 * Beside the cache stands a shadow: a fully associative LRU cache of the same size that sees
 * the same uses.  Which lines were ever used, and which were taken away by other cores, is
 * a bit per line; both maps grow with the memory that the program touches.
 */
#ifndef MEMORY_SIM_CLASSES_H
#define MEMORY_SIM_CLASSES_H

#include "memory/sim/cache.h"

/* A line of @c is used.  True: the shadow had it. */
static inline bool classes_use(struct cache *c, uint64_t line)
{
	struct pool *p = &c->shadow;
	uint64_t value = SLOT_OF(line);
	uint32_t node;

	if (p->nodes[p->newest].value == value) /* node 0 is empty */
		return true;
	node = pool_find(p, value);
	if (node) {
		pool_to_front(p, node);
		return true;
	}
	if (pool_full(p)) {
		pool_remove(p, p->oldest);
		pool_fetch(p, p->nodes[p->oldest].value); /* it is the next to go */
	}
	pool_add(p, value);
	return false;
}

/* The line in @slot of @c is used: most often its place in the shadow is known. */
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

/* The line in @slot has just come in, by a use. */
static inline void classes_came(struct cache *c, const uint64_t *slot)
{
	if (c->nodes)
		c->nodes[slot - c->slots] = c->shadow.newest;
}

/* Another core took the line away.  0 or -ENOMEM. */
int classes_lost(struct cache *c, uint64_t line);

/* It was taken away, and was not asked for since.  From now on it was. */
bool classes_was_lost(struct cache *c, uint64_t line);

/* The class of a miss, which is a use.  -ENOMEM. */
int classes_miss(struct cache *c, uint64_t line, bool was_lost);

#endif
