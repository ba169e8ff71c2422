/* SPDX-License-Identifier: MIT */
/* heap_blocks.c - the blocks of the heap that are allocated at a point of the trace, by address. */
#include "memory/types/heap_blocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/large_table.h"

#define HEAP_GRANULE 4u /* log2 of the bytes that share a place in `near` */
#define HEAP_NOTED   4  /* granules of a new block that are entered at once */

static int heap_blocks_add_site(struct heap_blocks *h, uint64_t pc, uint32_t stack, uint32_t next)
{
	if (h->nr_sites == h->sites_size) {
		uint32_t more = h->sites_size ? h->sites_size * 2 : 64;
		struct heap_site *sites = realloc(h->sites, more * sizeof(*sites));

		if (!sites)
			return -ENOMEM;
		h->sites = sites;
		h->sites_size = more;
	}
	h->sites[h->nr_sites++] = (struct heap_site){ .pc = pc, .stack = stack, .next = next };
	return 0;
}

/* The number of a site, added if it is new.  -ENOMEM. */
static int64_t heap_blocks_site_of(struct heap_blocks *h, uint64_t pc, uint32_t stack)
{
	uint64_t *first;
	uint32_t i;

	if (!h->nr_sites && heap_blocks_add_site(h, 0, 0, 0) < 0)
		return -ENOMEM;
	first = u64map_at(&h->by_hash, pc ^ (uint64_t)stack * UINT64_C(0x9E3779B97F4A7C15));
	if (!first)
		return -ENOMEM;
	for (i = (uint32_t)*first; i; i = h->sites[i].next) {
		if (h->sites[i].pc == pc && h->sites[i].stack == stack)
			return i;
	}
	if (h->nr_sites == HEAP_SITES_MAX)
		return 0;
	if (heap_blocks_add_site(h, pc, stack, (uint32_t)*first) < 0)
		return -ENOMEM;
	*first = h->nr_sites - 1;
	return h->nr_sites - 1;
}

static const struct annotation **heap_blocks_near(const struct heap_blocks *h, uint64_t address)
{
	return &h->near[(address >> HEAP_GRANULE) & (h->near_size - 1)];
}

/* Enter a block again where it was in the smaller table: at one of its granules. */
static void heap_blocks_keep_near(struct heap_blocks *h, const struct annotation *a, uint32_t at,
				  uint32_t size)
{
	uint64_t first = a->start >> HEAP_GRANULE;
	uint64_t granule = first + ((at - first) & (size - 1));

	if (granule << HEAP_GRANULE < a->end)
		*heap_blocks_near(h, granule << HEAP_GRANULE) = a;
}

/* Without memory, searches take longer. */
static void heap_blocks_grow_near(struct heap_blocks *h)
{
	uint32_t size = h->near ? h->near_size * 4 : HEAP_NEAR, nr = h->near ? h->near_size : 0, i;
	const struct annotation **old = h->near, **more;

	if (h->near && (h->live.nr < h->near_size / 4 || size > HEAP_NEAR_MAX))
		return;
	more = large_table_zeroed(size * sizeof(struct annotation *));
	if (!more)
		return;
	h->near = more;
	h->near_size = size;
	for (i = 0; i < nr; i++) {
		if (old[i])
			heap_blocks_keep_near(h, old[i], i, nr);
	}
	free(old);
}

/* The first accesses to a block shall find it at once. */
static void heap_blocks_note(struct heap_blocks *h, const struct annotation *a)
{
	uint64_t at;
	int i;

	if (!h->end || a->start < h->lowest)
		h->lowest = a->start;
	h->end = a->end > h->end ? a->end : h->end;
	heap_blocks_grow_near(h);
	at = a->start;
	for (i = 0; h->near && i < HEAP_NOTED && at < a->end; i++) {
		*heap_blocks_near(h, at) = a;
		at += UINT64_C(1) << HEAP_GRANULE;
	}
}

