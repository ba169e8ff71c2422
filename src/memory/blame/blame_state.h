/* SPDX-License-Identifier: MIT */
/* blame_state.h - the state that blame.c and blame_tables.c share. */
#ifndef MEMORY_BLAME_BLAME_STATE_H
#define MEMORY_BLAME_BLAME_STATE_H

#include "base/strtab.h"
#include "base/u64map.h"
#include "memory/blame/blame.h"
#include "memory/blame/blame_allocations.h"
#include "memory/blame/blame_coroutines.h"
#include "memory/blame/blame_functions.h"
#include "memory/blame/blame_memo.h"

struct blame {
	struct sim_config config;
	struct types *types;
	struct mem_places *places;
	struct symbols *symbols;
	size_t nr_modules;

	struct blame_owner **owners; /* by number in `places`; NULL: not accessed */
	uint32_t owners_size;
	struct u64map by_pc; /* pc to site */
	struct blame_site *last_site;
	uint64_t alike_start, alike_end; /* addresses that count as the last access; equal: none */
	struct replay_tally *last_tally; /* for accesses like the last one; NULL: none */
	struct blame_memos *memos;       /* accesses that are not in the tables yet */
	struct blame_counts total;
	struct blame_counts heap[BLAME_NAMINGS];

	struct blame_shared **shared;
	uint32_t nr_shared;
	struct u64map shared_by_line; /* line to 1 + index */
	struct strtab texts;          /* names of shared fields */
	uint64_t shared_dropped;

	struct blame_changes *changes; /* NULL: no records yet */

	const struct mem_facts *facts;     /* for the call stacks of allocations */
	struct blame_counts *alloc_counts; /* by site of heap_blocks.h */
	uint32_t alloc_counts_size;

	/* Computed on request. */
	struct blame_owner **sorted_owners;
	size_t nr_sorted_owners;
	struct blame_site *lines, **sorted_lines;
	size_t nr_lines;
	struct blame_allocation *allocations, **sorted_allocations;
	size_t nr_allocations;
	struct blame_function *functions, **sorted_functions;
	size_t nr_functions;
};

/*
 * Record an access that missed because of another core, or invalidated lines there. 0 or -ENOMEM.
 */
int blame_note_shared(struct blame *b, const struct mem_record *r,
		      const struct address_owner *place, const struct sim_outcome *out);

/* Where to count an access to @place as one of the heap; NULL: it is not in the heap. */
struct blame_counts *blame_heap_counts(struct blame *b, const struct address_owner *place);

/* For sorting by cost, then by accesses. */
int blame_by_cost(const struct blame *b, const struct blame_counts *x,
		  const struct blame_counts *y);

void blame_add_counts(struct blame_counts *to, const struct blame_counts *from);

void blame_tables_release(struct blame *b);

#endif
