/* SPDX-License-Identifier: MIT */
/* chunk_parking.c - return the memory of chunks that a burst needed and nothing uses any more. */
#include "collect/chunk_parking.h"

#include <corotracer/atomic.h>
#include <corotracer/pool.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "collect/lane_memory.h"

#define STEP_NS   (100 * NS_PER_MS) /* between two steps */
#define STEP_PART 32u               /* a step takes at most this part of the time since the last */
#define STEP_MOST (30 * NS_PER_MS)
#define GIVE_STEP 256u /* chunks that one poll gives back at most */

/* The part of a chunk that has no memory while it is parked. */
static uint64_t parking_hole(void)
{
	long page = sysconf(_SC_PAGESIZE);

	return page > 0 && (unsigned long)page < CTP_CHUNK_SIZE ? CTP_CHUNK_SIZE - (uint64_t)page
								: 0;
}

static int parking_fallocate(const struct lanes *l, uint32_t number, int mode)
{
	uint64_t hole = parking_hole();
	uint64_t at = l->offset + (uint64_t)((char *)ctp_unit(&l->chunks, number) - l->map);

	return fallocate(l->fd, mode | FALLOC_FL_KEEP_SIZE, (off_t)(at + CTP_CHUNK_SIZE - hole),
			 (off_t)hole);
}

/*
 * Chunks with memory that no lane has, about: programs take some meanwhile, and chunks that a
 * killed thread had just taken count as free.
 */
static uint32_t parking_free(const struct lanes *l)
{
	uint32_t used = lane_memory_committed(&l->chunks), nr = lanes_used(&l->lanes), i;
	uint64_t held = l->parking.nr;

	for (i = 0; i < nr; i++) {
		const struct ctp_lane *lane = lanes_lane(l, i);
		uint32_t has = ctp_load_relaxed(&lane->taken) - ctp_load_relaxed(&lane->returned);

		held += has < used ? has : used;
	}
	return held < used ? used - (uint32_t)held : 0;
}

/* ---- to the programs ------------------------------------------------------------- */

/* Chunks get their memory first.  On a full file system they stay parked until later. */
static void parking_give(struct lanes *l, uint32_t nr)
{
	struct chunk_parking *p = &l->parking;

	for (; nr && p->nr; nr--) {
		if (parking_fallocate(l, p->chunks[p->nr - 1], 0) < 0) {
			if (!l->starved)
				l->starved = errno;
			return;
		}
		ctp_pool_give(&l->chunks, p->chunks[--p->nr]);
	}
}

/* ---- from the programs ----------------------------------------------------------- */

static bool parking_has_room(struct chunk_parking *p)
{
	uint32_t room = p->room ? p->room * 2 : 1024;
	uint32_t *more = p->nr < p->room ? p->chunks : reallocarray(p->chunks, room, sizeof(*more));

	if (!more)
		return false;
	p->room = p->nr < p->room ? p->room : room;
	p->chunks = more;
	return true;
}

/* The collector takes no chunk without memory. */
static int parking_no_growth(void *ctx, struct ctp_arena *a)
{
	(void)ctx;
	(void)a;
	return 0;
}

/* Chunks that were never used first: those that were given back are in the caches. */
static uint32_t parking_pick(struct lanes *l)
{
	uint32_t number = ctp_pool_extend(&l->chunks, parking_no_growth, NULL);

	return number ? number : ctp_pool_pop(&l->chunks);
}

/* False: no chunk was parked, and further attempts make no sense now. */
static bool parking_take(struct lanes *l)
{
	struct chunk_parking *p = &l->parking;
	uint32_t number = parking_has_room(p) ? parking_pick(l) : 0;

	if (!number)
		return false;
	if (parking_fallocate(l, number - 1, FALLOC_FL_PUNCH_HOLE) < 0) {
		p->is_off = true;
		ctp_pool_give(&l->chunks, number - 1);
		return false;
	}
	p->chunks[p->nr++] = number - 1;
	return true;
}

/* Park what the last window found idle, for a part of the time since the last step. */
static void parking_step(struct lanes *l, uint64_t now_ns)
{
	struct chunk_parking *p = &l->parking;
	uint64_t budget = (now_ns - p->step_ns) / STEP_PART;
	uint64_t until = clock_now_ns() + (budget < STEP_MOST ? budget : STEP_MOST);

	p->step_ns = now_ns;
	while (p->excess && parking_take(l)) {
		p->excess--;
		if (clock_now_ns() >= until)
			return;
	}
}

static void parking_window(struct chunk_parking *p, uint32_t is_free, uint32_t keep,
			   uint64_t now_ns)
{
	if (!p->window_ns || is_free < p->lowest)
		p->lowest = is_free;
	if (p->lowest <= keep)
		p->excess = 0;
	if (p->window_ns && now_ns - p->window_ns < PARKING_IDLE_NS)
		return;
	if (p->window_ns)
		p->excess = p->lowest > keep ? p->lowest - keep : 0;
	p->window_ns = p->step_ns = now_ns;
	p->lowest = is_free;
}

void parking_look(struct lanes *l, uint64_t now_ns)
{
	struct chunk_parking *p = &l->parking;
	uint32_t keep = PARKING_KEEP(l->chunks.limit), is_free;

	/* Without a burst there is nothing to do. */
	if (!l->ext || p->is_off || l->fd < 0 || !parking_hole() ||
	    lane_memory_committed(&l->chunks) <= keep)
		return;
	is_free = parking_free(l);
	if (is_free < keep / 2) {
		p->excess = 0;
		parking_give(l, GIVE_STEP);
	}
	parking_window(p, is_free, keep, now_ns);
	if (p->excess && now_ns - p->step_ns >= STEP_NS)
		parking_step(l, now_ns);
}

bool parking_has_enough(const struct lanes *l)
{
	uint32_t keep = PARKING_KEEP(l->chunks.limit);

	return lane_memory_committed(&l->chunks) > keep && parking_free(l) >= keep / 2;
}

uint64_t parking_saved(const struct lanes *l)
{
	return l->parking.nr * parking_hole();
}

void parking_release(struct chunk_parking *p)
{
	free(p->chunks);
	*p = (struct chunk_parking){ .nr = 0 };
}
