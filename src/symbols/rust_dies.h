/* SPDX-License-Identifier: MIT */
/* rust_dies.h - the DWARF that rustc writes: members, variants, names of types. */
#ifndef SYMBOLS_RUST_DIES_H
#define SYMBOLS_RUST_DIES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#define RUST_SIZE_MAX (1u << 24) /* a larger type is taken for a corrupt file */

/* The type of @die without qualifiers and type names. */
bool rust_die_type(Dwarf_Die *die, Dwarf_Die *out);

/* The member of struct @in with that name: its type and its offset. */
bool rust_die_member(Dwarf_Die *in, const char *name, Dwarf_Die *type, uint32_t *offset);

/* The first member of struct @in that is not empty. */
bool rust_die_first_member(Dwarf_Die *in, Dwarf_Die *type, uint32_t *offset);

/* The type of the first generic parameter. */
bool rust_die_parameter(Dwarf_Die *in, Dwarf_Die *type);

/*
 * The struct in @in, at any depth, whose name begins with @name, without a look behind pointers.
 * *@offset grows by its offset.
 */
bool rust_die_inside(Dwarf_Die *in, const char *name, Dwarf_Die *type, uint32_t *offset);

/* The number in nested structs of one member each; *@offset grows by its offset. */
bool rust_die_scalar(Dwarf_Die *in, uint32_t *offset, uint32_t *size);

/* The size in bytes; 0: unknown or unreasonable. */
uint32_t rust_die_size(Dwarf_Die *type);

/* The variants of an enum or a future: the DW_TAG_variant_part, and where the selector is. */
struct rust_variants {
	Dwarf_Die part;
	const char *selector; /* "__state" for futures of async functions; or NULL */
	uint32_t offset, size;
};
bool rust_die_variants(Dwarf_Die *type, struct rust_variants *out);

/* The variant that is chosen by @value: the member that it consists of. */
bool rust_die_variant(const struct rust_variants *variants, uint64_t value, Dwarf_Die *member);

/* The future of an async function or block, and its variants. */
bool rust_die_async(Dwarf_Die *type, struct rust_variants *out);

/* "tokio::time::sleep::Sleep", without what is in <>; false: it does not fit, or is unknown. */
bool rust_die_path(Dwarf_Die *type, char *out, size_t size);

#endif
