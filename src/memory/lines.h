/* SPDX-License-Identifier: MIT */
/*
 * lines.h - what is known of each cache line: how often it was used, by whom, and after how many
 * other lines again.
 *
 * The reuse distance of an access is the number of different lines used since the line was
 * used before: an LRU cache of that many lines, and of no fewer, has it.  It is exact: a
 * Fenwick tree over the order of last uses counts the lines behind.  Costs O(log lines) per
 * access that is not to the line before.
 *
 * Memory is bounded.  Beyond LINES_MAX lines the table becomes a sample: only lines whose hash
 * is below a threshold are followed, the threshold is halved as often as needed, and each
 * sampled access stands for as many as it is one of; distances grow by the same factor.
 * (Sampling by place, not by time, keeps distances right.)  `one_in` tells; 1 is exact.
 */
#ifndef MEMORY_LINES_H
#define MEMORY_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINES_MAX     (1u << 22) /* followed at a time, unless told otherwise */
#define LINES_BUCKETS 48         /* distances 0, 1, 2-3, 4-7 ... */

struct line {
	uint64_t line; /* address / line size */
	uint64_t reads, writes;
	uint64_t readers, writers; /* bit per thread number modulo 64 */
	uint32_t slot;             /* its place in the order of last uses */
	uint32_t window;           /* the last one that it was used in, + 1 */
	uint32_t type;             /* the caller's, of its last use that had one */
};

struct lines {
	struct line *lines;
	uint32_t nr, size, max;
	uint32_t *places; /* hash table: index + 1; 0: free */
	uint32_t nr_places;
	uint32_t *tree;  /* Fenwick: is the slot some line's last use? */
	uint32_t *owner; /* of a slot: index of the line */
	uint32_t nr_slots, now;
	uint64_t seed;
	uint64_t one_in;
	struct line *last; /* of the last access */

	uint64_t uses; /* accesses to lines; one that straddles is two */
	uint64_t cold; /* first uses: no distance */
	uint64_t reuse[LINES_BUCKETS];
	uint32_t window;       /* the caller's number of the current window */
	uint64_t window_lines; /* different lines in it */
	uint64_t distinct;     /* different lines ever, as far as they are known */
};

/* @max: lines to follow, rounded up to a power of two; 0: LINES_MAX.  0 or -ENOMEM. */
int lines_init(struct lines *l, uint32_t max);

/* 0 or -ENOMEM.  @type: ~0: none. */
int lines_use(struct lines *l, uint64_t line, bool write, uint32_t thread, uint32_t type);

/* From here on another window. */
void lines_window(struct lines *l);

/* The @nr most used lines, most used first; returns how many there are. */
size_t lines_hottest(struct lines *l, const struct line **out, size_t nr);

/* Bucket b holds distances from this to one less than that of b + 1. */
uint64_t lines_bucket_start(unsigned bucket);

void lines_release(struct lines *l);

#endif
