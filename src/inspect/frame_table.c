/* SPDX-License-Identifier: MIT */
/* frame_table.c - frames by address. */
#include "inspect/frame_table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/lower_bound.h"

#define PAGE_SHIFT 12

#define NESTED_MAX 8

struct frame_page {
	uint64_t page;  /* 1 + number of the page; 0: free */
	uint32_t first; /* the first frame that begins in the page; FRAME_NONE: none */
	uint32_t cover; /* the innermost frame that begins before it, and reaches into it */
};

int frame_table_add(struct frame_table *t, const struct coro_frame *frame)
{
	struct coro_frame *more;

	if (t->nr == t->room) {
		size_t room = t->room ? t->room * 2 : 256;

		if (t->nr == FRAMES_MAX) {
			t->is_full = true;
			return -E2BIG;
		}
		more = reallocarray(t->frames, room, sizeof(*more));
		if (!more)
			return -ENOMEM;
		t->frames = more;
		t->room = room;
	}
	t->frames[t->nr++] = *frame;
	return 0;
}

static int frame_by_address(const void *a, const void *b)
{
	const struct coro_frame *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static size_t page_slot(const struct frame_table *t, uint64_t page)
{
	return (size_t)((page * 0x9e3779b97f4a7c15ull) >> 20) & (t->nr_pages - 1);
}

/* The entry of a page, added if there is none. */
static struct frame_page *page_add(struct frame_table *t, uint64_t page)
{
	size_t at = page_slot(t, page);

	while (t->pages[at].page && t->pages[at].page != page + 1)
		at = (at + 1) & (t->nr_pages - 1);
	if (!t->pages[at].page)
		t->pages[at] = (struct frame_page){ page + 1, FRAME_NONE, FRAME_NONE };
	return &t->pages[at];
}

static uint64_t frame_end(const struct coro_frame *f)
{
	return f->addr + f->size;
}

static uint64_t frame_last_page(const struct coro_frame *f)
{
	return (frame_end(f) - 1) >> PAGE_SHIFT;
}

/*
 * A compiler may place the frame of a callee in that of its caller.  Other frames end where the
 * next one begins, at the latest: one of the two is not a frame.
 */
static void frame_table_nest(struct frame_table *t)
{
	size_t i;

	for (i = 0; i < t->nr; i++) {
		struct coro_frame *f = &t->frames[i];
		uint32_t outer = i ? (uint32_t)i - 1 : FRAME_NONE;
		unsigned depth;

		f->outer = FRAME_NONE;
		for (depth = 0; outer != FRAME_NONE && frame_end(&t->frames[outer]) <= f->addr;
		     depth++)
			outer = depth < NESTED_MAX ? t->frames[outer].outer : FRAME_NONE;
		if (outer == FRAME_NONE)
			continue;
		if (!t->frames[outer].has_guessed_size || t->frames[outer].is_block) {
			depth = t->frames[outer].depth + 1u;
			if (depth <= NESTED_MAX && frame_end(f) <= frame_end(&t->frames[outer])) {
				f->outer = outer;
				f->depth = (uint8_t)depth;
				continue;
			}
		}
		t->frames[outer].size = (uint32_t)(f->addr - t->frames[outer].addr);
	}
}

/* Memory is visited in ascending order: there is seldom something to do. */
void frame_table_sort(struct frame_table *t)
{
	size_t i;

	for (i = 1; i < t->nr && t->frames[i - 1].addr < t->frames[i].addr; i++)
		;
	if (i < t->nr)
		qsort(t->frames, t->nr, sizeof(*t->frames), frame_by_address);
}

static void frame_index_pages(struct frame_table *t, uint32_t number)
{
	const struct coro_frame *f = &t->frames[number];
	uint64_t page = f->addr >> PAGE_SHIFT;
	struct frame_page *entry = page_add(t, page);

	if (entry->first == FRAME_NONE)
		entry->first = number;
	/* An inner frame comes after the outer one. */
	for (page++; page <= frame_last_page(f); page++)
		page_add(t, page)->cover = number;
}

int frame_table_seal(struct frame_table *t)
{
	size_t i, covered = 0;

	if (!t->nr)
		return 0;
	frame_table_nest(t);
	for (i = 0; i < t->nr; i++)
		covered += frame_last_page(&t->frames[i]) - (t->frames[i].addr >> PAGE_SHIFT) + 1;
	for (t->nr_pages = 64; t->nr_pages < covered * 2;)
		t->nr_pages *= 2;
	free(t->pages);
	t->pages = calloc(t->nr_pages, sizeof(*t->pages));
	if (!t->pages)
		return -ENOMEM;
	t->low = t->frames[0].addr;
	for (i = 0; i < t->nr; i++) {
		frame_index_pages(t, (uint32_t)i);
		if (frame_end(&t->frames[i]) > t->high)
			t->high = frame_end(&t->frames[i]);
	}
	return 0;
}

/* The innermost frame around @addr, from @number outwards. */
static uint32_t frame_around(const struct frame_table *t, uint32_t number, uint64_t addr)
{
	while (number != FRAME_NONE && addr >= frame_end(&t->frames[number]))
		number = t->frames[number].outer;
	return number;
}

uint32_t frame_table_find(const struct frame_table *t, uint64_t addr)
{
	uint64_t page = addr >> PAGE_SHIFT;
	uint32_t last = FRAME_NONE;
	size_t at, i;

	if (addr < t->low || addr >= t->high)
		return FRAME_NONE;
	for (at = page_slot(t, page); t->pages[at].page != page + 1;
	     at = (at + 1) & (t->nr_pages - 1)) {
		if (!t->pages[at].page)
			return FRAME_NONE;
	}
	for (i = t->pages[at].first; i < t->nr && t->frames[i].addr <= addr; i++)
		last = (uint32_t)i;
	return frame_around(t, last != FRAME_NONE ? last : t->pages[at].cover, addr);
}

static bool frame_is_before(const void *frames, size_t at, uint64_t addr)
{
	return ((const struct coro_frame *)frames)[at].addr < addr;
}

size_t frame_table_from(const struct frame_table *t, uint64_t addr)
{
	return list_lower_bound(t->frames, t->nr, addr, frame_is_before);
}

void frame_table_clear(struct frame_table *t)
{
	t->nr = 0;
	t->low = t->high = 0;
}

void frame_table_release(struct frame_table *t)
{
	free(t->frames);
	free(t->pages);
	*t = (struct frame_table){ 0 };
}
