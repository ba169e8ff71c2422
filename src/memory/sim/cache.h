/* SPDX-License-Identifier: MIT */
/*
 * cache.h - one cache: the lines that it holds, and the replacement policies.
 *
 * A slot is a word: (line + 1) << 4 and four flags; 0 is empty.  If the policy depends on the
 * order of uses or insertions (LRU, FIFO, LIFO), a set is kept in that order, newest first and
 * empty slots last: the victim is at an end, and most lookups stop at the first comparison.
 * With tree-PLRU and random replacement, lines do not move.  A fully associative cache of more
 * than CACHE_WAYS_MAX lines is a pool.
 *
 * A pointer to a slot is valid until the cache changes.
 */
#ifndef MEMORY_SIM_CACHE_H
#define MEMORY_SIM_CACHE_H

#include <string.h>

#include "base/u64map.h"
#include "memory/sim/line_pool.h"
#include "memory/sim/recency.h"
#include "memory/sim/sim.h"

#define CACHE_WAYS_MAX  64u

#define SLOT_DIRTY      UINT64_C(1)
#define SLOT_SHARED     UINT64_C(2) /* caches of other cores may have the line */
#define SLOT_FOLLOWED   UINT64_C(4) /* every use is reported to sharing.h; first level only */
#define SLOT_PREFETCH   UINT64_C(8) /* prefetched, and not used since */
#define SLOT_FLAGS      UINT64_C(15)

#define SLOT_OF(line)   (((line) + 1) << 4)
#define SLOT_LINE(slot) (((slot) >> 4) - 1)

struct cache {
	uint64_t *slots;
	uint64_t *trees; /* PLRU: a bit per inner node of a set's tree */
	uint64_t nr_sets, mask;
	uint32_t ways;
	uint8_t shift; /* log2 of the line size */
	uint8_t level;
	enum sim_policy policy;
	bool is_pool;
	bool power_of_two; /* nr_sets is a power of two */
	uint64_t random;
	struct pool pool;

	/* For the classes of misses; see classes.h. */
	bool classes;
	struct recency shadow;
	struct u64map lost; /* key: line / 64; value: a bit per line */
};

/* @lines lines of 2^@shift bytes; @ways 0: fully associative.  Returns 0 or -ENOMEM. */
int cache_init(struct cache *c, uint64_t lines, uint32_t ways, uint32_t shift,
	       enum sim_policy policy, uint64_t seed, bool classes);
void cache_release(struct cache *c);

/* The slow paths of the inline functions below. */
uint64_t *cache_pool_find(const struct cache *c, uint64_t line);
uint64_t *cache_used_elsewhere(struct cache *c, uint64_t *slot);

static inline uint64_t cache_set_number(const struct cache *c, uint64_t line)
{
	return c->power_of_two ? line & c->mask : line % c->nr_sets;
}

static inline uint64_t *cache_set(const struct cache *c, uint64_t line)
{
	return c->slots + cache_set_number(c, line) * c->ways;
}

/* The slot that holds @line, or NULL. */
static inline uint64_t *cache_find(const struct cache *c, uint64_t line)
{
	uint64_t *set, want = SLOT_OF(line);
	uint32_t i;

	if (c->is_pool)
		return cache_pool_find(c, line);
	set = cache_set(c, line);
	for (i = 0; i < c->ways; i++) {
		if ((set[i] & ~SLOT_FLAGS) == want)
			return &set[i];
	}
	return NULL;
}

/* Move the line in @slot to the front of its LRU set. */
static inline uint64_t *cache_to_front(uint64_t *set, uint64_t *slot)
{
	uint64_t value = *slot;

	for (; slot > set; slot--)
		slot[0] = slot[-1];
	*set = value;
	return set;
}

/* Record a use of the line in @slot.  Returns the slot that holds the line afterwards. */
static inline uint64_t *cache_use(struct cache *c, uint64_t *slot)
{
	if (c->policy == SIM_FIFO || c->policy == SIM_LIFO || c->policy == SIM_RANDOM)
		return slot;
	if (c->is_pool || c->policy != SIM_LRU)
		return cache_used_elsewhere(c, slot);
	return cache_to_front(cache_set(c, SLOT_LINE(*slot)), slot);
}

/*
 * Insert a line that is not in the cache.  Returns its slot.  *@victim is the slot value that
 * was evicted, or 0.
 */
uint64_t *cache_insert(struct cache *c, uint64_t value, uint64_t *victim);

/* Remove the line.  Returns the value of the slot. */
uint64_t cache_remove(struct cache *c, uint64_t *slot);

/* Iterate over all lines: *@at starts at 0; returns 0 at the end. */
uint64_t cache_next(const struct cache *c, uint64_t *at);

#endif
