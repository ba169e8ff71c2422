/* SPDX-License-Identifier: MIT */
/*
 * strides.h - how each place in the code walks through memory.
 *
 * A stride is the distance from one access to the next of the same place (code address and
 * thread; without code addresses, thread and kind).  Which strides are frequent is counted
 * in a bounded table: when it is full, the rarer half is dropped.  So a count may be too low,
 * by `under` at most: the sum of the largest counts that were dropped each time.
 */
#ifndef MEMORY_STRIDES_H
#define MEMORY_STRIDES_H

#include "base/u64map.h"
#include "memory/record.h"

#define STRIDES_KEPT  4096
#define STRIDES_SITES (1u << 18) /* places followed; later ones are not */

struct stride {
	int64_t stride;
	uint64_t count;
};

struct strides {
	struct u64map sites; /* place to 1 + index */
	struct strides_site {
		uint64_t last;
		int64_t stride;
		bool walks; /* has a stride */
	} * site;
	size_t nr_sites, sites_size;
	struct stride kept[STRIDES_KEPT];
	size_t nr_kept;
	struct u64map by_stride; /* stride to 1 + index in kept */
	uint64_t all;            /* strides */
	uint64_t same;           /* equal to the one before of that place */
	uint64_t zero;           /* the same address again */
	uint64_t next;           /* exactly behind the last access: sequential */
	uint64_t under;          /* counts may be that much too low */
	uint64_t unknown;        /* accesses of places that are not followed */
};

int strides_access(struct strides *s, const struct mem_record *r);

/* Most frequent first. */
void strides_sort(struct strides *s);
void strides_release(struct strides *s);

#endif
