/* SPDX-License-Identifier: MIT */
/*
 * annotation_map.h - the annotations in force at a point of the trace, by address.
 *
 * A treap by start address.  Its priorities are random, so that a trace cannot choose addresses
 * that make it deep.  Regions never overlap: a new region replaces those that it overlaps.
 */
#ifndef MEMORY_FORMAT_ANNOTATION_MAP_H
#define MEMORY_FORMAT_ANNOTATION_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct annotation {
	uint64_t start, end; /* [start, end); may be empty */
	uint32_t elem_size;
	uint32_t type; /* the caller's number of the type name */
	uint64_t priority;
	struct annotation *left, *right;
};

/* Initialize with zeros. */
struct annotation_map {
	struct annotation *root;
	struct annotation *spare;        /* free nodes, linked by `left` */
	struct annotation_slab *slabs;   /* the memory of all nodes; the newest first */
	size_t nr, most;                 /* now; maximum */
	const struct annotation *newest; /* the region added last, which may be gone */
	uint64_t seed;
};

/*
 * Add [@start, @start + @size).  Returns how many regions it replaced, the first of them in
 * *@met; -ENOMEM.
 */
int regions_add(struct annotation_map *r, uint64_t start, uint64_t size, uint32_t elem_size,
		uint32_t type, struct annotation *met);

/* False: no region starts at @start. */
bool regions_remove(struct annotation_map *r, uint64_t start);

/* The last region that starts at or before @address, or NULL. */
const struct annotation *regions_before(const struct annotation_map *r, uint64_t address);

/* The region that contains @address, or NULL. */
const struct annotation *regions_find(const struct annotation_map *r, uint64_t address);

void regions_release(struct annotation_map *r);

#endif
