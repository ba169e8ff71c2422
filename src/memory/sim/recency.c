/* SPDX-License-Identifier: MIT */
/* recency.c - the lines that a fully associative LRU cache of a given size holds. */
#include "memory/sim/recency.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOM_MAX   (RECENCY_MARK - 1) /* positions must fit beside the mark */
#define PAGES_MAX  (UINT32_MAX / RECENCY_PAGE)
#define RECENT_MIN 512u
#define RECENT_MAX (1u << 24)

int recency_init(struct recency *r, uint64_t size)
{
	uint64_t room = size * 4 + 4096;

	memset(r, 0, sizeof(*r));
	if (size >= UINT32_MAX / 4)
		return -ENOMEM;
	r->size = (uint32_t)size;
	r->room = (uint32_t)(room < ROOM_MAX ? room : ROOM_MAX);
	r->last = UINT64_MAX;
	r->page_cells = RECENCY_PAGE;
	r->queue = malloc((size_t)r->room * sizeof(*r->queue));
	r->nr_recent = RECENT_MIN;
	r->recent = calloc(r->nr_recent, sizeof(*r->recent));
	return r->queue && r->recent ? 0 : -ENOMEM;
}

void recency_release(struct recency *r)
{
	line_queue_release(&r->lines);
	free(r->cells);
	free(r->queue);
	free(r->recent);
	u64map_release(&r->pages);
	memset(r, 0, sizeof(*r));
}

static bool recency_grow(struct recency *r)
{
	uint64_t more = r->pages_size ? r->pages_size * 2 : 64;
	uint32_t *cells;

	if (r->nr_pages >= PAGES_MAX)
		return false;
	more = more < PAGES_MAX ? more : PAGES_MAX;
	cells = realloc(r->cells, more * r->page_cells * sizeof(*cells));
	if (!cells)
		return false;
	r->cells = cells;
	r->pages_size = more;
	return true;
}

/* As many entries as there are pages, so that most pages are found without the map. */
static void recency_grow_recent(struct recency *r)
{
	uint32_t nr = r->nr_recent ? r->nr_recent * 2 : RECENT_MIN;
	struct recency_page *more = calloc(nr, sizeof(*more));

	if (!more)
		return; /* slower, and right */
	free(r->recent);
	r->recent = more;
	r->nr_recent = nr;
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
		if (r->nr_pages > r->nr_recent && r->nr_recent < RECENT_MAX)
			recency_grow_recent(r);
	}
	recent = &r->recent[page & (r->nr_recent - 1)];
	recent->page = page + 1;
	recent->first = (uint32_t)((*number - 1) * r->page_cells);
	return r->cells + recent->first;
}

void recency_close_up(struct recency *r)
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

	if (r->is_apart || r->nr_pages < RECENCY_FAR || r->size < LINE_QUEUE_MIN ||
	    r->size > LINE_QUEUE_MAX)
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
