/* SPDX-License-Identifier: MIT */
/* mipmap.c - how busy each thread is, per bucket. */
#include "view/mipmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SHIFT 10 /* about a microsecond */

/*
 * Majority vote (Boyer-Moore): a coroutine with more than half of the time leads at the end, in any
 * order of additions.
 */
static void lod_lead(struct lod_cell *cell, uint32_t coro, uint64_t weight)
{
	if (!weight)
		return;
	if (cell->coro == coro) {
		cell->weight += weight;
	} else if (weight > cell->weight) {
		cell->coro = coro;
		cell->weight = weight - cell->weight;
	} else {
		cell->weight -= weight;
	}
}

static void lod_join(struct lod_cell *to, const struct lod_cell *from)
{
	to->busy += from->busy;
	to->switches += from->switches;
	lod_lead(to, from->coro, from->weight);
	if (!to->coro)
		to->coro = from->coro;
}

static void mipmap_merge(void *arg)
{
	struct lod *lod = arg;
	size_t t, i;

	for (t = 0; t < lod->nr_threads; t++) {
		struct lod_cell *cells = lod->threads[t];

		for (i = 0; i < lod->axis.nr; i++) {
			struct lod_cell from = cells[i];

			memset(&cells[i], 0, sizeof(from));
			lod_join(&cells[axis_merged(&lod->axis, i)], &from);
		}
	}
}

static void lod_move(void *arg, size_t by)
{
	struct lod *lod = arg;
	size_t t;

	for (t = 0; t < lod->nr_threads; t++) {
		struct lod_cell *cells = lod->threads[t];

		memmove(cells + by, cells, lod->axis.nr * sizeof(*cells));
		memset(cells, 0, by * sizeof(*cells));
	}
}

void lod_init(struct lod *lod)
{
	*lod = (struct lod){
		.axis = { .shift = FIRST_SHIFT, .max = LOD_BUCKETS_MAX },
		.owner = { mipmap_merge, lod_move, lod },
	};
}

void lod_merge(struct lod *lod)
{
	axis_merge(&lod->axis, &lod->owner);
}

/* More threads: fewer buckets per thread. */
static void share_out(struct lod *lod, size_t nr_threads)
{
	while (lod->axis.max > LOD_BUCKETS_MIN && lod->axis.max * nr_threads > LOD_CELLS)
		lod->axis.max /= 2;
	while (lod->axis.nr > lod->axis.max)
		lod_merge(lod);
}

static int lod_make_room(struct lod *lod, size_t thread)
{
	struct lod_cell **threads;

	if (thread < lod->nr_threads)
		return 0;
	share_out(lod, thread + 1);
	if (thread >= lod->room) {
		size_t room = lod->room ? lod->room : 16;

		while (room <= thread)
			room *= 2;
		threads = reallocarray(lod->threads, room, sizeof(struct lod_cell *));
		if (!threads)
			return -ENOMEM;
		lod->threads = threads;
		lod->room = room;
	}
	while (lod->nr_threads <= thread) {
		struct lod_cell *cells = calloc(lod->axis.max, sizeof(*cells));

		if (!cells)
			return -ENOMEM;
		lod->threads[lod->nr_threads++] = cells;
	}
	return 0;
}

int lod_add(struct lod *lod, size_t thread, uint64_t start, uint64_t end, uint32_t coro)
{
	struct lod_cell *cells;
	size_t first, last, i;

	if (lod_make_room(lod, thread) < 0)
		return -ENOMEM;
	if (end < start)
		end = start;
	axis_at(&lod->axis, start, &lod->owner);
	last = axis_at(&lod->axis, end, &lod->owner);
	first = axis_at(&lod->axis, start, &lod->owner); /* the bucket width may have changed */
	cells = lod->threads[thread];
	cells[first].switches++;
	if (!cells[first].coro)
		cells[first].coro = coro + 1;
	for (i = first; i <= last; i++) {
		uint64_t from = axis_start(&lod->axis, i), to = axis_end(&lod->axis, i), part;

		part = (to < end ? to : end) - (from > start ? from : start);
		cells[i].busy += part;
		lod_lead(&cells[i], coro + 1, part);
	}
	return 0;
}

int lod_copy(struct lod *copy, const struct lod *lod)
{
	size_t t;

	lod_init(copy);
	copy->axis = lod->axis;
	for (t = 0; t < lod->nr_threads; t++) {
		if (lod_make_room(copy, t) < 0) {
			lod_release(copy);
			return -ENOMEM;
		}
		memcpy(copy->threads[t], lod->threads[t], lod->axis.nr * sizeof(**lod->threads));
	}
	return 0;
}

uint8_t lod_busy(const struct lod *lod, const struct lod_cell *cell)
{
	double width = (double)axis_width(&lod->axis), part = (double)cell->busy / width;

	if (!cell->busy && !cell->switches)
		return 0;
	return (uint8_t)(1 + (part < 1 ? (unsigned)(254 * part) : 254));
}

void lod_release(struct lod *lod)
{
	size_t t;

	for (t = 0; t < lod->nr_threads; t++)
		free(lod->threads[t]);
	free(lod->threads);
	*lod = (struct lod){ 0 };
}
