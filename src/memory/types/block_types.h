/* SPDX-License-Identifier: MIT */
/*
 * block_types.h - the types of heap blocks, voted by the instructions that access them.
 *
 *	b = block_types_new(types, accesses);
 *	while ((rec = mem_reader_next(r)))              first pass
 *		block_types_vote(b, rec);
 *	block_types_decide(b);
 *	group = block_types_find(b, site, size);        second pass
 *
 * Blocks with the same call stack and size are a group, which has one type.  Each access by an
 * instruction whose type is known (access_types.h) is a vote.  A type wins if it explains the
 * votes: an access to a member, or to a record inside the type, at the right offset.  The share
 * of votes that it explains is the certainty; below BLOCK_CERTAIN the group has no type.  Where the
 * allocating call itself names the type (alloc_types.h), that is the type.
 */
#ifndef MEMORY_TYPES_BLOCK_TYPES_H
#define MEMORY_TYPES_BLOCK_TYPES_H

#include "memory/types/access_types.h"
#include "memory/types/heap_blocks.h"

#define BLOCK_CERTAIN    0.9
#define BLOCK_GROUPS_MAX (1u << 18)

/* What is known of the blocks of one call stack and size. */
struct block_group {
	uint64_t size, pc;
	uint32_t stack;
	uint32_t given;  /* the type that the allocating call is for (alloc_types.h); 0: unknown */
	uint32_t type;   /* 0: not known */
	uint64_t header; /* bytes of the program's allocator before the object */
	uint64_t stride;
	uint64_t votes, agreeing;
};

struct block_types;

/* The caller owns @types and @accesses.  NULL without memory. */
struct block_types *block_types_new(struct types *types, struct access_types *accesses);

/*
 * Take a record of the first pass; each access of a run counts as @stands_for votes.  0 or -ENOMEM.
 */
int block_types_vote(struct block_types *b, const struct mem_record *r);
int block_types_vote_run(struct block_types *b, const struct mem_access *access, size_t nr,
			 uint32_t stands_for);

/* End the first pass: choose the types, and forget all blocks. */
void block_types_decide(struct block_types *b);

/* The group of blocks of @size bytes from @site, which notes it; NULL: none is known. */
const struct block_group *block_types_find(const struct block_types *b, struct heap_site *site,
					   uint64_t size);

/*
 * True if blocks from @site without a type are mostly accessed as bytes: one by one, or many at
 * once.
 */
bool block_types_is_bytes(const struct block_types *b, const struct heap_site *site);

uint32_t block_types_groups(const struct block_types *b);
const struct block_group *block_types_group(const struct block_types *b, uint32_t number);

/* Accepts NULL. */
void block_types_free(struct block_types *b);

#endif
