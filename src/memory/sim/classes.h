/* SPDX-License-Identifier: MIT */
/*
 * classes.h - classify misses: cold, capacity, conflict or coherence.
 *
 * Each cache has a shadow: a fully associative LRU cache of the same size that sees the same
 * uses.  The mark of a line's cell records whether the line was ever used; a map records whether
 * another core took it away.  Both grow with the memory that the program touches.
 */
#ifndef MEMORY_SIM_CLASSES_H
#define MEMORY_SIM_CLASSES_H

#include <errno.h>

#include "memory/sim/cache.h"

/* Record a use of @line in the shadow of @c.  Returns 0 or -ENOMEM. */
static inline int classes_use(struct cache *c, uint64_t line)
{
	struct recency *r = &c->shadow;
	uint32_t *cell;

	if (r->is_apart) {
		line_queue_use(&r->lines, line);
		return 0;
	}
	if (r->last == line)
		return 0;
	cell = recency_cell(r, line);
	if (!cell)
		return -ENOMEM;
	r->last = line;
	if (recency_is_full(r))
		recency_renumber(r);
	recency_use(r, cell, r->is_large);
	return 0;
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

/*
 * Take uses that lru_run.h noted to the shadow of @c: adds @weight to @counts for each miss, and
 * stores its class in the use.  No core has taken a line away.  Returns 0 or -ENOMEM.
 */
int classes_of_uses(struct cache *c, uint64_t *uses, uint32_t nr, uint64_t weight,
		    uint64_t (*counts)[2]);

#endif
