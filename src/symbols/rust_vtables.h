/* SPDX-License-Identifier: MIT */
/*
 * rust_vtables.h - the concrete type behind a `dyn Future`.
 *
 * rustc describes each table of functions of a trait object as a variable, whose type names the
 * type that the table is for.
 */
#ifndef SYMBOLS_RUST_VTABLES_H
#define SYMBOLS_RUST_VTABLES_H

#include <elfutils/libdw.h>

#include "base/u64map.h"

/* All zero: empty. */
struct rust_vtables {
	struct u64map by_addr; /* address in the process to 1 + position in types */
	Dwarf_Die *types;
	size_t nr, room;
};

/* Note @variable if it is a table of a future.  0 or -ENOMEM. */
int rust_vtables_add(struct rust_vtables *v, Dwarf_Die *variable, uint64_t bias);

/* The type whose table is at @addr. */
bool rust_vtables_find(const struct rust_vtables *v, uint64_t addr, Dwarf_Die *type);

void rust_vtables_release(struct rust_vtables *v);

#endif
