/* SPDX-License-Identifier: MIT */
/* type_name.h - types of DWARF: without qualifiers, and as source code has them. */
#ifndef SYMBOLS_TYPE_NAME_H
#define SYMBOLS_TYPE_NAME_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TYPE_SIZE_MAX (1u << 24) /* a larger type is taken for a corrupt file */

/* The type of a variable, member or pointer.  False: none (void). */
bool type_of_die(Dwarf_Die *die, Dwarf_Die *out);

/* The type without const, volatile and typedefs.  False: void, or a loop of types. */
bool type_bare(Dwarf_Die *type, Dwarf_Die *out);

/* Both: the bare type of a variable, member or pointer. */
bool type_bare_of(Dwarf_Die *die, Dwarf_Die *out);

/* In bytes; 0: unknown, empty or unreasonable. */
uint32_t type_size(Dwarf_Die *type);

/* The number of elements of an array type, of all dimensions together; 0: unknown. */
uint64_t type_array_count(Dwarf_Die *array);

/* "const Point &", "int[4]"; cut if it does not fit.  Returns @buf. */
const char *type_name_text(Dwarf_Die *type, char *buf, size_t size);

#endif
