/* SPDX-License-Identifier: MIT */
/*
 * typed_memory.h - types of memory without annotations: of heap blocks by vote (block_types.h),
 * else of the accessing instruction (access_types.h).
 */
#ifndef MEMORY_TYPES_TYPED_MEMORY_H
#define MEMORY_TYPES_TYPED_MEMORY_H

#include "memory/types/block_types.h"

enum typed_source {
	TYPED_NOT,
	TYPED_BY_VOTE,
	TYPED_BY_CODE,
	TYPED_IN_ARRAY, /* by code, in an array of an object whose start is not known */
};

struct typed_place {
	enum typed_source source;
	uint32_t type;
	uint64_t start, end;
	uint64_t stride; /* from element to element */
	bool is_steady;  /* all accesses of the code to the block are the same, each at its place */
};

struct typed_memory;

/* The caller owns @types.  NULL without memory. */
struct typed_memory *typed_memory_new(struct types *types);

/*
 * Take a record of the first pass, in which instructions vote; each access of a run counts as
 * @stands_for votes.  0 or -ENOMEM.
 */
int typed_memory_vote(struct typed_memory *m, const struct mem_record *r);
int typed_memory_vote_run(struct typed_memory *m, const struct mem_access *access, size_t nr,
			  uint32_t stands_for);
void typed_memory_decide(struct typed_memory *m);

/*
 * The type at @address for the code at @pc.  @block: the heap block there, from @site; NULL: none
 * is known, but the address may be in the heap.
 */
void typed_memory_find(struct typed_memory *m, uint64_t address, uint64_t pc,
		       const struct heap_block *block, struct heap_site *site,
		       struct typed_place *out);

/*
 * The same was found by code for an earlier access of @pc: the caller fills in the place of
 * @address.
 */
struct typed_place *typed_memory_found(struct typed_memory *m, uint64_t address, uint64_t pc);

/* An access begins: only its own parts belong to the object of its first part. */
void typed_memory_begin(struct typed_memory *m);

/* True if blocks of @size bytes from @site have a type by vote. */
bool typed_memory_has_vote(const struct typed_memory *m, struct heap_site *site, uint64_t size);

/* The votes on blocks of @type, and how many of them agree; 0 if no block has it by vote. */
uint64_t typed_memory_votes(const struct typed_memory *m, uint32_t type, uint64_t *agreeing);

/* True if the blocks from @site that have no type are accessed as bytes. */
bool typed_memory_is_bytes(const struct typed_memory *m, const struct heap_site *site);

/* Accepts NULL. */
void typed_memory_free(struct typed_memory *m);

#endif
