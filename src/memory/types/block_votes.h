/* SPDX-License-Identifier: MIT */
/* block_votes.h - internal to types/: the votes on heap blocks, and the type that they decide. */
#ifndef MEMORY_TYPES_BLOCK_VOTES_H
#define MEMORY_TYPES_BLOCK_VOTES_H

#include "memory/types/block_types.h"

/*
 * Accesses of an object of @type, @offset bytes inside it.  The objects are at multiples of their
 * size in the block, plus @distance.
 */
struct block_vote {
	uint32_t type;
	bool is_record;
	uint64_t offset, distance;
	uint64_t first, last; /* lowest and highest place of an access in the block */
	uint32_t size;
	uint64_t count;
};

struct vote_list {
	struct block_vote *votes;
	uint32_t nr;
	uint16_t *by_hash; /* a table: 1 + index; NULL: the list is short */
	uint64_t others;   /* accesses whose vote was not kept */
	uint64_t silent;   /* accesses by instructions whose type is not known */
	uint64_t bytes;    /* those of them that are to single bytes, or copies of many */
};

/* Choose the type of a group by its votes; without enough of them it has none. */
void block_decide(const struct types *t, struct block_group *g, const struct vote_list *list);

/*
 * Give the group the type that other blocks of its call stack have, which have other sizes: if it
 * has no type of its own, or one that only names the first members of that type.
 */
void block_decide_as(const struct types *t, struct block_group *g, const struct vote_list *list,
		     uint32_t type);

/* True if @inner names the first members of @outer, or is the same type. */
bool block_is_prefix(const struct types *t, uint32_t inner, uint32_t outer);

#endif
