/* SPDX-License-Identifier: MIT */
/*
 * die_sibling.h - the next child of a DIE, in files that are not trusted.
 *
 * A DIE may name its sibling (DW_AT_sibling).  In a corrupt file that can be an earlier one, and
 * the siblings are a ring: dwarf_siblingof() then never comes to an end.
 */
#ifndef SYMBOLS_DIE_SIBLING_H
#define SYMBOLS_DIE_SIBLING_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

/* Go to the next sibling of @die.  False: it is the last one, or the next one is not behind it. */
bool die_next(Dwarf_Die *die);

/*
 * The DIEs that contain @die: @out[0] is @die itself, the last one the unit.  Their number; 0:
 * there are more than @most, or the unit cannot be read.
 */
size_t die_scopes(Dwarf_Die *die, Dwarf_Die *out, size_t most);

#endif
