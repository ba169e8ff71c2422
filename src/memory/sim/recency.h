/* SPDX-License-Identifier: MIT */
/*
 * recency.h - the lines that a fully associative LRU cache of a given size holds.
 *
 * Uses are numbered: that is their time, and the cell of a line has the time of its last use.
 *
 * For a small cache, a queue has the line of each time.  Earlier times of a line stay in the queue
 * and are skipped when they are the oldest ones.  When the queue is full, the times of the lines
 * that are held move to its start.
 *
 * For a large cache, most cells are in no cache of the host, and a line should touch its cell once.
 * A table has a byte per time that says whether it is the last use of a line.  The cache holds the
 * lines that were used last, so all of these times from that of the oldest one on are of lines that
 * are held: the cell of a line that is dropped is not touched, and the next oldest line is the next
 * byte that is set.  When the table is full, the times of all lines are numbered again.  Until the
 * cache is full for the first time, no line is dropped: then the table is made from the cells.
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

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/u64map.h"
#include "memory/sim/line_queue.h"

#define RECENCY_PAGE  64u /* lines */
#define RECENCY_AHEAD 16u /* uses: distance at which cells are prefetched */
#define RECENCY_MARK  (UINT32_C(1) << 31)
#define RECENCY_FAR   4096u /* pages: the memory of a program that is not small */
#define RECENCY_NEAR  1024u /* pages: their cells are in a cache of the host */
#define RECENCY_SPARE 8u
#define RECENCY_TIMES (RECENCY_MARK - 1) /* times must fit beside the mark */

struct recency_page {
	uint64_t page;  /* line / RECENCY_PAGE + 1; 0: none */
	uint32_t first; /* number of its first cell, or word of bits */
};

struct recency {
	uint32_t *cells;  /* RECENCY_MARK, and 1 + time of the last use; 0: none, or not held */
	uint32_t *queue;  /* small: the number of a cell per time */
	uint8_t *is_last; /* large: a byte per time, modulo @room: 1 or 0; one to be overwritten */
	uint32_t *before; /* large, for recency_renumber(): a count per 8 bytes of @is_last */
	uint32_t head, now; /* times: no line held is older; of the next use */
	uint32_t end;       /* the time that recency_renumber() is called for */
	uint32_t room;      /* times; large: a power of two, RECENCY_SPARE are not used at a time */
	bool is_large;      /* more than LINE_QUEUE_MAX lines */
	bool has_lasts;     /* large: @is_last is kept, since the cache is full */
	uint32_t nr, size;  /* lines held now; at most */
	uint64_t last;      /* the line that was used last */
	bool is_apart;      /* @lines holds the lines, and cells are bits */
	struct line_queue lines;
	uint32_t page_cells;         /* words of a page in @cells */
	struct recency_page *recent; /* pages found without the map */
	uint32_t nr_recent;          /* a power of two */
	uint32_t nr_replaced;        /* entries of it, since it has this size */
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
void recency_renumber(struct recency *r);

/* The first word of the page of @line if it is at hand; else NULL. */
static inline uint32_t *recency_page_at_hand(const struct recency *r, uint64_t line)
{
	uint64_t page = line / RECENCY_PAGE;
	const struct recency_page *p = &r->recent[page & (r->nr_recent - 1)];

	return p->page == page + 1 ? r->cells + p->first : NULL;
}

/* The same anyway; NULL: no memory. */
static inline uint32_t *recency_page_of(struct recency *r, uint64_t line)
{
	uint32_t *page = recency_page_at_hand(r, line);

	return page ? page : recency_find_page(r, line / RECENCY_PAGE);
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

static inline uint32_t recency_index(const struct recency *r, uint32_t time)
{
	return time & (r->room - 1);
}

/* The 8 bytes of is_last with that of a time, the first one lowest. */
static inline uint64_t recency_word(const struct recency *r, uint32_t time)
{
	uint64_t word;

	memcpy(&word, &r->is_last[recency_index(r, time) & ~7u], sizeof(word));
	return le64toh(word);
}

static inline __attribute__((always_inline)) void recency_drop_last_use(struct recency *r)
{
	uint32_t head = r->head;
	uint64_t word = recency_word(r, head);

	while (!word) {
		head = (head | 7) + 1;
		word = recency_word(r, head);
	}
	head = (head & ~7u) + (uint32_t)__builtin_ctzll(word) / 8;
	r->is_last[recency_index(r, head)] = 0;
	r->head = head + 1;
	r->nr--;
}

/* The line will be used soon: prefetch where its page is. */
static inline __attribute__((always_inline)) void recency_fetch_page(const struct recency *r,
								     uint64_t line)
{
	__builtin_prefetch(&r->recent[line / RECENCY_PAGE & (r->nr_recent - 1)]);
}

/* The line will be used sooner: prefetch its cell, or its bit, if its page is at hand. */
static inline __attribute__((always_inline)) void recency_fetch(const struct recency *r,
								uint64_t line, bool is_apart)
{
	uint64_t page = line / RECENCY_PAGE;
	const struct recency_page *p = &r->recent[page & (r->nr_recent - 1)];

	if (p->page == page + 1)
		__builtin_prefetch(r->cells + p->first + (is_apart ? 0 : line % RECENCY_PAGE), 1);
}

/* True if there is no time for another use: then call recency_renumber() first. */
static inline bool recency_is_full(const struct recency *r)
{
	return r->now == r->end;
}

/* recency_use() of a large cache. */
static inline __attribute__((always_inline)) bool recency_use_time(struct recency *r,
								   uint32_t *cell)
{
	uint32_t was = *cell & ~RECENCY_MARK, now = r->now++;
	bool held = was > r->head;

	if (r->nr < r->size) {
		*cell = (*cell & RECENCY_MARK) | (now + 1);
		if (!held && ++r->nr == r->size)
			r->end = r->now;
		return held;
	}
	/* Without a branch: whether the line is held is hard to predict. */
	r->is_last[held ? recency_index(r, was - 1) : r->room] = 0;
	r->is_last[recency_index(r, now)] = 1;
	*cell = (*cell & RECENCY_MARK) | (now + 1);
	if (!held && ++r->nr > r->size)
		recency_drop_last_use(r);
	return held;
}

/* The same of a small one. */
static inline __attribute__((always_inline)) bool recency_use_queue(struct recency *r,
								    uint32_t *cell)
{
	uint32_t was = *cell;
	bool held = was & ~RECENCY_MARK;

	r->queue[r->now++] = (uint32_t)(cell - r->cells);
	*cell = (was & RECENCY_MARK) | r->now;
	if (held || ++r->nr <= r->size)
		return held;
	while ((r->cells[r->queue[r->head]] & ~RECENCY_MARK) != r->head + 1)
		r->head++;
	r->cells[r->queue[r->head++]] &= RECENCY_MARK;
	r->nr--;
	return held;
}

/*
 * Record a use of the line of @cell; there is a time for it.  Returns true if the line was held.  A
 * use of the line that was used last changes nothing: callers may leave it out.
 */
static inline __attribute__((always_inline)) bool recency_use(struct recency *r, uint32_t *cell,
							      bool is_large)
{
	return is_large ? recency_use_time(r, cell) : recency_use_queue(r, cell);
}

#endif
