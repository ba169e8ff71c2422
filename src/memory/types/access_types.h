/* SPDX-License-Identifier: MIT */
/*
 * access_types.h - the type and field that an instruction accesses, without annotations.
 *
 *	found = access_types_find(a, rec->pc, rec->kind == MEM_WRITE);
 *	if (found)      the access is in an object of found->type, found->offset bytes from its
 *start
 *
 * The address that the compiler's instrumentation passes to the runtime is followed back through
 * the function's machine code (value_flow.h) to a variable or member with a pointer type.  Code
 * for which that is not certain has no result.
 */
#ifndef MEMORY_TYPES_ACCESS_TYPES_H
#define MEMORY_TYPES_ACCESS_TYPES_H

#include "memory/types/types.h"

struct access_type {
	uint32_t type; /* number in types.h: a record, or a number or pointer type */
	uint64_t offset;
	bool is_record;
	bool is_indexed; /* somewhere in the array at @offset: the object's start is not known */
	uint8_t told, tells; /* access_tells_field(): bit i for accesses of 2 to the i bytes */
	bool is_exact; /* every access of the instruction is at this offset, or in the same array */
};

struct access_types;

/* The caller owns @types and must free it later than this.  NULL without memory. */
struct access_types *access_types_new(struct types *types);

/* @pc is the address after the call of the runtime, as the trace has it.  NULL: unknown. */
struct access_type *access_types_find(struct access_types *a, uint64_t pc, bool is_write);

/*
 * True if @found, which may be NULL, names the field that an access of @size bytes is to.  An
 * access between the fields of a struct is to another struct that begins with the same members: the
 * program converted the pointer.
 */
bool access_tells_field(const struct types *t, struct access_type *found, uint32_t size);

/* Accepts NULL. */
void access_types_free(struct access_types *a);

#endif
