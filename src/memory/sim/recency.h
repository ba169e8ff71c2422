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
 *
 * If a program uses much more memory than a small cache holds, most of its cells are in no cache of
 * the host when they are used.  Then line_queue.h holds the lines, and a page has only the callers'
 * bits of its lines.
 */
#ifndef MEMORY_SIM_RECENCY_H
#define MEMORY_SIM_RECENCY_H

#include <errno.h>

#include "base/u64map.h"
#include "memory/sim/line_queue.h"

#define RECENCY_PAGE  64u /* lines */
#define RECENCY_AHEAD 16u /* entries of the queue */
#define RECENCY_MARK  (UINT32_C(1) << 31)
#define RECENCY_FAR   4096u /* pages: the memory of a program that is not small */

struct recency_page {
	uint64_t page;  /* line / RECENCY_PAGE + 1; 0: none */
	uint32_t first; /* number of its first cell, or word of bits */
};

struct recency {
	uint32_t *cells; /* RECENCY_MARK, and 1 + position in the queue; 0: not held */
	uint32_t *queue; /* numbers of cells */
	uint32_t head, now, room;
	uint32_t nr, size; /* lines held now; at most */
	uint64_t last;     /* the line that was used last */
	bool is_apart;     /* @lines holds the lines, and cells are bits */
	struct line_queue lines;
	uint32_t page_cells;         /* words of a page in @cells */
	struct recency_page *recent; /* pages found without the map */
	uint32_t nr_recent;          /* a power of two */
	struct u64map pages;         /* line / RECENCY_PAGE to 1 + number of the page */
	uint64_t nr_pages, pages_size;
};

/* Returns 0 or -ENOMEM. */
int recency_init(struct recency *r, uint64_t size);
void recency_release(struct recency *r);

/*
 * To be called now and then: move the lines of a small cache to @lines if the program uses much
 * memory.
 */
void recency_adapt(struct recency *r);

/* The slow paths of the inline functions below. */
uint32_t *recency_find_page(struct recency *r, uint64_t page);
void recency_close_up(struct recency *r);

/* The first word of the page of @line; NULL: no memory. */
static inline uint32_t *recency_page_of(struct recency *r, uint64_t line)
{
	uint64_t page = line / RECENCY_PAGE;
	const struct recency_page *p = &r->recent[page & (r->nr_recent - 1)];

	return p->page == page + 1 ? r->cells + p->first : recency_find_page(r, page);
}

/*
 * The cell of @line; NULL: no memory.  Valid until the next call with another line.  Not if
 * is_apart.
 */
static inline uint32_t *recency_cell(struct recency *r, uint64_t line)
{
	uint32_t *page = recency_page_of(r, line);

	return page ? page + line % RECENCY_PAGE : NULL;
}

/* Set the callers' bit of @line if is_apart.  Returns what it was, or -ENOMEM. */
static inline int recency_mark(struct recency *r, uint64_t line)
{
	uint32_t *word = recency_page_of(r, line), bit = UINT32_C(1) << line % 32, was;

	if (!word)
		return -ENOMEM;
	word += line % RECENCY_PAGE / 32;
	was = *word;
	*word = was | bit;
	return (was & bit) != 0;
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
