/* SPDX-License-Identifier: MIT */
/*
 * time_diff.h - the time of two versions of a program by stack, as one tree.
 *
 * Places of the two sides are the same by name and file name; if a name has as many lines on both
 * sides, they are paired in their order, since an edit moves lines, otherwise by line.  That is the
 * rule of analyze/diff.h for sites.
 */
#ifndef EXPORT_TIME_DIFF_H
#define EXPORT_TIME_DIFF_H

#include "export/time_tree.h"

enum time_side { TIME_BASE, TIME_HEAD, NR_TIME_SIDES };

/* A parent comes before its children; the first node has no place. */
struct time_diff_node {
	uint32_t parent;
	const struct time_place *place; /* of the head, if it is there */
	unsigned state;                 /* as in the trees; 0: none */
	uint64_t ns[NR_TIME_SIDES];     /* of all stacks through it */
};

struct time_diff {
	struct time_tree sides[NR_TIME_SIDES]; /* filled by the caller; places are owned here */
	struct time_diff_node *nodes;          /* by time_diff_make() */
	size_t nr, room;
};

/* After the last time_tree_join().  0 or -ENOMEM. */
int time_diff_make(struct time_diff *d);

/*
 * The nodes that are worth showing: at most @most, none with less than the @share-th part of both
 * sides.  numbers[i] is the new number of node i, or UINT32_MAX.  Returns how many.
 */
uint32_t time_diff_choose(const struct time_diff *d, uint32_t most, uint64_t share,
			  uint32_t *numbers);

void time_diff_release(struct time_diff *d);

#endif
