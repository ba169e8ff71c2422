/* SPDX-License-Identifier: MIT */
/*
 * corotracer/pool.h - take and give back the units of a shared pool.
 *
 * Used by any number of threads of any number of processes, and by the collector.  Units that
 * were given back form a stack.  Its top carries a tag that changes with every operation: a
 * thread that has read the top and was overtaken finds another tag, even if the same unit is on
 * top again.  If a thread is killed in the middle of an operation, the unit that it has just
 * taken is lost.
 *
 * Trust
 *   Other processes write the stack: a number beyond the pool's limit is not used, and every
 *   loop has a limit.
 */
#ifndef COROTRACER_POOL_H
#define COROTRACER_POOL_H

#include <corotracer/atomic.h>
#include <corotracer/lanes.h>
#include <corotracer/probe.h>

#include <corotracer/header_begin.h>

#define CTP_POOL_TRIES 1000u

/* Allocate memory for @a, at least one unit.  Returns 0 if that is impossible. */
typedef int ctp_pool_grow(void *ctx, struct ctp_arena *a);

static inline void *ctp_unit(const struct ctp_arena *a, uint32_t number)
{
	return a->units + (uint64_t)number * a->unit;
}

/* The first field of every unit is its link. */
static inline uint32_t *ctp_unit_link(const struct ctp_arena *a, uint32_t number)
{
	return (uint32_t *)ctp_unit(a, number);
}

static inline uint64_t ctp_pool_top(uint64_t before, uint32_t link)
{
	return ((before >> 32) + 1) << 32 | link;
}

/* Take a unit that was given back.  Returns 1 + its number, or 0. */
static inline uint32_t ctp_pool_pop(struct ctp_arena *a)
{
	uint32_t tries;

	for (tries = 0; tries < CTP_POOL_TRIES; tries++) {
		/* (ctp-J) pairs with the release in ctp_pool_give(). */
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

/* Take a unit that was never used.  Returns 1 + its number, or 0. */
static inline uint32_t ctp_pool_extend(struct ctp_arena *a, ctp_pool_grow *grow, void *ctx)
{
	uint32_t tries;

	for (tries = 0; tries < CTP_POOL_TRIES; tries++) {
		uint32_t used = ctp_load_relaxed(&a->pool->used);

		if (used >= a->limit)
			return 0;
		/* (ctp-K) pairs with the release in ctp_pool_committed(). */
		if (used >= ctp_load_acquire(&a->pool->committed)) {
			if (!grow(ctx, a))
				return 0;
		} else if (ctp_cas_relaxed(&a->pool->used, used, used + 1)) {
			return used + 1;
		}
	}
	return 0;
}

/* Take a unit for the caller.  Returns 1 + its number, or 0 if there is none, which is counted. */
static inline uint32_t ctp_pool_take(struct ctp_arena *a, ctp_pool_grow *grow, void *ctx)
{
	uint32_t number = ctp_pool_pop(a);

	if (!number)
		number = ctp_pool_extend(a, grow, ctx);
	if (!number)
		ctp_fetch_add_relaxed(&a->pool->refused, 1u);
	return number;
}

/* Give back a unit.  After CTP_POOL_TRIES failed attempts the unit is leaked. */
static inline void ctp_pool_give(struct ctp_arena *a, uint32_t number)
{
	uint32_t tries;

	for (tries = 0; tries < CTP_POOL_TRIES; tries++) {
		uint64_t top = ctp_load_relaxed(&a->pool->free);

		ctp_store_relaxed(ctp_unit_link(a, number), (uint32_t)top);
		/* (ctp-J) pairs with the acquire in ctp_pool_pop(). */
		if (ctp_cas_release(&a->pool->free, top, ctp_pool_top(top, number + 1)))
			return;
	}
}

/* Memory is now allocated for @now units instead of @before. */
static inline void ctp_pool_committed(struct ctp_pool *pool, uint32_t before, uint32_t now)
{
	/* (ctp-K) pairs with the acquire in ctp_pool_extend(). */
	ctp_cas_release(&pool->committed, before, now);
}

#include <corotracer/header_end.h>

#endif
