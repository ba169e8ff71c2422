/* SPDX-License-Identifier: MIT */
/*
 * model.h - what the files of types/ share: the tables behind types.h.
 *
 *	index.c   one walk through a file's DWARF: variables, and which name is which entry
 *	build.c   from an entry to a type, when somebody asks for it
 *	spell.c   names and declarations as C writes them
 *	leaves.c  a type's fields by path, and the one at an offset
 *	types.c   the tables, names and addresses
 */
#ifndef MEMORY_TYPES_MODEL_H
#define MEMORY_TYPES_MODEL_H

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

struct types_module {
	struct module_file file;
	bool indexed;
	bool no_debug;              /* no DWARF in it */
	struct variable *variables; /* by address */
	size_t nr_variables, room;
};

struct types_span {
	uint64_t start, end;
};

struct types {
	uint64_t program_end;     /* of the first module; 0: none yet */
	struct types_span mapped; /* all others; end 0: none */
	struct type **types;
	uint32_t nr, room;
	struct types_module **modules;
	size_t nr_modules, room_modules;
	size_t nr_facts;           /* modules of the trace that are in */
	struct strtab texts;       /* every string that we hand out */
	struct u64map by_die;      /* entry's place to 1 + number, or to BUILDING */
	struct u64map by_identity; /* text of what it is to number */
	struct u64map scoped;      /* entry's place to 1 + text: its name with its scopes */
	struct u64map nameless;    /* entry of a record without a name that a typedef names */
	struct u64map tags;        /* text of a name to its struct, class, union or enum */
	struct u64map ordinary;    /* text of a name to its typedef or base type */
	struct u64map last;        /* text of a name without scopes to its entry; 0: several */
	Dwarf_Die *entries;        /* what those tell the index of */
	size_t nr_entries, room_entries;
	struct type_variable **symbols; /* variables that only the symbol table knows */
	size_t nr_symbols, room_symbols;
	struct u64map by_symbol; /* their address to 1 + index */
	bool all_indexed, no_memory;
	char problem[700];
};

/* ---- types.c ------------------------------------------------------------- */

/* Ours until the end; NULL without memory (noted). */
const char *types_keep(struct types *t, const char *text);
void types_say(struct types *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The key of an entry: no two have one place in memory. */
static inline uint64_t die_key(const Dwarf_Die *die)
{
	return (uint64_t)(uintptr_t)die->addr;
}

/* ---- index.c ------------------------------------------------------------- */

/* 0 or -ENOMEM. */
int types_index(struct types *t, struct types_module *m);

/* A name as the tables have it: no spaces but between words.  Returns @out. */
const char *types_fold_name(const char *name, char *out, size_t size);

/* ---- build.c ------------------------------------------------------------- */

/* The number of the type that @die is or refers to; 0: nothing that can be read. */
uint32_t types_build(struct types *t, Dwarf_Die *die);

/* The type of what @die declares (DW_AT_type), false: none. */
bool die_type(Dwarf_Die *die, Dwarf_Die *out);

/* Through typedef, const and their kind.  False: it goes round in circles. */
bool die_peel(Dwarf_Die *die, Dwarf_Die *out);

/* A struct that is only announced, or lies in a type unit: where it is in full. */
bool die_complete(struct types *t, Dwarf_Die *die, Dwarf_Die *out);

/* Elements of an array, all dimensions; 0: without a size, or too many. */
uint64_t die_array_count(Dwarf_Die *die);

bool die_is_cxx(Dwarf_Die *die);

/* Where it is declared; NULL: not told. */
const char *die_file(Dwarf_Die *die);
bool die_flag(Dwarf_Die *die, unsigned name);

/* ---- spell.c ------------------------------------------------------------- */

/* The name of a type; NULL without memory. */
const char *types_spell(struct types *t, Dwarf_Die *die);

/* "char *name[3]" for a member or variable @name of type @die (NULL: void). */
const char *types_declare(struct types *t, Dwarf_Die *die, const char *name);

/* ---- leaves.c ------------------------------------------------------------ */

/* Fills leaves and first_leaf of a type whose members are there.  0 or -ENOMEM. */
int types_make_leaves(struct types *t, struct type *type);

#endif
