/* SPDX-License-Identifier: MIT */
/*
 * type_model.h - internal to types/: the tables behind types.h.
 *
 *	dwarf_index.c   one pass over a file's DWARF: variables, and entries by name
 *	type_builder.c   builds a type from an entry, on demand
 *	c_declaration.c   names and declarations in C syntax
 *	field_paths.c  a type's fields by path, and the field at an offset
 *	types.c   the tables, names and addresses
 *	dwarf_json.c, type_files.c   types from files that the trace does not name
 *	access_types.c, value_flow.c, ...   types of instructions and heap blocks
 */
#ifndef MEMORY_TYPES_TYPE_MODEL_H
#define MEMORY_TYPES_TYPE_MODEL_H

#include <elfutils/libdwfl.h>

#include "base/strtab.h"
#include "base/u64map.h"
#include "memory/types/types.h"
#include "symbols/module.h"

#define REFERENCES_MAX 64u /* typedef of const of typedef of ... */

struct variable {
	struct type_variable v;
	Dwarf_Die die;
	bool built;
};

/* Code of a function: it may have several parts. */
struct types_function {
	uint64_t start, end; /* addresses in the file */
	Dwarf_Die die;
	bool is_seen; /* for access_types.c */
};

struct types_module {
	struct module_file file;
	bool indexed;
	bool no_debug;              /* the file has no DWARF */
	bool is_c_library, asked_c; /* for types_is_c_library() */
	struct variable *variables; /* sorted by address */
	size_t nr_variables, room;
	struct types_function *functions; /* sorted by start */
	size_t nr_functions, room_functions;
};

struct types_span {
	uint64_t start, end;
};

struct types {
	uint64_t program_end;     /* end of the first module, the program; 0: none yet */
	struct types_span mapped; /* span of all other modules; end 0: none */
	struct type **types;
	uint32_t nr, room;
	struct types_module **modules;
	size_t nr_modules, room_modules;
	size_t nr_facts;           /* modules of the trace that were added */
	struct strtab texts;       /* every string that the functions of types.h return */
	struct u64map by_die;      /* die_key() to 1 + type number, or to BUILDING */
	struct u64map by_identity; /* text that identifies a type to its number */
	struct u64map scoped;      /* die_key() to 1 + text: the name with its scopes */
	struct u64map nameless;    /* die_key() of an unnamed record that a typedef names */
	struct u64map tags;        /* name to entry of a struct, class, union or enum */
	struct u64map ordinary;    /* name to entry of a typedef or base type */
	struct u64map last;        /* name without scopes to entry; 0: several types */
	struct u64map from_json;   /* "struct NAME", or a typedef, to the number of its type */
	Dwarf_Die *entries;        /* the entries; maps above store 1 + index */
	size_t nr_entries, room_entries;
	struct type_variable **symbols; /* variables that only the symbol table has */
	size_t nr_symbols, room_symbols;
	struct u64map by_symbol; /* their address to 1 + index */
	bool all_indexed, no_memory;
	char problem[700];
};

/* ---- types.c ------------------------------------------------------------- */

/* Copy a string, which is valid as long as @t.  NULL without memory (t->no_memory is set). */
const char *types_keep(struct types *t, const char *text);
void types_say(struct types *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The module at @address, with its file read; NULL if there is none. */
struct types_module *types_ready_module(struct types *t, uint64_t address);

/* True if the C library is at @address.  Its debug information is not read. */
bool types_is_c_library(struct types *t, uint64_t address);

/* The function whose code contains @addr, an address in the file; NULL if there is none. */
struct types_function *types_function_at(const struct types_module *m, uint64_t addr);

/* The type of the variable at @address, which is *@offset bytes inside it.  False: unknown. */
bool types_variable_type(struct types *t, uint64_t address, Dwarf_Die *type, uint64_t *offset);

/* Add a file; one without an end contains no address.  NULL without memory. */
struct types_module *types_push_module(struct types *t, const struct symbol_module *module);

/* Index the file at the first call; true if it can be used. */
bool types_is_ready(struct types *t, struct types_module *m);

/* The key of an entry: its address in memory, which is unique. */
static inline uint64_t die_key(const Dwarf_Die *die)
{
	return (uint64_t)(uintptr_t)die->addr;
}

/* ---- dwarf_index.c ------------------------------------------------------------- */

/* Returns 0 or -ENOMEM. */
int types_index(struct types *t, struct types_module *m);

/* The form of a name in the tables: spaces only between words.  Returns @out. */
const char *types_fold_name(const char *name, char *out, size_t size);

/* ---- type_builder.c ------------------------------------------------------------- */

/* The number of the type that @die is or refers to; 0 if it cannot be read. */
uint32_t types_build(struct types *t, Dwarf_Die *die);

/* The number of @type, which is owned by @t from here on; 0 without memory. */
uint32_t die_enter(struct types *t, struct type *type);

/* The type of what @die declares (DW_AT_type).  Returns false if it has none. */
bool die_type(Dwarf_Die *die, Dwarf_Die *out);

/* The first type parameter of a template. */
bool die_template_type(Dwarf_Die *record, Dwarf_Die *out);

/* Skip typedef, const and similar.  Returns false for a cycle. */
bool die_peel(Dwarf_Die *die, Dwarf_Die *out);

/* The full definition of a struct that is only declared, or that is in a type unit. */
bool die_complete(struct types *t, Dwarf_Die *die, Dwarf_Die *out);

/* The elements of an array, over all dimensions; 0 if the size is missing or overflows. */
uint64_t die_array_count(Dwarf_Die *die);

/* The number of elements in one dimension of an array; 0: unknown. */
uint64_t die_dimension(Dwarf_Die *range);

bool die_is_cxx(Dwarf_Die *die);

/* The source file of the declaration; NULL if unknown. */
const char *die_file(Dwarf_Die *die);
bool die_flag(Dwarf_Die *die, unsigned name);

/* ---- c_declaration.c ------------------------------------------------------------- */

/* The name of a type; NULL without memory. */
const char *types_spell(struct types *t, Dwarf_Die *die);

/* "char *name[3]" for a member or variable @name of type @die. */
const char *types_declare(struct types *t, Dwarf_Die *die, const char *name);

/* ---- field_paths.c ------------------------------------------------------------ */

/* Fill leaves and first_leaf of a type that has its members.  Returns 0 or -ENOMEM. */
int types_make_leaves(struct types *t, struct type *type);

/* ---- dwarf_json.c --------------------------------------------------------- */

/* The number of a type of the JSON file, by a name without its tag; 0: unknown. */
uint32_t types_json_find(const struct types *t, const char *name, bool only_tags);

#endif
