/* SPDX-License-Identifier: MIT */
/*
 * corotracer/pool.h - take and give back the units of a shared pool.
 *
 * Any number of threads of any number of processes, and the collector.  A stack of
 * those given back, whose top carries a tag that changes with every step: who took a
 * look at the top and was overtaken finds another tag, even if the same unit is on
 * top again.  A thread that dies in between takes with it what it has just taken.
 *
 * Trust
 *   What the stack says is written by others: a number beyond the pool's limit is not
 *   followed, and no loop is longer than it needs to be.
 */
#ifndef COROTRACER_POOL_H
#define COROTRACER_POOL_H

#include <corotracer/atomic.h>
#include <corotracer/lanes.h>
#include <corotracer/probe.h>

#define CTP_POOL_TRIES 1000u

/* More memory for @a, at least one unit.  0: there is none. */
typedef int ctp_pool_grow(void *ctx, struct ctp_arena *a);

static inline void *ctp_unit(const struct ctp_arena *a, uint32_t number)
{
	return a->units + (uint64_t)number * a->unit;
}

/* Every unit starts with its link. */
static inline uint32_t *ctp_unit_link(const struct ctp_arena *a, uint32_t number)
{
	return (uint32_t *)ctp_unit(a, number);
}

static inline uint64_t ctp_pool_top(uint64_t before, uint32_t link)
{
	return ((before >> 32) + 1) << 32 | link;
}

/* One of those given back: 1 + its number, or 0. */
static inline uint32_t ctp_pool_pop(struct ctp_arena *a)
{
	uint32_t tries;

	for (tries = 0; tries < CTP_POOL_TRIES; tries++) {
		/* (J) pairs with the release in ctp_pool_give(). */
		uint64_t top = ctp_load_acquire(&a->pool->free);
		uint32_t number = (uint32_t)top;

		if (!number || number > a->limit)
			return 0;
		if (ctp_cas_relaxed(&a->pool->free, top,
				    ctp_pool_top(top,
						 ctp_load_relaxed(ctp_unit_link(a, number - 1)))))
			return number;
	}
	return 0;
}

/* One that nobody has had yet: 1 + its number, or 0. */
static inline uint32_t ctp_pool_extend(struct ctp_arena *a, ctp_pool_grow *grow, void *ctx)
{
	uint32_t tries;

	for (tries = 0; tries < CTP_POOL_TRIES; tries++) {
		uint32_t used = ctp_load_relaxed(&a->pool->used);

		if (used >= a->limit)
			return 0;
		/* (K) pairs with the release in ctp_pool_committed(). */
		if (used >= ctp_load_acquire(&a->pool->committed)) {
			if (!grow(ctx, a))
				return 0;
		} else if (ctp_cas_relaxed(&a->pool->used, used, used + 1)) {
			return used + 1;
		}
	}
	return 0;
}

/* 1 + the number of a unit that is now the caller's; 0: none to be had, which is counted. */
static inline uint32_t ctp_pool_take(struct ctp_arena *a, ctp_pool_grow *grow, void *ctx)
{
	uint32_t number = ctp_pool_pop(a);

	if (!number)
		number = ctp_pool_extend(a, grow, ctx);
	if (!number)
		ctp_fetch_add_relaxed(&a->pool->refused, 1u);
	return number;
}

/* The unit is nobody's any more. */
static inline void ctp_pool_give(struct ctp_arena *a, uint32_t number)
{
	uint32_t tries;

	for (tries = 0; tries < CTP_POOL_TRIES; tries++) {
		uint64_t top = ctp_load_relaxed(&a->pool->free);

		ctp_store_relaxed(ctp_unit_link(a, number), (uint32_t)top);
		/* (J) pairs with the acquire in ctp_pool_pop(). */
		if (ctp_cas_release(&a->pool->free, top, ctp_pool_top(top, number + 1)))
			return;
	}
}

/* There is memory for @now units where there was for @before. */
static inline void ctp_pool_committed(struct ctp_pool *pool, uint32_t before, uint32_t now)
{
	/* (K) pairs with the acquire in ctp_pool_extend(). */
	ctp_cas_release(&pool->committed, before, now);
}

#endif
