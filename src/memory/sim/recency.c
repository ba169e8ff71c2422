/* SPDX-License-Identifier: MIT */
/* recency.c - the lines that a fully associative LRU cache of a given size holds. */
#include "memory/sim/recency.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/large_table.h"

#define ROOM_MAX        RECENCY_MARK
#define ROOM_MIN        4096u
#define ROOM_PER_CELL   4u /* times */
#define PAGES_MAX       (UINT32_MAX / RECENCY_PAGE)
#define RECENT_MIN      512u
#define RECENT_MAX      (1u << 24)
#define RECENT_PER_PAGE 8u

/* A large cache: a table for @times at least, all clear. */
static bool recency_room(struct recency *r, uint64_t times)
{
	uint8_t *is_last;
	uint32_t *before, room = ROOM_MIN;

	while (room < times && room < ROOM_MAX)
		room *= 2;
	is_last = large_table_zeroed((size_t)room + 1);
	before = large_table_new(room / 8 * sizeof(*before));
	if (!is_last || !before) {
		free(is_last);
		free(before);
		return false;
	}
	free(r->is_last);
	free(r->before);
	r->is_last = is_last;
	r->before = before;
	r->room = room;
	return true;
}

static bool recency_new_queue(struct recency *r)
{
	r->room = r->size * 8 + 3 * ROOM_MIN;
	r->queue = malloc(r->room * sizeof(*r->queue));
	return r->queue;
}

int recency_init(struct recency *r, uint64_t size)
{
	bool has_room;

	memset(r, 0, sizeof(*r));
	if (size >= UINT32_MAX / 4)
		return -ENOMEM;
	r->size = (uint32_t)size;
	r->last = UINT64_MAX;
	r->page_cells = RECENCY_PAGE;
	r->nr_recent = RECENT_MIN;
	r->recent = large_table_zeroed(r->nr_recent * sizeof(*r->recent));
	r->is_large = size > LINE_QUEUE_MAX;
	has_room = r->is_large ? recency_room(r, size * 4) : recency_new_queue(r);
	r->end = r->is_large ? r->room - RECENCY_SPARE : r->room;
	return has_room && r->recent ? 0 : -ENOMEM;
}

void recency_release(struct recency *r)
{
	line_queue_release(&r->lines);
	free(r->cells);
	free(r->queue);
	free(r->is_last);
	free(r->before);
	free(r->recent);
	u64map_release(&r->pages);
	memset(r, 0, sizeof(*r));
}

/* ---- times ------------------------------------------------------------------- */

/* The sum of 8 bytes of is_last: 8 at most, so that it fits in one. */
static uint32_t recency_sum(uint64_t bytes)
{
	return (uint32_t)(bytes * UINT64_C(0x0101010101010101) >> 56);
}

/* The number of the time of a line that is held among those of all such lines. */
static uint32_t recency_rank(const struct recency *r, uint32_t time)
{
	uint64_t earlier = recency_word(r, time) & ((UINT64_C(1) << time % 8 * 8) - 1);

	return r->before[recency_index(r, time) / 8] + recency_sum(earlier);
}

/* Set the times of all cells to these numbers. */
static void recency_set_times(struct recency *r)
{
	uint32_t sum = 0, time = r->head & ~7u, words, was;
	uint64_t cell;

	for (words = r->room / 8; words; words--, time += 8) {
		r->before[recency_index(r, time) / 8] = sum;
		sum += recency_sum(recency_word(r, time));
	}
	for (cell = 0; cell < r->nr_pages * RECENCY_PAGE; cell++) {
		was = r->cells[cell] & ~RECENCY_MARK;
		r->cells[cell] &= RECENCY_MARK;
		if (was > r->head)
			r->cells[cell] |= recency_rank(r, was - 1) + 1;
	}
}

/* A small cache. */
static void recency_close_up(struct recency *r)
{
	uint32_t at, to = 0;

	for (at = r->head; at < r->now; at++) {
		uint32_t *cell = &r->cells[r->queue[at]];

		if ((*cell & ~RECENCY_MARK) != at + 1)
			continue;
		r->queue[to++] = r->queue[at];
		*cell = (*cell & RECENCY_MARK) | to;
	}
	r->head = 0;
	r->now = to;
}

/* A large cache: when times end. */
static void recency_set_end(struct recency *r)
{
	uint64_t end = (uint64_t)r->head + r->room - RECENCY_SPARE;

	r->end = end < RECENCY_TIMES ? (uint32_t)end : RECENCY_TIMES;
}

/* A large cache that has dropped no line yet. */
static void recency_find_lasts(struct recency *r)
{
	uint64_t cell;
	uint32_t time;

	memset(r->is_last, 0, r->room);
	for (cell = 0; cell < r->nr_pages * RECENCY_PAGE; cell++) {
		time = r->cells[cell] & ~RECENCY_MARK;
		if (time)
			r->is_last[recency_index(r, time - 1)] = 1;
	}
	r->has_lasts = r->nr == r->size;
}

