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
	r->queue = malloc((size_t)r->room * sizeof(*r->queue));
	r->nr_recent = RECENT_MIN;
	r->recent = calloc(r->nr_recent, sizeof(*r->recent));
	return r->queue && r->recent ? 0 : -ENOMEM;
}

void recency_release(struct recency *r)
{
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
	cells = realloc(r->cells, more * RECENCY_PAGE * sizeof(*cells));
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

uint32_t *recency_find_page(struct recency *r, uint64_t line)
{
	uint64_t page = line / RECENCY_PAGE, *number = u64map_at(&r->pages, page);
	struct recency_page *recent;

	if (!number)
		return NULL;
	if (!*number) {
		if (r->nr_pages == r->pages_size && !recency_grow(r))
			return NULL;
		memset(r->cells + r->nr_pages * RECENCY_PAGE, 0, RECENCY_PAGE * sizeof(*r->cells));
		*number = ++r->nr_pages;
		if (r->nr_pages > r->nr_recent && r->nr_recent < RECENT_MAX)
			recency_grow_recent(r);
	}
	recent = &r->recent[page & (r->nr_recent - 1)];
	recent->page = page + 1;
	recent->first = (uint32_t)((*number - 1) * RECENCY_PAGE);
	return r->cells + recent->first + line % RECENCY_PAGE;
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
