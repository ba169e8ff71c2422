/* SPDX-License-Identifier: MIT */
/* die_sibling.c - walk over DIEs, always forwards. */
#include "symbols/die_sibling.h"

#include <string.h>

bool die_next(Dwarf_Die *die)
{
	Dwarf_Die next;

	if (dwarf_siblingof(die, &next) != 0 || (char *)next.addr <= (char *)die->addr)
		return false;
	*die = next;
	return true;
}

/* The child of @parent that is @die or contains it: the last one that does not begin behind it. */
static bool die_child_around(Dwarf_Die *parent, const Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Die next;

	if (dwarf_child(parent, out) != 0 || (char *)out->addr > (char *)die->addr)
		return false;
	next = *out;
	while (out->addr != die->addr && die_next(&next) && (char *)next.addr <= (char *)die->addr)
		*out = next;
	return true;
}

size_t die_scopes(Dwarf_Die *die, Dwarf_Die *out, size_t most)
{
	Dwarf_Die at, inner;
	size_t nr = 0, i;

	if (!dwarf_diecu(die, &at, NULL, NULL))
		return 0;
	/* Outermost first, then turned round. */
	for (; nr < most; at = inner) {
		out[nr++] = at;
		if (at.addr == die->addr)
			break;
		if (!die_child_around(&at, die, &inner))
			return 0;
	}
	if (!nr || out[nr - 1].addr != die->addr)
		return 0;
	for (i = 0; i < nr / 2; i++) {
		Dwarf_Die other = out[i];

		out[i] = out[nr - 1 - i];
		out[nr - 1 - i] = other;
	}
	return nr;
}
