/* SPDX-License-Identifier: MIT */
/*
 * local_value.h - turn the bytes of a variable into a value, by its type in DWARF.
 *
 * Bytes and types are untrusted.  An object is copied once and interpreted from the copy; depth,
 * members, elements and bytes are bounded.  The contents of strings and buffers are read only if
 * `show_values` is set: without it nothing of them gets into the tree.
 */
#ifndef SYMBOLS_LOCAL_VALUE_H
#define SYMBOLS_LOCAL_VALUE_H

#include <elfutils/libdw.h>

#include "symbols/local_tree.h"

#define LOCAL_TEXT_MAX     256  /* bytes shown of a string */
#define LOCAL_LENGTH_MAX   4096 /* bytes searched for the end of a char pointer */
#define LOCAL_ELEMENTS_MAX 16
#define LOCAL_MEMBERS_MAX  32
#define LOCAL_DEPTH_MAX    5
#define LOCAL_OBJECT_MAX   65536 /* bytes of one object */

/* Copies memory of the process; false: not all of it can be read. */
typedef bool (*local_memory_reader)(void *arg, uint64_t addr, void *buf, size_t size);

struct local_reader {
	struct local_tree *tree;
	local_memory_reader read;
	void *arg;
	bool show_values;
	unsigned left; /* DIEs that may still be visited */
};

/* A copy of an object.  @valid: one byte per byte, 0 if it is unknown; NULL: all are known. */
struct local_bytes {
	const uint8_t *data, *valid;
	size_t size;
};

/* Add the object of type @type as a node, with its members. */
void local_value_add(struct local_reader *r, const char *name, Dwarf_Die *type,
		     const struct local_bytes *bytes);

/* Add a node without a value; @why is a constant. */
void local_value_add_state(struct local_reader *r, const char *name, Dwarf_Die *type,
			   const char *why);

/* ---- between local_value.c and local_text.c ------------------------------------------- */

/* The number of @size bytes at @offset.  False: not there, or unknown. */
bool local_bytes_number(const struct local_bytes *bytes, uint32_t offset, uint32_t size,
			uint64_t *out);

/* The bytes from @offset on. */
struct local_bytes local_bytes_from(const struct local_bytes *bytes, uint32_t offset);

/* A byte, or a character of any size: an array of these is a string or a buffer. */
bool local_type_is_text(Dwarf_Die *bare);

/* A string, view, vector or slice: fill @node and add it.  False: it is another type. */
bool local_text_add(struct local_reader *r, struct local_node *node, Dwarf_Die *bare,
		    const struct local_bytes *bytes, unsigned depth);

/* What a char pointer points to. */
void local_text_add_pointer(struct local_reader *r, struct local_node *node, uint64_t addr);

/* Set the contents of @node from memory, @size bytes; it is cut to what is shown. */
void local_text_read(struct local_reader *r, struct local_node *node, uint64_t addr, uint64_t size);

/* local_value_add() at a depth. */
void local_value_add_at(struct local_reader *r, const char *name, Dwarf_Die *type,
			const struct local_bytes *bytes, unsigned depth);

/* As local_value_add_at(), for @count objects in a row; adds no more than its limit. */
void local_value_add_elements(struct local_reader *r, Dwarf_Die *type,
			      const struct local_bytes *bytes, uint64_t count, unsigned depth);

#endif
