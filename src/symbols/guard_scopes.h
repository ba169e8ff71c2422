/* SPDX-License-Identifier: MIT */
/* guard_scopes.h - where the variables of a coroutine exist. */
#ifndef SYMBOLS_GUARD_SCOPES_H
#define SYMBOLS_GUARD_SCOPES_H

#include "symbols/described_frames.h"

/*
 * Find the variable @name of @function whose place is @offset of the frame.  @bias: of the code
 * addresses in DWARF.
 */
void guard_scope_read(struct guard_scope *out, Dwarf_Die *function, const char *name,
		      uint32_t offset, uint64_t bias);

/* gcc: "one_1_2" is the variable "one" in block 2 at depth 1.  Length of the name; 0: not such. */
size_t guard_name_split(const char *member, unsigned *depth, unsigned *serial);

#endif
