/* SPDX-License-Identifier: MIT */
/*
 * regions.h - which type lies where: the annotations that hold at a point of the trace.
 *
 * A treap by start address.  Its priorities are random numbers of its own, so that a trace
 * cannot choose addresses that make it deep.  Regions in it never overlap: a new one takes
 * the place of those that it meets.
 */
#ifndef MEMORY_REGIONS_H
#define MEMORY_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct region {
	uint64_t start, end; /* [start, end); an empty one is only a start */
	uint32_t elem_size;
	uint32_t type; /* the caller's number of its name */
	uint64_t priority;
	struct region *left, *right;
};

/* All zero is empty. */
struct regions {
	struct region *root;
	struct region *spare; /* to be used again; linked by left */
	size_t nr, most;      /* now, and ever */
	uint64_t seed;
};

/*
 * Enter [@start, @start + @size).  Returns how many regions it met, which are gone now, the
 * first of them in *@met; -ENOMEM.
 */
int regions_add(struct regions *r, uint64_t start, uint64_t size, uint32_t elem_size, uint32_t type,
		struct region *met);

/* False: none starts at @start. */
bool regions_remove(struct regions *r, uint64_t start);

/* The one that @address lies in, or NULL. */
const struct region *regions_find(const struct regions *r, uint64_t address);

void regions_release(struct regions *r);

#endif
