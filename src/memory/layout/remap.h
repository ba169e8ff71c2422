/* SPDX-License-Identifier: MIT */
/*
 * remap.h - layouts that the user wants to try, from a file.
 *
 *	struct node=key,0;next,8;name,16                 Cacheray suite syntax: member, new offset
 *	struct node=sizeof=64;align=64;name,16,32        new size of the record, of a member
 *
 * One line per type; "#" starts a comment.  Numbers are decimal, 0x hexadecimal or 0 octal.
 * Members that are not named keep their offset.  A member moves as a whole; a member with a new
 * size is stretched or shrunk evenly.
 */
#ifndef MEMORY_LAYOUT_REMAP_H
#define MEMORY_LAYOUT_REMAP_H

#include "base/err.h"
#include "memory/layout/members.h"

#define REMAP_TYPES_MAX 256u
#define REMAP_LINE_MAX  (1u << 20)

struct remap {
	struct remap_type {
		struct pieces pieces;
		struct shape *shape;
		uint64_t line; /* number of the line in the file */
	} * types;
	size_t nr;
};

/* Returns 0, or a negative errno with a message that names the line. */
int remap_read(struct remap *m, const char *path, struct types *types, struct err *err);
void remap_release(struct remap *m);

#endif
