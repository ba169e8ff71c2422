/* SPDX-License-Identifier: MIT */
/*
 * variable_scope.h - the variables of a function with their blocks, and which blocks are open at an
 * instruction.
 */
#ifndef SYMBOLS_VARIABLE_SCOPE_H
#define SYMBOLS_VARIABLE_SCOPE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scope_variable {
	Dwarf_Die die;
	const char *name;
	uint32_t line;  /* of its declaration; 0: unknown */
	uint32_t block; /* number of its block; 0 is the function itself */
	bool is_parameter, is_artificial;
	bool is_used; /* for the caller */
};

struct scope_block {
	uint32_t parent;
	const void *origin; /* address of the DIE that describes it first, or its own */
	bool is_open;
};

struct variable_scope {
	struct scope_variable *variables; /* in the order of the DIEs */
	size_t nr, room;
	struct scope_block *blocks; /* the first one is the function; it is open */
	size_t nr_blocks, room_blocks;
};

/* Read the variables of @function, without those of inlined functions.  0 or -ENOMEM. */
int variable_scope_read(struct variable_scope *scope, Dwarf_Die *function);

/*
 * Open the blocks of @scope that contain the code address @pc of the file; @code is the function
 * with that code, which may be a copy of the one that @scope was read from.
 */
void variable_scope_open_pc(struct variable_scope *scope, Dwarf_Die *code, Dwarf_Addr pc);

/* Open @block and the blocks around it. */
void variable_scope_open(struct variable_scope *scope, uint32_t block);

void variable_scope_release(struct variable_scope *scope);

#endif
