/* SPDX-License-Identifier: MIT */
/*
 * recency.h - the lines that a fully associative LRU cache of a given size holds.
 *
 * Every use of a line appends an entry to a queue, and the line's cell records the position of its
 * newest entry.  Older entries stay in the queue and are skipped when they reach its head (lazy
 * deletion), so a use costs one store into the queue and one into the cell: there is no list to
 * relink.  When the queue is full, the entries in force move to its start.
 *
 * Cells are in pages of RECENCY_PAGE adjacent lines; pages are allocated at the first use of one
 * of their lines and stay, since a cell also has one bit for the caller.
 */
#ifndef MEMORY_SIM_RECENCY_H
#define MEMORY_SIM_RECENCY_H

#include "base/u64map.h"

#define RECENCY_PAGE  64u /* lines */
#define RECENCY_AHEAD 16u /* entries of the queue */
#define RECENCY_MARK  (UINT32_C(1) << 31)

struct recency_page {
	uint64_t page;  /* line / RECENCY_PAGE + 1; 0: none */
	uint32_t first; /* number of its first cell */
};

struct recency {
	uint32_t *cells; /* RECENCY_MARK, and 1 + position in the queue; 0: not held */
	uint32_t *queue; /* numbers of cells */
	uint32_t head, now, room;
	uint32_t nr, size;           /* lines held now; at most */
	uint64_t last;               /* the line that was used last */
	struct recency_page *recent; /* pages found without the map */
	uint32_t nr_recent;          /* a power of two */
	struct u64map pages;         /* line / RECENCY_PAGE to 1 + number of the page */
	uint64_t nr_pages, pages_size;
};

/* Returns 0 or -ENOMEM. */
int recency_init(struct recency *r, uint64_t size);
void recency_release(struct recency *r);

/* The slow paths of the inline functions below. */
uint32_t *recency_find_page(struct recency *r, uint64_t line);
void recency_close_up(struct recency *r);

/* The cell of @line; NULL: no memory.  Valid until the next call with another line. */
static inline uint32_t *recency_cell(struct recency *r, uint64_t line)
{
	uint64_t page = line / RECENCY_PAGE;
	const struct recency_page *p = &r->recent[page & (r->nr_recent - 1)];

	if (p->page == page + 1)
		return r->cells + p->first + line % RECENCY_PAGE;
	return recency_find_page(r, line);
}

static inline void recency_drop_oldest(struct recency *r)
{
	while ((r->cells[r->queue[r->head]] & ~RECENCY_MARK) != r->head + 1)
		r->head++;
	r->cells[r->queue[r->head++]] &= RECENCY_MARK;
	r->nr--;
	if (r->head + RECENCY_AHEAD < r->now)
		__builtin_prefetch(&r->cells[r->queue[r->head + RECENCY_AHEAD]], 1);
}

/* The line will be used soon: prefetch its cell if its page is at hand. */
static inline void recency_fetch(const struct recency *r, uint64_t line)
{
	uint64_t page = line / RECENCY_PAGE;
	const struct recency_page *p = &r->recent[page & (r->nr_recent - 1)];

	if (p->page == page + 1)
		__builtin_prefetch(r->cells + p->first + line % RECENCY_PAGE, 1);
}

/*
 * Record a use of the line of @cell.  Returns true if the line was held.  A use of the line that
 * was used last changes nothing: callers may leave it out.
 */
static inline bool recency_use(struct recency *r, uint32_t *cell)
{
	bool held = *cell & ~RECENCY_MARK;

	if (r->now == r->room)
		recency_close_up(r);
	r->queue[r->now++] = (uint32_t)(cell - r->cells);
	*cell = (*cell & RECENCY_MARK) | r->now;
	if (!held && ++r->nr > r->size)
		recency_drop_oldest(r);
	return held;
}

#endif
