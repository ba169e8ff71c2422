/* SPDX-License-Identifier: MIT */
/*
 * mipmap.h - how busy each thread is, per bucket: any part of the run can be drawn from a bounded
 * number of values.
 *
 * All threads together have about a quarter of a million cells at the finest level; coarser levels
 * are computed on request.
 */
#ifndef VIEW_MIPMAP_H
#define VIEW_MIPMAP_H

#include "view/axis.h"

#define LOD_CELLS       (1u << 18) /* sum over all threads, at the finest level */
#define LOD_BUCKETS_MIN 256u       /* per thread */
#define LOD_BUCKETS_MAX 65536u
#define LOD_THREADS     1024u /* all further threads share one entry */

struct lod_cell {
	uint64_t busy;   /* ns; can exceed the bucket if one coroutine resumes another directly */
	uint64_t weight; /* lead of coro over all others */
	uint32_t coro;   /* 1 + number of the coroutine that ran most; 0: none */
	uint32_t switches;
};

struct lod {
	struct axis axis;
	struct axis_owner owner;
	struct lod_cell **threads; /* axis.max cells each */
	size_t nr_threads, room;
};

void lod_init(struct lod *lod);

/* Record that @coro ran on @thread. 0 or -ENOMEM. */
int lod_add(struct lod *lod, size_t thread, uint64_t start, uint64_t end, uint32_t coro);

/* Make an independent copy. 0 or -ENOMEM. */
int lod_copy(struct lod *copy, const struct lod *lod);

/* Double the width of the buckets. */
void lod_merge(struct lod *lod);

/* 0: nothing ran; 1 to 255: busy part of the bucket. */
uint8_t lod_busy(const struct lod *lod, const struct lod_cell *cell);

void lod_release(struct lod *lod);

#endif