void recency_renumber(struct recency *r)
{
	uint64_t times = r->nr_pages * RECENCY_PAGE * ROOM_PER_CELL;

	if (!r->is_large) {
		recency_close_up(r);
		return;
	}
	if (!r->has_lasts)
		recency_find_lasts(r);
	recency_set_end(r);
	if (r->now < r->end)
		return;
	recency_set_times(r);
	/* Room for many times: all cells are walked over seldom. */
	if (times > r->room && r->room < ROOM_MAX)
		recency_room(r, times); /* without memory: slower, and right */
	memset(r->is_last, 0, r->room);
	memset(r->is_last, 1, r->nr);
	r->head = 0;
	r->now = r->nr;
	recency_set_end(r);
}

/* ---- pages ------------------------------------------------------------------- */

static bool recency_grow(struct recency *r)
{
	uint64_t more = r->pages_size ? r->pages_size * 2 : 64;
	uint32_t *cells;

	if (r->nr_pages >= PAGES_MAX)
		return false;
	more = more < PAGES_MAX ? more : PAGES_MAX;
	cells = large_table_new(more * r->page_cells * sizeof(*cells));
	if (!cells)
		return false;
	if (r->nr_pages)
		memcpy(cells, r->cells, r->nr_pages * r->page_cells * sizeof(*cells));
	free(r->cells);
	r->cells = cells;
	r->pages_size = more;
	return true;
}

/* As many entries as there are pages, so that most pages are found without the map. */
static void recency_grow_recent(struct recency *r)
{
	uint32_t nr = r->nr_recent ? r->nr_recent * 2 : RECENT_MIN;
	struct recency_page *more = large_table_zeroed(nr * sizeof(*more));

	if (!more)
		return; /* slower, and right */
	free(r->recent);
	r->recent = more;
	r->nr_recent = nr;
	r->nr_replaced = 0;
}

/*
 * Pages take the place of others if memory is in several parts: with more entries, fewer do.  Pages
 * that are many times as far apart as there are pages share an entry anyway.
 */
static bool recency_needs_recent(const struct recency *r)
{
	if (r->nr_recent >= RECENT_MAX)
		return false;
	return r->nr_pages > r->nr_recent ||
	       (r->nr_replaced > r->nr_recent / 4 && r->nr_recent / RECENT_PER_PAGE < r->nr_pages);
}

uint32_t *recency_find_page(struct recency *r, uint64_t page)
{
	uint64_t *number = u64map_at(&r->pages, page);
	struct recency_page *recent;

	if (!number)
		return NULL;
	if (!*number) {
		if (r->nr_pages == r->pages_size && !recency_grow(r))
			return NULL;
		memset(r->cells + r->nr_pages * r->page_cells, 0,
		       r->page_cells * sizeof(*r->cells));
		*number = ++r->nr_pages;
	}
	if (recency_needs_recent(r))
		recency_grow_recent(r);
	recent = &r->recent[page & (r->nr_recent - 1)];
	r->nr_replaced += recent->page != 0;
	recent->page = page + 1;
	recent->first = (uint32_t)((*number - 1) * r->page_cells);
	return r->cells + recent->first;
}

/* ---- much memory ------------------------------------------------------------- */

/* The callers' bits of all cells, in pages with the same numbers; NULL: no memory. */
static uint32_t *recency_bits(const struct recency *r)
{
	uint32_t *bits = calloc(r->pages_size, RECENCY_PAGE / 8);
	uint64_t i;

	for (i = 0; bits && i < r->nr_pages * RECENCY_PAGE; i++)
		bits[i / 32] |= (r->cells[i] >> 31) << i % 32;
	return bits;
}

/* Use the lines that are held in their order. */
static void recency_use_all(struct recency *r, const uint64_t *pages)
{
	uint32_t at;

	for (at = r->head; at < r->now; at++) {
		uint32_t cell = r->queue[at];

		if ((r->cells[cell] & ~RECENCY_MARK) == at + 1)
			line_queue_use(&r->lines, pages[cell / RECENCY_PAGE] * RECENCY_PAGE +
							  cell % RECENCY_PAGE);
	}
}

void recency_adapt(struct recency *r)
{
	uint64_t *pages, page, number;
	uint32_t *bits;
	size_t pos = 0;

	if (r->is_apart || r->nr_pages < RECENCY_FAR || r->size < LINE_QUEUE_MIN || r->is_large)
		return;
	pages = malloc(r->nr_pages * sizeof(*pages));
	bits = recency_bits(r);
	if (!pages || !bits || line_queue_init(&r->lines, r->size) < 0) {
		/* Slower, and right. */
		line_queue_release(&r->lines);
		free(bits);
		free(pages);
		return;
	}
	while (u64map_next(&r->pages, &pos, &page, &number))
		pages[number - 1] = page;
	recency_use_all(r, pages);
	free(pages);
	free(r->cells);
	free(r->queue);
	r->cells = bits;
	r->queue = NULL;
	r->page_cells = RECENCY_PAGE / 32;
	r->is_apart = true;
	memset(r->recent, 0, r->nr_recent * sizeof(*r->recent));
}
