/* SPDX-License-Identifier: MIT */
/*
 * types.h - the types and variables of a program, from its DWARF.
 *
 *	struct types *t = types_new();
 *
 *	types_add_modules(t, mem_reader_facts(r));
 *	number = types_by_name(t, "struct node");           0: unknown
 *	type = types_get(t, number);
 *	leaf = types_leaf_at(t, number, offset, size, &end);   the field at @offset
 *
 * A type has a number; the same type in several translation units has one number.  Typedefs,
 * const, volatile and atomic are skipped; names are in C or C++ syntax.
 *
 * Accesses are counted per leaf: a field of a record, or a field of a record inside it, by path
 * ("pos.x").  An array inside is one leaf ("name[]"), or one per field of its elements
 * ("slots[].key").  Adjacent bit-fields are one leaf ("a:3,b:5"), because compilers access them
 * together.  If several members of a union are at an offset, the first one with the size of the
 * access is used, else the first one.
 *
 * A file is read on the first address or name that needs it.  Everything read from it is
 * bounded: depth of nesting, members, leaves, types.  types_problem() reports what could not be
 * read.
 */
#ifndef MEMORY_TYPES_TYPES_H
#define MEMORY_TYPES_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "memory/format/mem_facts.h"

#define TYPES_MAX        (1u << 20)
#define TYPE_MEMBERS_MAX 4096u
#define TYPE_LEAVES_MAX  4096u /* of one type; a member that would exceed it is one leaf */
#define TYPE_DEPTH_MAX   32u

enum type_kind {
	TYPE_UNKNOWN, /* a name and perhaps a size */
	TYPE_BASE,
	TYPE_POINTER, /* also references */
	TYPE_ENUM,
	TYPE_STRUCT,
	TYPE_CLASS,
	TYPE_UNION,
	TYPE_ARRAY,
};

enum type_member_flags {
	MEMBER_INHERITED = 1, /* a base class */
	MEMBER_VPTR = 2,      /* the compiler's pointer to the virtual table */
	MEMBER_BITS = 4,      /* a bit-field */
	MEMBER_FLEXIBLE = 8,  /* an array without a size, at the end */
	MEMBER_PRIVATE = 16,
	MEMBER_PROTECTED = 32,
};

struct type_member {
	const char *name; /* "": anonymous */
	const char *text; /* the declaration, without a semicolon: "unsigned flags : 3" */
	uint32_t type;
	unsigned flags;
	uint64_t offset, size; /* bytes; for a bit-field those that contain its bits */
	uint32_t align;
	uint32_t bit_offset; /* from the start of the record, in memory order */
	uint32_t bit_size;   /* 0: not a bit-field */
	uint32_t first_leaf, nr_leaves;
};

struct type {
	enum type_kind kind;
	const char *name; /* "struct node", "ns::list<int>", "double[100]" */
	uint64_t size;
	uint32_t align;
	const char *file; /* source file of the declaration; NULL: unknown */
	uint32_t line;
	bool is_cxx, is_packed;
	bool is_nameless;            /* a record that only a typedef names */
	bool has_tail;               /* see type_tail() */
	struct type_member *members; /* of records, sorted by offset (unions: source order) */
	uint32_t nr_members;
	uint32_t element; /* of arrays: the innermost element type */
	uint64_t count;   /* of arrays: over all dimensions */
	uint32_t nr_leaves;
	struct type_leaf *leaves;
};

#define LEAF_PADDING UINT32_MAX       /* between the fields, or after the last */
#define LEAF_BEYOND  (UINT32_MAX - 1) /* past the end of the type, in a longer block */

struct type_leaf {
	const char *path;      /* "pos.x", "slots[].key", "a:3,b:5" */
	const char *type_name; /* "int", "char[16]" */
	uint64_t offset, size; /* of its first occurrence */
	uint32_t member;       /* the member of this type that contains it */
	uint32_t bits;         /* of bit-fields: their total; else 0 */
};

/* A global or static variable, or a static member or local. */
struct type_variable {
	const char *name; /* "counters", "main::calls", "Pool::nr" */
	const char *file;
	uint32_t line;
	uint32_t type;
	uint64_t address, size; /* address in the process */
};

struct types;

/* NULL without memory. */
struct types *types_new(void);

/* Add the modules of the trace.  May be called again when there are more.  Returns 0 or -ENOMEM. */
int types_add_modules(struct types *t, const struct mem_facts *facts);

/* Number 0 is the unknown type. */
const struct type *types_get(const struct types *t, uint32_t number);
uint32_t types_count(const struct types *t);

/* "struct node", "node", "struct.node", a typedef, "ns::node".  Returns 0 if unknown. */
uint32_t types_by_name(struct types *t, const char *name);

/* The variable that contains @address; NULL if none is known. */
const struct type_variable *types_variable_at(struct types *t, uint64_t address);

/* The path of the module that contains @address; NULL if there is none. */
const char *types_module_at(const struct types *t, uint64_t address);

/* The kind of an address outside of all modules, by the usual layout of a Linux process. */
enum types_memory { TYPES_NO_IDEA, TYPES_HEAP, TYPES_MAPPING, TYPES_STACK };
enum types_memory types_memory_at(const struct types *t, uint64_t address);

/* A struct, class or union. */
static inline bool type_is_record(const struct type *type)
{
	return type->kind == TYPE_STRUCT || type->kind == TYPE_CLASS || type->kind == TYPE_UNION;
}

/*
 * The last member of a struct, if it is an array without a size or with at most one element: blocks
 * may be longer than the type, or shorter, by what the program stores there.  NULL: none.
 */
static inline const struct type_member *type_tail(const struct type *type)
{
	return type->has_tail ? &type->members[type->nr_members - 1] : NULL;
}

/*
 * The leaf of type @number at @offset, for an access of @size bytes; *@end is the offset at
 * which the leaf ends, where a wide access continues.  All bytes from the tail on belong to the
 * tail.  May return LEAF_PADDING or LEAF_BEYOND.
 */
uint32_t types_leaf_at(const struct types *t, uint32_t number, uint64_t offset, uint64_t size,
		       uint64_t *end);

/* The first problem so far, as a sentence; NULL if there is none. */
const char *types_problem(const struct types *t);

/* Accepts NULL. */
void types_free(struct types *t);

#endif
