/* SPDX-License-Identifier: MIT */
/*
 * profile.h - how a program uses the records of each type: the first pass over the trace.
 *
 * A *visit* is the sequence of accesses of one thread to one element, with gaps of at most
 * PROFILE_WINDOW accesses.  Fields that are used in the same visits belong together: their
 * affinity is visits with both / visits with either.
 *
 * Lines are followed from one fetch (a miss of the first level) to the next: the profile counts
 * the bytes that were used in between.  If there are more than PROFILE_LINES_MAX lines, a sample
 * by address is followed.
 */
#ifndef MEMORY_LAYOUT_PROFILE_H
#define MEMORY_LAYOUT_PROFILE_H

#include "memory/blame/blame.h"
#include "memory/layout/members.h"

#define PROFILE_WINDOW    256u
#define PROFILE_PIECES    64u /* counted separately; later ones count as the last */
#define PROFILE_OPEN      256u
#define PROFILE_TYPES_MAX 1024u
#define PROFILE_LINES_MAX (1u << 16)

struct profile_visit {
	uint64_t element; /* address of the element; 0: free */
	uint64_t last;    /* time of the last use, in accesses */
	uint64_t mask;    /* a bit per piece */
	uint32_t thread;
};

struct profile_type {
	uint32_t owner;
	struct pieces pieces;
	uint64_t visits;
	uint64_t visits_of[PROFILE_PIECES];
	uint64_t both[PROFILE_PIECES][PROFILE_PIECES];
	struct profile_visit open[PROFILE_OPEN];
	uint64_t fetched, used; /* lines fetched; bytes used of them */
	uint64_t in_arrays;     /* accesses to elements of an array */
	uint64_t in_variables;  /* accesses to variables of the program */
	uint64_t in_blocks;     /* accesses to annotated blocks, or to blocks typed by vote */
	uint64_t accesses;      /* records of the trace, not weighted */
	struct blame_counts counts;
	uint64_t behind; /* accesses to bytes after the type, in 1/256 */
	uint64_t cost;
};

struct profile;

struct profile *profile_new(struct blame *b, struct err *err);

/* Call it after blame_access() for the same record.  Returns 0 or -ENOMEM. */
int profile_access(struct profile *p, const struct mem_record *r, const struct sim_outcome *out);

/* The same for an access that only hit the first level. */
int profile_hit(struct profile *p, uint32_t thread, const struct mem_access *a);

/* Call it for each record other than an access: it may change what is at an address. */
void profile_forget(struct profile *p);

/* Close open visits and take over the counts of blame.  Returns 0 or -ENOMEM. */
int profile_finish(struct profile *p);

/* The @nr most expensive types.  Returns the number of all types. */
size_t profile_types(struct profile *p, struct profile_type **out, size_t nr);

/* From 0 to 1. */
double profile_affinity(const struct profile_type *t, uint32_t a, uint32_t b);

void profile_free(struct profile *p);

#endif
