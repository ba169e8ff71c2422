/* SPDX-License-Identifier: MIT */
/*
 * time_tree.h - time by stacks of places, the content of a profile.
 *
 * A level is a place in one stack: it has the level below it as its parent.  Level 0 is the bottom
 * of all stacks and has no place.
 */
#ifndef EXPORT_TIME_TREE_H
#define EXPORT_TIME_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "base/u64map.h"

/* Stacks are not deeper: what would be above has the time of the highest level. */
#define TIME_TREE_DEPTH 80

struct time_place {
	char *name;
	char *file; /* NULL: none */
	uint32_t line;
};

struct time_level {
	uint32_t parent, place;
	uint32_t depth; /* places in the stack */
	unsigned state; /* of the caller; 0: none */
	uint64_t count, ns;
};

/* All zero is empty. */
struct time_tree {
	struct strtab keys; /* name, file and line of each place, as one text */
	struct time_place *places;
	struct time_level *levels;
	size_t nr_levels, levels_room, places_room;
	struct u64map children; /* level and place to level */
};

/* Returns the number of the place, or -ENOMEM.  @file may be NULL. */
int64_t time_tree_place(struct time_tree *t, const char *name, const char *file, uint32_t line);

/* Returns the level of @place above @parent, or -ENOMEM. */
int64_t time_tree_child(struct time_tree *t, uint32_t parent, uint32_t place);

static inline void time_tree_add(struct time_tree *t, uint32_t level, uint64_t ns)
{
	t->levels[level].count++;
	t->levels[level].ns += ns;
}

/* Add all stacks of @from to @to.  0 or -ENOMEM. */
int time_tree_join(struct time_tree *to, const struct time_tree *from);

/* The places of a stack, the lowest first; returns their number. */
unsigned time_tree_stack(const struct time_tree *t, uint32_t level,
			 uint32_t places[TIME_TREE_DEPTH]);

static inline size_t time_tree_places(const struct time_tree *t)
{
	return t->keys.nr;
}

void time_tree_release(struct time_tree *t);

#endif
