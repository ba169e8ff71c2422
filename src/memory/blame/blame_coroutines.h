/* SPDX-License-Identifier: MIT */
/*
 * blame_coroutines.h - misses and allocations by kind of coroutine and await site.
 *
 * The trace has a record where a thread changes to another coroutine (MEM_CORO).  An access belongs
 * to the coroutine that its thread runs, and to the site at which that coroutine was suspended
 * before: the code after the await.  Every access is in exactly one row, so the rows add up to
 * blame_total().  Memory grows with kinds and sites, up to a bound, not with coroutines.
 */
#ifndef MEMORY_BLAME_BLAME_COROUTINES_H
#define MEMORY_BLAME_BLAME_COROUTINES_H

#include "memory/blame/blame.h"

#define BLAME_AWAITS_MAX 65536u /* kinds and sites; then "(others)" */

/* What coroutines of one kind did after one await. */
struct blame_await {
	const char *file, *function; /* "": not suspended at a known site before */
	uint32_t line;
	uint64_t slices;                 /* resumes */
	uint64_t slice_ns;               /* of these slices; 0: the trace has no times */
	uint64_t allocations, allocated; /* annotated blocks, and their bytes */
	struct blame_counts counts;
};

struct blame_coroutine {
	const char *kind;       /* NULL: outside of all coroutines */
	struct blame_await all; /* the sum, without a site */
	struct blame_await *awaits;
	size_t nr_awaits, room;
};

/*
 * All kinds, the most expensive first, and their sites in the same order; *@nr is 0 if the trace
 * has no coroutines.  Valid until blame_free().  NULL: no memory.
 */
const struct blame_coroutine *blame_coroutines(struct blame *b, size_t *nr);

/* ---- for blame.c ------------------------------------------------------------------ */

struct blame_changes; /* which coroutine each thread runs */

/* Take a MEM_CORO or MEM_ADD record.  0 or -ENOMEM. */
int blame_coroutine_record(struct blame *b, const struct mem_record *r);

/* The counts for accesses of @thread; NULL: no memory. */
struct blame_counts *blame_coroutine_counts(struct blame *b, uint32_t thread);

void blame_coroutines_release(struct blame *b);

#endif
