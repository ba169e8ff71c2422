/* SPDX-License-Identifier: MIT */
/* frame_table.c - frames by address. */
#include "inspect/frame_table.h"

#include <errno.h>
#include <stdlib.h>

#define PAGE_SHIFT 12

struct frame_page {
	uint64_t page; /* 1 + number of the page; 0: free */
	uint32_t first;
};

int frame_table_add(struct frame_table *t, const struct coro_frame *frame)
{
	struct coro_frame *more;

	if (t->nr == t->room) {
		size_t room = t->room ? t->room * 2 : 256;

		if (room > UINT32_MAX / 2)
			return -ENOMEM;
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

/* Remember @frame as the first that covers @page. */
static void page_add(struct frame_table *t, uint64_t page, uint32_t frame)
{
	size_t at = page_slot(t, page);

	while (t->pages[at].page && t->pages[at].page != page + 1)
		at = (at + 1) & (t->nr_pages - 1);
	if (!t->pages[at].page)
		t->pages[at] = (struct frame_page){ page + 1, frame };
}

static uint64_t frame_last_page(const struct coro_frame *f)
{
	return (f->addr + f->size - 1) >> PAGE_SHIFT;
}

/* A frame ends where the next one begins, at the latest. */
static void frame_table_trim(struct frame_table *t)
{
	size_t i;

	for (i = 0; i + 1 < t->nr; i++) {
		uint64_t room = t->frames[i + 1].addr - t->frames[i].addr;

		if (t->frames[i].size > room)
			t->frames[i].size = (uint32_t)room;
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

int frame_table_seal(struct frame_table *t)
{
	size_t i, covered = 0;
	uint64_t page;

	if (!t->nr)
		return 0;
	frame_table_trim(t);
	for (i = 0; i < t->nr; i++)
		covered += frame_last_page(&t->frames[i]) - (t->frames[i].addr >> PAGE_SHIFT) + 1;
	for (t->nr_pages = 64; t->nr_pages < covered * 2;)
		t->nr_pages *= 2;
	free(t->pages);
	t->pages = calloc(t->nr_pages, sizeof(*t->pages));
	if (!t->pages)
		return -ENOMEM;
	for (i = 0; i < t->nr; i++) {
		for (page = t->frames[i].addr >> PAGE_SHIFT; page <= frame_last_page(&t->frames[i]);
		     page++)
			page_add(t, page, (uint32_t)i);
	}
	t->low = t->frames[0].addr;
	t->high = t->frames[t->nr - 1].addr + t->frames[t->nr - 1].size;
	return 0;
}

uint32_t frame_table_find(const struct frame_table *t, uint64_t addr)
{
	uint64_t page = addr >> PAGE_SHIFT;
	size_t at, i;

	if (addr < t->low || addr >= t->high)
		return FRAME_NONE;
	for (at = page_slot(t, page); t->pages[at].page != page + 1;
	     at = (at + 1) & (t->nr_pages - 1)) {
		if (!t->pages[at].page)
			return FRAME_NONE;
	}
	for (i = t->pages[at].first; i < t->nr && t->frames[i].addr <= addr; i++) {
		if (addr - t->frames[i].addr < t->frames[i].size)
			return (uint32_t)i;
	}
	return FRAME_NONE;
}

size_t frame_table_from(const struct frame_table *t, uint64_t addr)
{
	size_t low = 0, high = t->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->frames[middle].addr < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
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
