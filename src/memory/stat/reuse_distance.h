/* SPDX-License-Identifier: MIT */
/*
 * reuse_distance.h - statistics per cache line: uses, threads, reuse distances.
 *
 * The reuse distance of an access is the number of different lines used since the previous use of
 * the line: an LRU cache holds the line if and only if it has more than that many lines.  The
 * distance is exact: a bit per slot in the order of last uses says whether the slot is the last use
 * of a line, and sums per 512 and per 32768 slots count the lines used since.  To change a bit
 * costs three additions.  Most distances are short: the LINES_TOP lines used last are in a list, in
 * order, and have no slot.
 *
 * Memory is bounded.  Beyond LINES_MAX lines the table becomes a sample: only lines whose hash is
 * below a threshold are followed, the threshold is halved as often as needed, and each sampled
 * access counts `one_in` times; distances are scaled by the same factor.  (Sampling by address,
 * not by time, keeps distances correct.)  `one_in` of 1 means exact.
 */
#ifndef MEMORY_STAT_REUSE_DISTANCE_H
#define MEMORY_STAT_REUSE_DISTANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINES_MAX     (1u << 22) /* default maximum of lines followed at a time */
#define LINES_RECENT  4096u
#define LINES_TOP     16u
#define LINES_BUCKETS 48 /* distances 0, 1, 2-3, 4-7 ... */

struct reuse_line {
	uint64_t line; /* address / line size */
	uint64_t reads, writes;
	uint64_t readers, writers; /* bit per thread number modulo 64 */
	uint32_t slot;             /* position in the order of last uses; none: in the list */
	uint32_t window;           /* 1 + the last window that used it */
	uint32_t type;             /* type number of the caller at its last typed use */
};

struct reuse_lines {
	struct reuse_line *lines;
	uint32_t nr, size, max;
	uint32_t *places; /* hash table: index + 1; 0: free */
	uint32_t nr_places;
	uint64_t *bits;  /* 1 if the slot is the last use of a line */
	uint32_t *sums;  /* of 512 bits, then, from nr_slots / 512 on, of 32768 bits */
	uint32_t *owner; /* slot to index of the line */
	uint32_t nr_slots, now;
	uint64_t seed;
	uint64_t one_in;
	uint64_t last; /* line of top[0], if nr_top > 0 */
	/* Indices of the lines used last, the last one first; ~0: free. */
	_Alignas(16) uint32_t top[LINES_TOP];
	uint32_t nr_top;
	uint32_t *recent; /* by line modulo LINES_RECENT: index of a line, a guess */

	uint64_t uses; /* accesses to lines; an access that straddles two lines counts twice */
	uint64_t cold; /* first uses, which have no distance */
	uint64_t reuse[LINES_BUCKETS];
	uint32_t window;       /* number of the current window */
	uint64_t window_lines; /* distinct lines in it */
	uint64_t distinct;     /* distinct lines in total, estimated when sampled */
};

/* @max: lines to follow, rounded up to a power of two; 0: LINES_MAX.  Returns 0 or -ENOMEM. */
int lines_init(struct reuse_lines *l, uint32_t max);

/* Count a use of a line.  @type ~0: none.  0 or -ENOMEM. */
int lines_use(struct reuse_lines *l, uint64_t line, bool write, uint32_t thread, uint32_t type);

/* Start the next window. */
void lines_window(struct reuse_lines *l);

/* The @nr most used lines, most used first; returns how many were stored. */
size_t lines_hottest(struct reuse_lines *l, const struct reuse_line **out, size_t nr);

/* The smallest distance in @bucket; the largest is one less than that of the next bucket. */
uint64_t lines_bucket_start(unsigned bucket);

void lines_release(struct reuse_lines *l);

#endif
