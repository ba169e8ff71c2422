/* SPDX-License-Identifier: MIT */
/*
 * profile.h - how a program uses the records of each type: the first reading of the trace.
 *
 * A *visit* is what one thread does with one element without leaving it for more than
 * PROFILE_WINDOW accesses.  Fields that are used in the same visits belong together: their
 * affinity is visits with both / visits with either.
 *
 * Lines are followed from the moment they are fetched (a miss of the first level) until they are
 * fetched again: how many of their bytes were used meanwhile.  Of more than PROFILE_LINES_MAX
 * lines a sample is followed, by place.
 */
#ifndef MEMORY_LAYOUT_PROFILE_H
#define MEMORY_LAYOUT_PROFILE_H

#include "memory/blame.h"
#include "memory/layout/pieces.h"

#define PROFILE_WINDOW    256u
#define PROFILE_PIECES    64u /* told apart; those behind count as the last */
#define PROFILE_OPEN      256u
#define PROFILE_TYPES_MAX 1024u
#define PROFILE_LINES_MAX (1u << 16)

struct profile_visit {
	uint64_t element; /* its address; 0: free */
	uint64_t last;    /* when it was used, in accesses */
	uint64_t mask;    /* of pieces */
	uint32_t thread;
};

struct profile_type {
	uint32_t owner;
	struct pieces pieces;
	uint64_t visits;
	uint64_t visits_of[PROFILE_PIECES];
	uint64_t both[PROFILE_PIECES][PROFILE_PIECES];
	struct profile_visit open[PROFILE_OPEN];
	uint64_t fetched, used; /* lines; bytes of them */
	uint64_t in_arrays;     /* accesses, of elements that have neighbours */
	uint64_t in_blocks;     /* of annotated blocks */
	uint64_t accesses;      /* records, not weighted */
	struct blame_counts counts;
	uint64_t cost;
};

struct profile;

struct profile *profile_new(struct blame *b, struct err *err);

/* After blame_access() of the same.  0 or -ENOMEM. */
int profile_access(struct profile *p, const struct mem_record *r, const struct sim_outcome *out);

/* Closes what is open and takes over what blame counted.  0 or -ENOMEM. */
int profile_finish(struct profile *p);

/* The @nr most expensive; returns how many there are. */
size_t profile_types(struct profile *p, struct profile_type **out, size_t nr);

/* 0 to 1. */
double profile_affinity(const struct profile_type *t, uint32_t a, uint32_t b);

void profile_free(struct profile *p);

#endif
