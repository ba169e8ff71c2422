/* SPDX-License-Identifier: MIT */
/*
 * strides.h - the strides of the accesses of each site.
 *
 * A stride is the distance from one access to the next of the same site (code address and thread;
 * without code addresses, thread and kind).  Frequent strides are counted in a bounded table:
 * when it is full, the less frequent half is removed.  So a count may be too low, at most by
 * `under`: the sum of the largest counts removed each time.
 */
#ifndef MEMORY_STAT_STRIDES_H
#define MEMORY_STAT_STRIDES_H

#include "base/u64map.h"
#include "memory/format/mem_record.h"

#define STRIDES_KEPT   4096
#define STRIDES_BITS   13u /* of the tables without hash chains */
#define STRIDES_RECENT (1u << STRIDES_BITS)
#define STRIDES_SITES  (1u << 18) /* maximum number of sites; later sites are ignored */

struct stride {
	int64_t stride;
	uint64_t count;
};

struct strides {
	struct u64map sites; /* site to 1 + index */
	struct strides_site {
		uint64_t key, last;
		int64_t stride;
		bool walks;     /* `stride` is valid */
		uint32_t kept;  /* index of `stride` in kept, if... */
		uint32_t times; /* ...this is the number of removals */
	} * site;
	size_t nr_sites, sites_size;
	struct stride kept[STRIDES_KEPT];
	size_t nr_kept;
	uint32_t times;                  /* how often half of `kept` was removed */
	uint32_t recent[STRIDES_RECENT]; /* 1 + index of a site, found without the map */
	struct u64map by_stride;         /* stride to 1 + index in kept */
	struct strides_kept {
		int64_t stride;
		uint32_t kept;   /* 1 + its index in kept, if... */
		uint32_t times;  /* ...this is the number of removals */
	} found[STRIDES_RECENT]; /* strides found without the map */
	uint64_t all;            /* number of strides */
	uint64_t same;           /* strides equal to the previous one of the site */
	uint64_t zero;           /* strides of 0: the same address again */
	uint64_t next;           /* sequential: directly after the last access */
	uint64_t under;          /* counts may be too low by this */
	uint64_t unknown;        /* accesses of ignored sites */
};

/* Count @nr accesses of a thread.  0 or -ENOMEM. */
int strides_run(struct strides *s, uint32_t thread, const struct mem_access *access, size_t nr);

/* Most frequent first. */
void strides_sort(struct strides *s);
void strides_release(struct strides *s);

#endif