int heap_blocks_record(struct heap_blocks *h, const struct mem_record *r)
{
	struct annotation met;
	int64_t site;

	if (r->kind == MEM_FREE)
		regions_remove(&h->live, r->address);
	if (r->kind != MEM_ALLOC)
		return 0;
	site = heap_blocks_site_of(h, r->pc, r->stack);
	if (site < 0)
		return -ENOMEM;
	h->sites[site].blocks++;
	h->sites[site].bytes += r->value;
	if (regions_add(&h->live, r->address, r->value, 0, (uint32_t)site, &met) < 0)
		return -ENOMEM;
	heap_blocks_note(h, h->live.newest);
	return 0;
}

int heap_blocks_follow(struct heap_blocks *h, const struct mem_record *r)
{
	struct heap_site *site;
	int ret = heap_blocks_record(h, r);

	if (ret == 0 && r->kind == MEM_ALLOC) {
		site = &h->sites[h->live.newest->type];
		site->blocks--;
		site->bytes -= r->value;
	}
	return ret;
}

static bool heap_blocks_contains(const struct annotation *a, uint64_t address)
{
	return a && address >= a->start && address < a->end;
}

/* The block at @address; NULL: none. */
static const struct annotation *heap_blocks_at(const struct heap_blocks *h, uint64_t address)
{
	const struct annotation *a = h->near ? *heap_blocks_near(h, address) : NULL;

	return heap_blocks_contains(a, address) ? a : regions_find(&h->live, address);
}

void heap_blocks_changes(const struct heap_blocks *h, const struct mem_record *r, uint64_t *start,
			 uint64_t *end)
{
	const struct annotation *met;
	bool is_new = r->kind == MEM_ALLOC;

	*start = *end = r->address;
	if (is_new && r->value)
		*end = r->address + r->value < r->address ? UINT64_MAX : r->address + r->value;
	if (r->address >= h->end) /* the heap grows */
		return;
	if (is_new && *end > r->address) {
		met = regions_before(&h->live, *end - 1);
		if (!met || met->end <= r->address) /* it overlaps no block */
			return;
	}
	met = heap_blocks_at(h, r->address);
	if (met && (is_new || met->start == r->address)) {
		*start = met->start;
		*end = met->end > *end ? met->end : *end;
	}
	met = is_new && *end > r->address ? regions_find(&h->live, *end - 1) : NULL;
	if (met && met->end > *end)
		*end = met->end;
}

void heap_blocks_fetch_place(const struct heap_blocks *h, uint64_t address)
{
	if (h->near)
		__builtin_prefetch(heap_blocks_near(h, address));
}

void heap_blocks_fetch_block(const struct heap_blocks *h, uint64_t address)
{
	if (h->near)
		__builtin_prefetch(*heap_blocks_near(h, address));
}

/*
 * Look where a block was found before: first for the same code, then for the same address.  The
 * map empties a region that it removes, and keeps its memory, so that what is found is valid.
 */
bool heap_blocks_find(struct heap_blocks *h, uint64_t address, uint64_t pc, struct heap_block *out)
{
	const struct annotation **recent = &h->recent[(pc ^ pc >> 10) & (HEAP_RECENT - 1)];
	const struct annotation *a = *recent, **near;

	if (address - h->lowest >= h->end - h->lowest)
		return false;
	if (!heap_blocks_contains(a, address)) {
		near = h->near ? heap_blocks_near(h, address) : NULL;
		a = near ? *near : NULL;
		if (!heap_blocks_contains(a, address))
			a = regions_find(&h->live, address);
		if (!a)
			return false;
		*recent = a;
		if (near)
			*near = a;
	}
	*out = (struct heap_block){ a->start, a->end, a->type };
	return true;
}

void heap_blocks_release(struct heap_blocks *h)
{
	regions_release(&h->live);
	free(h->sites);
	free(h->near);
	u64map_release(&h->by_hash);
	memset(h, 0, sizeof(*h));
}
