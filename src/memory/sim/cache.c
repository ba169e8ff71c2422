/* SPDX-License-Identifier: MIT */
/* cache.c - one cache: the lines that it holds, and the replacement policies. */
#include "memory/sim/cache.h"

#include <errno.h>
#include <stdlib.h>

#include "base/large_table.h"

int cache_init(struct cache *c, uint64_t lines, uint32_t ways, uint32_t shift,
	       enum sim_policy policy, uint64_t seed, bool classes)
{
	memset(c, 0, sizeof(*c));
	c->ways = ways ? ways : (uint32_t)lines;
	c->nr_sets = lines / c->ways;
	c->mask = c->nr_sets - 1;
	c->power_of_two = !(c->nr_sets & c->mask);
	c->shift = (uint8_t)shift;
	c->policy = policy;
	c->random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
	if (!c->random)
		c->random = 1;
	c->is_pool = c->ways > CACHE_WAYS_MAX;
	c->classes = classes;
	if (c->is_pool && pool_init(&c->pool, lines) < 0)
		return -ENOMEM;
	if (classes && recency_init(&c->shadow, lines) < 0)
		return -ENOMEM;
	if (c->is_pool)
		return 0;
	c->slots = large_table_zeroed(lines * sizeof(*c->slots));
	if (policy == SIM_PLRU)
		c->trees = calloc(c->nr_sets, sizeof(*c->trees));
	return c->slots && (c->trees || policy != SIM_PLRU) ? 0 : -ENOMEM;
}

void cache_release(struct cache *c)
{
	free(c->slots);
	free(c->trees);
	pool_release(&c->pool);
	recency_release(&c->shadow);
	u64map_release(&c->lost);
}

/* A pseudo-random number below @nr. */
static uint32_t random_below(struct cache *c, uint32_t nr)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return nr ? (uint32_t)((c->random >> 16) % nr) : 0;
}

/* ---- tree-PLRU ----------------------------------------------------------- */

/*
 * Inner nodes are numbered from 1, children of n are 2n and 2n + 1.  A bit says which child
 * was used less recently: 0 the left, 1 the right.
 */
static void tree_use(struct cache *c, uint64_t set, uint32_t way)
{
	uint64_t *tree = &c->trees[set];
	uint32_t node = c->ways + way;

	for (; node > 1; node /= 2) {
		uint64_t bit = UINT64_C(1) << (node / 2);

		if (node & 1)
			*tree &= ~bit;
		else
			*tree |= bit;
	}
}

static uint32_t tree_victim(const struct cache *c, uint64_t set)
{
	uint32_t node = 1;

	while (node < c->ways)
		node = 2 * node + (uint32_t)(c->trees[set] >> node & 1);
	return node - c->ways;
}

/* ---- pools --------------------------------------------------------------- */

uint64_t *cache_pool_find(const struct cache *c, uint64_t line)
{
	uint32_t node = pool_find(&c->pool, SLOT_OF(line));

	return node ? &c->pool.nodes[node].value : NULL;
}

static uint32_t node_of(const struct cache *c, const uint64_t *slot)
{
	const char *at = (const char *)slot - offsetof(struct pool_node, value);

	return (uint32_t)((const struct pool_node *)(const void *)at - c->pool.nodes);
}

uint64_t *cache_used_elsewhere(struct cache *c, uint64_t *slot)
{
	uint64_t line = SLOT_LINE(*slot);

	if (c->is_pool)
		pool_to_front(&c->pool, node_of(c, slot));
	else
		tree_use(c, cache_set_number(c, line), (uint32_t)(slot - cache_set(c, line)));
	return slot;
}

static uint64_t *pool_insert(struct cache *c, uint64_t value, uint64_t *victim)
{
	struct pool *p = &c->pool;
	uint32_t node;

	*victim = 0;
	if (pool_full(p)) {
		/* The pool is full, so every node number from 1 to its size is in use. */
		if (c->policy == SIM_RANDOM)
			node = 1 + random_below(c, p->size);
		else
			node = c->policy == SIM_LIFO ? p->newest : p->oldest;
		*victim = p->nodes[node].value;
		pool_remove(p, node);
	}
	return &p->nodes[pool_add(p, value)].value;
}

/* ---- sets ---------------------------------------------------------------- */

static bool is_ordered(const struct cache *c)
{
	return c->policy == SIM_LRU || c->policy == SIM_FIFO || c->policy == SIM_LIFO;
}

/* Move @nr slots; the ranges may overlap. */
static void cache_move(const uint64_t *from, uint64_t *to, size_t nr)
{
	size_t i;

	if (to < from) {
		for (i = 0; i < nr; i++)
			to[i] = from[i];
	} else {
		for (i = nr; i-- > 0;)
			to[i] = from[i];
	}
}

static uint64_t *insert_in_front(struct cache *c, uint64_t *set, uint64_t value, uint64_t *victim)
{
	uint32_t last = c->ways - 1;

	*victim = set[last];
	if (*victim && c->policy == SIM_LIFO) {
		*victim = set[0];
		set[0] = value;
		return set;
	}
	if (!*victim) {
		for (last = 0; set[last]; last++)
			;
	}
	cache_move(set, set + 1, last);
	set[0] = value;
	return set;
}

uint64_t *cache_insert(struct cache *c, uint64_t value, uint64_t *victim)
{
	uint64_t number, *set;
	uint32_t way;

	if (c->is_pool)
		return pool_insert(c, value, victim);
	number = cache_set_number(c, SLOT_LINE(value));
	set = c->slots + number * c->ways;
	if (is_ordered(c))
		return insert_in_front(c, set, value, victim);
	for (way = 0; way < c->ways && set[way]; way++)
		;
	if (way == c->ways && c->policy == SIM_PLRU)
		way = tree_victim(c, number);
	else if (way == c->ways)
		way = random_below(c, c->ways);
	*victim = set[way];
	set[way] = value;
	if (c->policy == SIM_PLRU)
		tree_use(c, number, way);
	return &set[way];
}

uint64_t cache_remove(struct cache *c, uint64_t *slot)
{
	uint64_t value = *slot;

	if (c->is_pool) {
		pool_remove(&c->pool, node_of(c, slot));
		return value;
	}
	if (is_ordered(c)) {
		uint64_t *end = cache_set(c, SLOT_LINE(value)) + c->ways - 1;

		cache_move(slot + 1, slot, (size_t)(end - slot));
		slot = end;
	}
	*slot = 0;
	return value;
}

uint64_t cache_next(const struct cache *c, uint64_t *at)
{
	while (*at < (c->is_pool ? c->pool.fresh : c->nr_sets * c->ways)) {
		uint64_t value = c->is_pool ? c->pool.nodes[*at].value : c->slots[*at];

		++*at;
		if (value)
			return value;
	}
	return 0;
}
