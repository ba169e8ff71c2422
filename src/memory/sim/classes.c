/* SPDX-License-Identifier: MIT */
/* classes.c - classify misses: cold, capacity, conflict or coherence. */
#include "memory/sim/classes.h"

#include "memory/sim/lru_run.h"

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

/* A use that missed, if the lines of the shadow are apart from the cells. */
static inline int classes_miss_apart(struct recency *r, uint64_t line, bool was_lost)
{
	bool in_shadow = line_queue_use(&r->lines, line);
	int seen;

	if (was_lost)
		return SIM_COHERENCE;
	if (in_shadow)
		return SIM_CONFLICT;
	seen = recency_mark(r, line);
	return seen < 0 ? seen : seen ? SIM_CAPACITY : SIM_COLD;
}

/* The class of a miss with cells. */
static inline int classes_of_miss(uint32_t *cell, bool in_shadow, bool was_lost)
{
	bool seen = *cell & RECENCY_MARK;

	if (was_lost)
		return SIM_COHERENCE;
	if (in_shadow)
		return SIM_CONFLICT;
	*cell |= RECENCY_MARK;
	return seen ? SIM_CAPACITY : SIM_COLD;
}

/* A use that missed, with cells. */
static int classes_miss_cells(struct recency *r, uint64_t line, bool was_lost)
{
	uint32_t *cell = recency_cell(r, line);
	bool in_shadow;

	if (!cell)
		return -ENOMEM;
	if (recency_is_full(r))
		recency_renumber(r);
	in_shadow = r->last == line || recency_use(r, cell, r->is_large);
	r->last = line;
	return classes_of_miss(cell, in_shadow, was_lost);
}

int classes_miss(struct cache *c, uint64_t line, bool was_lost)
{
	return c->shadow.is_apart ? classes_miss_apart(&c->shadow, line, was_lost)
				  : classes_miss_cells(&c->shadow, line, was_lost);
}

/* See classes_of_uses().  Adds to @sums. */
static int classes_add_apart(struct cache *c, uint64_t *uses, uint32_t nr, uint64_t (*sums)[2])
{
	struct recency *r = &c->shadow;
	uint32_t i;

	for (i = 0; i < nr; i++) {
		uint64_t use = uses[i];
		int class = 0;

		if (i + 2 * RECENCY_AHEAD < nr) {
			recency_fetch_page(r, SLOT_LINE(uses[i + 2 * RECENCY_AHEAD]));
			recency_fetch(r, SLOT_LINE(uses[i + RECENCY_AHEAD]), true);
		}
		if (!(use & USE_MISS)) {
			line_queue_use(&r->lines, SLOT_LINE(use));
			continue;
		}
		class = classes_miss_apart(r, SLOT_LINE(use), false);
		if (class < 0)
			return class;
		uses[i] |= (uint64_t) class << 2;
		sums[class][use & USE_WRITE]++;
	}
	return 0;
}

/* There is no cell at hand for @line, or no time for its use.  Returns its cell; NULL: no memory.
 */
static uint32_t *classes_find_cell(struct recency *r, uint64_t line)
{
	if (recency_is_full(r))
		recency_renumber(r);
	return recency_cell(r, line);
}

/*
 * The same with cells; @is_large and @fetches are constants for the compiler.  The cells of a small
 * cache are in a cache of the host, or they are apart.
 */
static inline __attribute__((always_inline)) int
classes_add_cells(struct recency *shadow, uint64_t *uses, uint32_t nr, uint64_t (*sums)[2],
		  const bool is_large, const bool fetches)
{
	struct recency r = *shadow; /* local: what is stored may alias it */
	uint32_t i;

	for (i = 0; i < nr; i++) {
		uint64_t use = uses[i], line = SLOT_LINE(use);
		bool in_shadow = r.last == line;
		uint32_t *cell;
		int class;

		if (fetches && i + 2 * RECENCY_AHEAD < nr) {
			recency_fetch_page(&r, SLOT_LINE(uses[i + 2 * RECENCY_AHEAD]));
			recency_fetch(&r, SLOT_LINE(uses[i + RECENCY_AHEAD]), false);
		}
		cell = recency_page_at_hand(&r, line);
		if (__builtin_expect(!cell || recency_is_full(&r), 0)) {
			*shadow = r;
			cell = classes_find_cell(shadow, line);
			r = *shadow;
			if (!cell)
				return -ENOMEM;
		} else {
			cell += line % RECENCY_PAGE;
		}
		if (!in_shadow)
			in_shadow = recency_use(&r, cell, is_large);
		r.last = line;
		if (!(use & USE_MISS))
			continue;
		class = classes_of_miss(cell, in_shadow, false);
		uses[i] = use | (uint64_t) class << 2;
		sums[class][use & USE_WRITE]++;
	}
	*shadow = r;
	return 0;
}

int classes_of_uses(struct cache *c, uint64_t *uses, uint32_t nr, uint64_t weight,
		    uint64_t (*counts)[2])
{
	uint64_t sums[SIM_CLASSES][2] = { 0 };
	uint32_t i;
	int ret;

	recency_adapt(&c->shadow);
	if (c->shadow.is_apart)
		ret = classes_add_apart(c, uses, nr, sums);
	else if (c->shadow.is_large && c->shadow.nr_pages > RECENCY_NEAR)
		ret = classes_add_cells(&c->shadow, uses, nr, sums, true, true);
	else if (c->shadow.is_large)
		ret = classes_add_cells(&c->shadow, uses, nr, sums, true, false);
	else
		ret = classes_add_cells(&c->shadow, uses, nr, sums, false, false);
	if (ret < 0)
		return ret;
	for (i = 0; i < SIM_CLASSES; i++) {
		counts[i][SIM_READS] += sums[i][SIM_READS] * weight;
		counts[i][SIM_WRITES] += sums[i][SIM_WRITES] * weight;
	}
	return 0;
}
