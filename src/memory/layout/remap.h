/* SPDX-License-Identifier: MIT */
/*
 * remap.h - layouts that the user wants to try, from a file.
 *
 *	struct node=key,0;next,8;name,16                 the existing suite's: member, new offset
 *	struct node=sizeof=64;align=64;name,16,32        a new size of the whole, of a member
 *
 * A line per type; "#" starts a remark.  Numbers are decimal, 0x hexadecimal or 0 octal.
 * Members that are not named stay where they are.  Whole members move, with all that is in
 * them; one with a new size is stretched or shrunk evenly.
 */
#ifndef MEMORY_LAYOUT_REMAP_H
#define MEMORY_LAYOUT_REMAP_H

#include "base/err.h"
#include "memory/layout/pieces.h"

#define REMAP_TYPES_MAX 256u
#define REMAP_LINE_MAX  (1u << 20)

struct remap {
	struct remap_type {
		struct pieces pieces;
		struct shape *shape;
		uint64_t line; /* in the file */
	} * types;
	size_t nr;
};

/* 0, or a negative errno with the line and what is wrong with it. */
int remap_read(struct remap *m, const char *path, struct types *types, struct err *err);
void remap_release(struct remap *m);

#endif
