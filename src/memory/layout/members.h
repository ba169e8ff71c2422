/* SPDX-License-Identifier: MIT */
/*
 * members.h - a record as movable parts, and arrangements of them.
 *
 * A piece is a member, or several bit-fields that share their bytes.  Base classes and the
 * virtual table pointer stay in front; a flexible array member stays last.
 *
 * A shape gives the offset of every piece.  Offsets are those that a compiler assigns to members
 * declared in that order, so a shape can be written as C and compiles to the same layout.
 */
#ifndef MEMORY_LAYOUT_MEMBERS_H
#define MEMORY_LAYOUT_MEMBERS_H

#include "memory/types/types.h"

#define SHAPE_NAME_MAX 40

struct piece {
	const char *name;   /* "next", "a:3,b:5"; for an anonymous union its first field */
	uint32_t first, nr; /* in the type's members */
	uint64_t offset, size;
	uint32_t align;
	bool in_front, at_end;     /* cannot be moved */
	uint64_t reads, writes;    /* in 1/256; accesses of its fields */
	uint64_t misses;           /* of the first level */
	uint64_t cost;             /* blame_cost() */
	uint64_t visits;           /* visits of elements in which it was used */
	uint64_t readers, writers; /* a bit per thread modulo 64 */
};

struct pieces {
	uint32_t type; /* number of the type */
	const struct type *of;
	struct piece *list;
	uint32_t nr;
	uint32_t tail;     /* the piece to which all bytes from its offset on belong; or NO_PIECE */
	uint32_t *of_leaf; /* the piece of each leaf */
	uint32_t *of_byte; /* the piece of each byte; NULL if the type is too large */
};

#define NO_PIECE UINT32_MAX

/* The reason why the type cannot be rearranged, as a phrase; NULL if it can. */
const char *pieces_obstacle(const struct type *type);

/* Returns 0 or -ENOMEM. */
int pieces_init(struct pieces *p, const struct types *types, uint32_t type);
void pieces_release(struct pieces *p);

/*
 * Two records of C that begin with the same members may be used as each other, and so may a record
 * and its first member: these members of @p stay where they are.  Returns how many pieces that are;
 * 0: they have too little in common.
 */
uint32_t pieces_fix_front(struct pieces *p, const struct pieces *with);

/* True if it is used in less than a tenth of the visits of the most used piece. */
bool pieces_is_cold(const struct pieces *p, uint32_t number);

/* The piece at @offset; NO_PIECE for padding. */
uint32_t pieces_at(const struct pieces *p, uint64_t offset);

/* ---- shapes -------------------------------------------------------------- */

struct shape {
	char name[SHAPE_NAME_MAX]; /* "hot first" */
	const struct pieces *pieces;
	uint32_t *order;  /* pieces in the order of declaration; cold ones last */
	uint64_t *offset; /* of each piece, by number; cold ones: in the cold part */
	uint64_t *size;   /* of each piece */
	bool *line_start; /* by number: aligned to the start of a line */
	uint32_t nr_cold; /* pieces at the end of order that are in a separate record */
	bool by_pointer;  /* the cold part is reached by a pointer; else it is a second array */
	uint64_t pointer; /* offset of that pointer */
	uint64_t bytes, cold_bytes; /* sizeof */
	uint32_t align, cold_align;
	bool raised; /* the alignment is larger than the members need */
};

/* The current layout.  NULL without memory. */
struct shape *shape_new(const struct pieces *p, const char *name);
struct shape *shape_copy(const struct shape *s, const char *name);

/* Compute offsets and sizes from order, nr_cold, line_start and the minimum alignment @align. */
void shape_settle(struct shape *s, uint32_t align, uint32_t line);

/* True if both shapes put every piece at the same offset. */
bool shape_same(const struct shape *a, const struct shape *b);

/* True if blocks must move, because elements change their size or alignment. */
bool shape_moves(const struct shape *s);

void shape_free(struct shape *s);

/*
 * The shape as C or C++ text, ready to paste; malloc'd, NULL without memory.  @line: bytes of a
 * cache line, for alignments.
 */
char *shape_text(const struct shape *s, uint32_t line);

#endif
