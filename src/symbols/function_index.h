/* SPDX-License-Identifier: MIT */
/*
 * function_index.h - the functions of a compilation unit by address.
 *
 * To search a unit goes through all its DIEs before the wanted one: for many addresses in a large
 * unit, its functions are collected once.
 */
#ifndef SYMBOLS_FUNCTION_INDEX_H
#define SYMBOLS_FUNCTION_INDEX_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/u64map.h"

/* One piece of a function. */
struct function_piece {
	uint64_t start, end; /* addresses as in the file */
	uint64_t reach;      /* the highest end of this piece and those before it */
	uint32_t order;      /* of its DIE in the unit */
	Dwarf_Die die;
};

/* The functions of one unit. */
struct function_list {
	struct function_piece *pieces; /* sorted by start */
	size_t nr, room;
};

/* All zero: empty. */
struct function_index {
	struct function_list *lists;
	size_t nr, room;
	struct u64map by_unit; /* address of the unit's DIE to 1 + index in `lists` */
};

bool function_tag_is_function(int tag);
bool function_tag_is_block(int tag);
bool function_tag_is_scope(int tag);

/*
 * The first DIE of the unit @unit that contains @addr and is a function, or a block outside any
 * function.  False: there is none, or no memory.
 */
bool function_index_find(struct function_index *x, Dwarf_Die *unit, uint64_t addr, Dwarf_Die *out);

void function_index_release(struct function_index *x);

#endif
