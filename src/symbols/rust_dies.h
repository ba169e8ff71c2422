/* SPDX-License-Identifier: MIT */
/* rust_dies.h - the DWARF that rustc writes: members, variants, names of types. */
#ifndef SYMBOLS_RUST_DIES_H
#define SYMBOLS_RUST_DIES_H

#include "symbols/rust_layouts.h"

/* The member of struct @in with that name: its type and its offset. */
bool rust_die_member(struct rust_layouts *l, Dwarf_Die *in, const char *name, Dwarf_Die *type,
		     uint32_t *offset);

/* The first member of struct @in that is not empty. */
bool rust_die_first_member(struct rust_layouts *l, Dwarf_Die *in, Dwarf_Die *type,
			   uint32_t *offset);

/* What a pointer of type @pointer points to. */
bool rust_die_target(struct rust_layouts *l, Dwarf_Die *pointer, Dwarf_Die *target);

/* The type of the first generic parameter. */
bool rust_die_parameter(struct rust_layouts *l, Dwarf_Die *in, Dwarf_Die *type);

/*
 * The struct in @in, at any depth, whose name begins with @name, without a look behind pointers.
 * *@offset grows by its offset.
 */
bool rust_die_inside(struct rust_layouts *l, Dwarf_Die *in, const char *name, Dwarf_Die *type,
		     uint32_t *offset);

/* The number in nested structs of one member each; *@offset grows by its offset. */
bool rust_die_scalar(struct rust_layouts *l, Dwarf_Die *in, uint32_t *offset, uint32_t *size);

/* The size in bytes; 0: unknown or unreasonable. */
uint32_t rust_die_size(Dwarf_Die *type);

/* The variant of an enum or a future that is chosen by @value; NULL: none. */
const struct rust_variant *rust_die_variant(const struct rust_layout *layout, uint64_t value);

/* The future of an async function or block. */
bool rust_die_async(struct rust_layouts *l, Dwarf_Die *type);

/* A member, or a member of a variant, for which @test is true. */
typedef bool (*rust_type_test)(void *arg, Dwarf_Die *type);
bool rust_layout_any(const struct rust_layout *layout, rust_type_test test, void *arg);

#endif
