/* SPDX-License-Identifier: MIT */
/*
 * lane_bed.h - lanes in plain memory, a clock that tests set, and a drain over both.
 *
 * For programs that are linked with --wrap=tickclock_mark: the drain reads the time that
 * bed_now() set last.  One tick is half a nanosecond, so that two ticks in a row
 * can be the same time.
 */
#ifndef LANE_BED_H
#define LANE_BED_H

#include <corotracer/lanes.h>
#include <corotracer/pool.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/lane_scan.h"

#define BED_UNUSED __attribute__((unused))

#ifndef BED_LANES
#define BED_LANES  8u
#define BED_CHUNKS 16u
#endif
#define BED_LIVES 8u
#define BED_SITES 8u

/* The first mark.  The counter may be much older than the clock, as often in a virtual machine. */
#define BED_TICKS0 UINT64_C(2000000000000000)
#define BED_NS0    UINT64_C(5000000000000)

static struct ctp_ext_lanes bed_ext;
static struct ctp_lane bed_lanes[BED_LANES];
static struct ctp_chunk bed_chunks[BED_CHUNKS];
static struct ctp_life bed_lives[BED_LIVES];
static struct ctp_site bed_sites[BED_SITES];
static struct lanes bed;
static struct tickclock bed_clock;
static uint64_t bed_ticks;
static void (*bed_before_mark)(void); /* called just before the drain reads the time */

static inline uint64_t bed_ns(uint64_t ticks)
{
	return BED_NS0 + (ticks - BED_TICKS0) / 2;
}

bool __wrap_tickclock_mark(struct tickclock *tc);
bool __wrap_tickclock_mark(struct tickclock *tc)
{
	if (bed_before_mark)
		bed_before_mark();
	tickclock_add(tc, bed_ticks, bed_ns(bed_ticks));
	return true;
}

/* Set the time to @ticks since the beginning. */
BED_UNUSED static void bed_now(uint64_t ticks)
{
	bed_ticks = BED_TICKS0 + ticks;
}

BED_UNUSED static void bed_pool(struct ctp_arena *a, struct ctp_pool *pool, void *units,
				uint32_t unit, uint32_t limit)
{
	pool->unit = unit;
	pool->limit = pool->committed = limit;
	*a = (struct ctp_arena){ pool, units, unit, limit };
}

/* All empty, and the clock at its first mark. */
BED_UNUSED static void bed_make(void)
{
	memset(&bed_ext, 0, sizeof(bed_ext));
	memset(bed_lanes, 0, sizeof(bed_lanes));
	memset(bed_chunks, 0, sizeof(bed_chunks));
	memset(bed_lives, 0, sizeof(bed_lives));
	memset(bed_sites, 0, sizeof(bed_sites));
	memset(&bed, 0, sizeof(bed));
	memset(&bed_clock, 0, sizeof(bed_clock));
	bed.ext = &bed_ext;
	bed.fd = -1;
	bed_pool(&bed.lanes, &bed_ext.lanes, bed_lanes, sizeof(struct ctp_lane), BED_LANES);
	bed_pool(&bed.chunks, &bed_ext.chunks, bed_chunks, sizeof(struct ctp_chunk), BED_CHUNKS);
	bed_pool(&bed.lives, &bed_ext.lives, bed_lives, sizeof(struct ctp_life), BED_LIVES);
	bed_pool(&bed.sites, &bed_ext.sites, bed_sites, sizeof(struct ctp_site), BED_SITES);
	bed_clock.usable = true;
	bed_now(0);
	tickclock_add(&bed_clock, BED_TICKS0, BED_NS0);
	bed_now(1000000000);
}

#endif
