/* SPDX-License-Identifier: MIT */
/*
 * lod.h - how busy each thread was, bucket by bucket: so that a screenful of any stretch of
 * the run is a screenful of numbers.
 *
 * All threads together have about a quarter of a million cells at the finest level; coarser
 * ones are made when they are asked for.
 */
#ifndef VIEW_LOD_H
#define VIEW_LOD_H

#include "view/axis.h"

#define LOD_CELLS       (1u << 18) /* of all threads, at the finest level */
#define LOD_BUCKETS_MIN 256u       /* of a thread */
#define LOD_BUCKETS_MAX 65536u
#define LOD_THREADS     1024u /* all others are one more */

struct lod_cell {
	uint64_t busy;   /* ns; more than there is where a coroutine resumes another by itself */
	uint64_t weight; /* by which coro leads over all others */
	uint32_t coro;   /* 1 + number of the one that ran most; 0: none */
	uint32_t switches;
};

struct lod {
	struct axis axis;
	struct axis_owner owner;
	struct lod_cell **threads; /* each axis.max cells */
	size_t nr_threads, room;
};

void lod_init(struct lod *lod);

/* @coro ran on @thread. 0 or -ENOMEM. */
int lod_add(struct lod *lod, size_t thread, uint64_t start, uint64_t end, uint32_t coro);

/* The same once more, to be changed without harm to the first.  0 or -ENOMEM. */
int lod_copy(struct lod *copy, const struct lod *lod);

/* Twice as coarse. */
void lod_merge(struct lod *lod);

/* 0: nothing ran; 1 to 255: that part of the bucket. */
uint8_t lod_busy(const struct lod *lod, const struct lod_cell *cell);

void lod_release(struct lod *lod);

#endif
