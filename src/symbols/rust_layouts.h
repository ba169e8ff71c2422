/* SPDX-License-Identifier: MIT */
/*
 * rust_layouts.h - the members and variants of the types of a Rust program, read from DWARF once.
 *
 * A look follows the futures of thousands of tasks of a few types: DWARF is walked for the first
 * task of each type.  A type is known by the address of its DIE, so the files must stay open.
 */
#ifndef SYMBOLS_RUST_LAYOUTS_H
#define SYMBOLS_RUST_LAYOUTS_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/u64map.h"

#define RUST_SIZE_MAX (1u << 24) /* a larger type is taken for a corrupt file */

struct rust_member {
	const char *name; /* NULL: none */
	Dwarf_Die type;   /* without qualifiers and type names */
	uint32_t offset;
};

/* One variant of an enum, or one state of an async function. */
struct rust_variant {
	bool has_value; /* false: it is meant by all values without a variant of their own */
	uint64_t value;
	Dwarf_Die member; /* that it consists of; its line is that of the .await */
	const char *name; /* of the member; NULL: none */
	bool has_type;
	Dwarf_Die type; /* of the member */
};

/* What the children of a type say. */
struct rust_layout {
	struct rust_member *members; /* those that have a type and a place */
	size_t nr;
	struct rust_variant *variants;
	size_t nr_variants;
	bool has_variants; /* an enum, or the future of an async function */
	bool is_async;
	uint32_t selector_offset, selector_size;
	bool has_parameter;
	Dwarf_Die parameter; /* the first generic one */
	bool has_target;
	Dwarf_Die target; /* of a pointer */
};

/* All zero: empty. */
struct rust_layouts {
	struct u64map by_die; /* address of a DIE to 1 + its number */
	struct rust_layout **list;
	size_t nr, room;
	struct rust_layout none; /* for lack of memory */
};

/* The layout of @type; valid until the release. */
const struct rust_layout *rust_layout_find(struct rust_layouts *l, Dwarf_Die *type);

void rust_layouts_release(struct rust_layouts *l);

#endif
