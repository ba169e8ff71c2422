/* SPDX-License-Identifier: MIT */
/*
 * pieces.h - a record as the parts that can be moved, and arrangements of them.
 *
 * A piece is a member, or several bit-fields that share their bytes.  Base classes and the
 * virtual table pointer stay in front, an array without a size stays last.
 *
 * A shape says where every piece lies.  Offsets are those that a compiler gives to members that
 * are declared in that order, so that a shape can be written as C and comes out the same.
 */
#ifndef MEMORY_LAYOUT_PIECES_H
#define MEMORY_LAYOUT_PIECES_H

#include "memory/types/types.h"

#define SHAPE_NAME_MAX 40

struct piece {
	const char *name;   /* "next", "a:3,b:5"; an anonymous union by its first field */
	uint32_t first, nr; /* members */
	uint64_t offset, size;
	uint32_t align;
	bool in_front, at_end;     /* cannot be moved */
	uint64_t reads, writes;    /* 1/256; accesses of its fields */
	uint64_t misses;           /* of the first level */
	uint64_t cost;             /* blame_cost() */
	uint64_t visits;           /* of elements in which it was used */
	uint64_t readers, writers; /* bit per thread modulo 64 */
};

struct pieces {
	uint32_t type; /* its number */
	const struct type *of;
	struct piece *list;
	uint32_t nr;
	uint32_t *of_leaf; /* the piece of each leaf */
	uint32_t *of_byte; /* of each byte of a type that is not too large; else NULL */
};

#define NO_PIECE UINT32_MAX

/* Why it cannot be rearranged, a phrase; NULL: it can. */
const char *pieces_obstacle(const struct type *type);

/* 0 or -ENOMEM. */
int pieces_init(struct pieces *p, const struct types *types, uint32_t type);
void pieces_release(struct pieces *p);

/* In fewer than a tenth of the visits of the most used one. */
bool pieces_is_cold(const struct pieces *p, uint32_t number);

/* The piece at @offset; NO_PIECE: padding. */
uint32_t pieces_at(const struct pieces *p, uint64_t offset);

/* ---- shapes -------------------------------------------------------------- */

struct shape {
	char name[SHAPE_NAME_MAX]; /* "hot first" */
	const struct pieces *pieces;
	uint32_t *order;  /* pieces as they are declared; the cold ones last */
	uint64_t *offset; /* of each piece, by its number; of cold ones in the cold part */
	uint64_t *size;   /* of each piece */
	bool *line_start; /* by number: begins a line, by an alignment of its own */
	uint32_t nr_cold; /* how many of the last in order are in a record of their own */
	bool by_pointer;  /* the cold part is behind a pointer; else it is a second array */
	uint64_t pointer; /* offset of that pointer */
	uint64_t bytes, cold_bytes; /* sizeof */
	uint32_t align, cold_align;
	bool raised; /* an alignment that the members do not give */
};

/* As it is now.  NULL without memory. */
struct shape *shape_new(const struct pieces *p, const char *name);
struct shape *shape_copy(const struct shape *s, const char *name);

/* Offsets and sizes that follow from order, nr_cold, line_start and align (at least that). */
void shape_settle(struct shape *s, uint32_t align, uint32_t line);

/* Do two of them put everything at the same place? */
bool shape_same(const struct shape *a, const struct shape *b);

/* Must blocks of it move, since they are longer, shorter or aligned otherwise? */
bool shape_moves(const struct shape *s);

void shape_free(struct shape *s);

/*
 * As C or C++ text, ready to paste; malloc'd, NULL without memory.  @line: bytes of a cache line,
 * for the remarks.
 */
char *shape_text(const struct shape *s, uint32_t line);

#endif
