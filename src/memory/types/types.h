/* SPDX-License-Identifier: MIT */
/*
 * types.h - the types and variables of a traced program, from its DWARF.
 *
 *	struct types *t = types_new();
 *
 *	types_add_modules(t, mem_reader_facts(r));
 *	number = types_by_name(t, "struct node");           0: nobody knows it
 *	type = types_get(t, number);
 *	leaf = types_leaf_at(t, number, offset, size, &end);   which field lies there
 *
 * A type has a number; the same type of several translation units has one number.  Typedefs,
 * const, volatile, atomic are looked through; names are kept as C or C++ writes them.
 *
 * Leaves are what is counted: the fields of a record, those of records inside it by path
 * ("pos.x"); an array inside is one leaf ("name[]"), or one per field of its elements
 * ("slots[].key"); bit-fields that lie next to each other are one ("a:3,b:5"), since
 * compilers access them together.  Of a union's members that lie at the place, the first
 * one with the size of the access is meant, else the first.
 *
 * The files are read when the first address or name asks for them, and whatever is in them
 * is bounded: depth of nesting, members, leaves, types.  What could not be had is said by
 * types_problem().
 */
#ifndef MEMORY_TYPES_TYPES_H
#define MEMORY_TYPES_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "memory/facts.h"

#define TYPES_MAX        (1u << 20)
#define TYPE_MEMBERS_MAX 4096u
#define TYPE_LEAVES_MAX  4096u /* of one type; a member that would have more is one leaf */
#define TYPE_DEPTH_MAX   32u

enum type_kind {
	TYPE_UNKNOWN, /* a name and perhaps a size */
	TYPE_BASE,
	TYPE_POINTER, /* references as well */
	TYPE_ENUM,
	TYPE_STRUCT,
	TYPE_CLASS,
	TYPE_UNION,
	TYPE_ARRAY,
};

enum type_member_flags {
	MEMBER_INHERITED = 1, /* a base class */
	MEMBER_VPTR = 2,      /* the compiler's */
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
	uint64_t offset, size; /* bytes; of a bit-field those that it has bits in */
	uint32_t align;
	uint32_t bit_offset; /* from the start of the record, in the order of memory */
	uint32_t bit_size;   /* 0: no bit-field */
	uint32_t first_leaf, nr_leaves;
};

struct type {
	enum type_kind kind;
	const char *name; /* "struct node", "ns::list<int>", "double[100]" */
	uint64_t size;
	uint32_t align;
	const char *file; /* where it is declared; NULL: not known */
	uint32_t line;
	bool is_cxx, is_packed;
	bool is_nameless;            /* a record that only a typedef names */
	struct type_member *members; /* of records, by offset */
	uint32_t nr_members;
	uint32_t element; /* of arrays: the type below all dimensions */
	uint64_t count;   /* of arrays, all dimensions */
	uint32_t nr_leaves;
	struct type_leaf *leaves;
};

#define LEAF_PADDING UINT32_MAX       /* between the fields, or behind them */
#define LEAF_BEYOND  (UINT32_MAX - 1) /* behind the type, in a block that is longer */

struct type_leaf {
	const char *path;      /* "pos.x", "slots[].key", "a:3,b:5" */
	const char *type_name; /* "int", "char[16]" */
	uint64_t offset, size; /* of its first occurrence */
	uint32_t member;       /* the type's own, that it belongs to */
	uint32_t bits;         /* of bit-fields: in all; else 0 */
};

/* A global or static variable, or a static member or local. */
struct type_variable {
	const char *name; /* "counters", "main::calls", "Pool::nr" */
	const char *file;
	uint32_t line;
	uint32_t type;
	uint64_t address, size; /* in the process */
};

struct types;

/* NULL without memory. */
struct types *types_new(void);

/* The files that the trace tells of.  May be called again when it tells of more.  0 or -ENOMEM. */
int types_add_modules(struct types *t, const struct mem_facts *facts);

/* Number 0 is the unknown type. */
const struct type *types_get(const struct types *t, uint32_t number);
uint32_t types_count(const struct types *t);

/* "struct node", "node", "struct.node", a typedef, "ns::node".  0: nobody knows it. */
uint32_t types_by_name(struct types *t, const char *name);

/* The variable that @address lies in; NULL: in none that is known. */
const struct type_variable *types_variable_at(struct types *t, uint64_t address);

/* The file that @address lies in; NULL: in none. */
const char *types_module_at(const struct types *t, uint64_t address);

/* What an address outside of all files must be, as Linux lays processes out. */
enum types_memory { TYPES_NO_IDEA, TYPES_HEAP, TYPES_MAPPING, TYPES_STACK };
enum types_memory types_memory_at(const struct types *t, uint64_t address);

/* A struct, class or union. */
static inline bool type_is_record(const struct type *type)
{
	return type->kind == TYPE_STRUCT || type->kind == TYPE_CLASS || type->kind == TYPE_UNION;
}

/*
 * The leaf of type @number at @offset for an access of @size bytes from there; *@end is where
 * the leaf ends (an offset, for a wide access to go on).  LEAF_PADDING, LEAF_BEYOND.
 */
uint32_t types_leaf_at(const struct types *t, uint32_t number, uint64_t offset, uint64_t size,
		       uint64_t *end);

/* What could not be had so far, a sentence; NULL: nothing to say. */
const char *types_problem(const struct types *t);

/* Accepts NULL. */
void types_free(struct types *t);

#endif
