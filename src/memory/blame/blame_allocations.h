/* SPDX-License-Identifier: MIT */
/*
 * blame_allocations.h - misses by the place where a block of the heap was allocated.
 *
 * The place is the innermost function of the allocation's call stack that is not an allocator's:
 * functions are passed over whose name has "alloc", "dup" or "operator new" in it (any case), and
 * those of the C and C++ libraries (namespace std, or in a module of these).  If all are such
 * functions, the place is the outermost one of the program.
 */
#ifndef MEMORY_BLAME_BLAME_ALLOCATIONS_H
#define MEMORY_BLAME_BLAME_ALLOCATIONS_H

#include "memory/blame/blame.h"

struct blame_allocation {
	uint64_t pc;                          /* 0: unknown */
	const char *function, *file, *module; /* NULL: unknown */
	uint32_t line;
	const char *callers; /* "build < main": of its first call stack, from the place outwards */
	uint64_t blocks, bytes; /* allocated */
	struct blame_counts counts;
};

/* The @nr most expensive places; returns how many exist.  Valid until blame_free(). */
size_t blame_allocations(struct blame *b, const struct blame_allocation **out, size_t nr);

/* ---- for blame.c ------------------------------------------------------------------ */

/* The counts of accesses to blocks of @site (heap_blocks.h); NULL: no memory. */
struct blame_counts *blame_allocation_counts(struct blame *b, uint32_t site);

/* The text for the blocks of a site, "bytes from text.c:12 (text_new)"; NULL: no memory. */
const char *blame_allocation_name(void *blame, const struct heap_site *site);

void blame_allocations_release(struct blame *b);

#endif
