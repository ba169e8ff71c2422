/* SPDX-License-Identifier: MIT */
/* heap_walk.c - walk the blocks of glibc's heaps. */
#include "inspect/heap_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_SIZE      ((uint64_t)64 << 20) /* heaps of threads are aligned to this */
#define WINDOW_SIZE     ((size_t)1 << 18)
#define BLOCK_MIN       32
#define BLOCK_IN_USE    1 /* of the block before, in the size of a block */
#define BLOCK_MMAPPED   2
#define BLOCK_FLAGS     7
#define BLOCK_SLACK     64 /* of a block, beside the frame: its header, alignment, an allocator */
#define HEAP_BLOCKS_MAX (UINT64_C(1) << 27)
#define START_MAX       4096 /* the first block is at most so far from the start */

struct heap_reader {
	const struct process_image *image;
	uint8_t *window;
	uint64_t start;
	size_t size;
	uint64_t left; /* blocks that may still be visited: the memory may be hostile */
};

static bool heap_word(struct heap_reader *r, uint64_t addr, uint64_t *word)
{
	if (addr < r->start || addr + 8 > r->start + r->size) {
		ssize_t got = image_read(r->image, addr, r->window, WINDOW_SIZE);

		if (got < 8)
			return false;
		r->start = addr;
		r->size = (size_t)got;
	}
	memcpy(word, r->window + (addr - r->start), 8);
	return true;
}

/* ---- one heap --------------------------------------------------------------------- */

typedef void (*block_visitor)(void *arg, uint64_t start, uint64_t end, bool is_used);

/* Visit the blocks from @at on.  False: not a heap, or one that changes at this moment. */
static bool heap_walk(struct heap_reader *r, uint64_t at, uint64_t end, block_visitor visit,
		      void *arg)
{
	while (at < end) {
		uint64_t size, next;

		if (end - at < BLOCK_MIN || !r->left || !heap_word(r, at + 8, &size))
			return false;
		r->left--;
		next = at + (size & ~(uint64_t)BLOCK_FLAGS);
		if (next < at + BLOCK_MIN || next > end || next % 16 || (size & BLOCK_MMAPPED))
			return false;
		/* The last block is the rest of the heap. */
		if (next < end && !heap_word(r, next + 8, &size))
			return false;
		if (visit)
			visit(arg, at, next, next < end && (size & BLOCK_IN_USE));
		at = next;
	}
	return true;
}

/* The first block is behind the allocator's own data, whose size depends on its version. */
static bool heap_find_start(struct heap_reader *r, uint64_t start, uint64_t end, uint64_t *first)
{
	uint64_t offset;

	for (offset = 0; offset < START_MAX; offset += 16) {
		if (heap_walk(r, start + offset, end, NULL, NULL)) {
			*first = start + offset;
			return true;
		}
	}
	return false;
}

/* ---- frames ----------------------------------------------------------------------- */

struct heap_frames {
	struct frame_table *table;
	size_t next; /* the first frame that is not yet passed */
	int64_t dropped;
};

static void heap_set_frames(void *arg, uint64_t start, uint64_t end, bool is_used)
{
	struct heap_frames *h = arg;
	struct frame_table *t = h->table;

	for (; h->next < t->nr && t->frames[h->next].addr < end; h->next++) {
		struct coro_frame *f = &t->frames[h->next];

		if (f->addr < start)
			continue;
		if (!is_used && f->state != FRAME_INVALID) {
			f->state = FRAME_INVALID;
			h->dropped++;
		}
		f->is_allocated = is_used;
		f->is_block = is_used && f->addr == start + 16 &&
			      (f->has_guessed_size || end - start <= f->size + BLOCK_SLACK);
		/* The block is what the frame was allocated with. */
		if (is_used && f->addr == start + 16 && f->has_guessed_size)
			f->size = (uint32_t)(end - start - 8);
	}
}

/* The heap that contains @addr: the program's own, or one of an arena. */
static bool heap_bounds(struct heap_reader *r, const struct image_range *range, uint64_t addr,
			uint64_t *start, uint64_t *end)
{
	uint64_t base = addr & ~(ARENA_SIZE - 1), size;

	/* A core file does not name it. */
	if (range->path && (!strcmp(range->path, "[heap]") || !*range->path)) {
		*start = (range->start + 15) & ~(uint64_t)15;
		*end = range->end;
		if (*range->path || heap_find_start(r, *start, *end, &size))
			return true;
	}
	/* An arena begins with its address, the heap before it, and its size. */
	if (range->start > base || !heap_word(r, base + 16, &size) || size > ARENA_SIZE ||
	    size < START_MAX || base + size > range->end)
		return false;
	*start = base;
	*end = base + size;
	return true;
}

int64_t heap_walk_frames(const struct process_image *image, struct frame_table *table)
{
	struct heap_reader r = { .image = image,
				 .window = malloc(WINDOW_SIZE),
				 .left = HEAP_BLOCKS_MAX };
	struct heap_frames h = { .table = table };

	if (!r.window)
		return -ENOMEM;
	while (h.next < table->nr) {
		uint64_t addr = table->frames[h.next].addr, start, end, first;
		const struct image_range *range = image_find_range(image, addr);
		size_t before = h.next;

		if (range && heap_bounds(&r, range, addr, &start, &end) && addr < end &&
		    heap_find_start(&r, start, end, &first))
			heap_walk(&r, first, end, heap_set_frames, &h);
		else if (range)
			h.next = frame_table_from(table, range->end);
		if (h.next == before)
			h.next++;
	}
	free(r.window);
	return h.dropped;
}
