/* SPDX-License-Identifier: MIT */
/* variable_scope.c - the variables of a function with their blocks. */
#include "base/memory_shortage.h"
#include "symbols/variable_scope.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#define SCOPE_DEPTH_MAX     32
#define SCOPE_VARIABLES_MAX 4096
#define SCOPE_DIES_MAX      (1u << 16)

struct scope_walk {
	struct variable_scope *scope;
	unsigned left;
	int rc;
};

static bool scope_is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* What identifies a block in all copies of its function. */
static const void *scope_origin(Dwarf_Die *block)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin;

	if (dwarf_formref_die(dwarf_attr(block, DW_AT_abstract_origin, &attr), &origin))
		return origin.addr;
	return block->addr;
}

static int scope_add_block(struct variable_scope *scope, uint32_t parent, Dwarf_Die *die)
{
	if (scope->nr_blocks == scope->room_blocks) {
		size_t room = scope->room_blocks ? scope->room_blocks * 2 : 16;
		struct scope_block *more = reallocarray(scope->blocks, room, sizeof(*more));

		if (!more) {
			memory_shortage_note();
			return -ENOMEM;
		}
		scope->blocks = more;
		scope->room_blocks = room;
	}
	scope->blocks[scope->nr_blocks++] = (struct scope_block){ parent, scope_origin(die),
								  false };
	return 0;
}

static int scope_add_variable(struct variable_scope *scope, uint32_t block, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Word line = 0;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attr));

	if (!name || scope->nr == SCOPE_VARIABLES_MAX)
		return 0;
	if (scope->nr == scope->room) {
		size_t room = scope->room ? scope->room * 2 : 32;
		struct scope_variable *more = reallocarray(scope->variables, room, sizeof(*more));

		if (!more) {
			memory_shortage_note();
			return -ENOMEM;
		}
		scope->variables = more;
		scope->room = room;
	}
	dwarf_formudata(dwarf_attr_integrate(die, DW_AT_decl_line, &attr), &line);
	scope->variables[scope->nr++] = (struct scope_variable){
		.die = *die,
		.name = name,
		.line = line <= UINT32_MAX ? (uint32_t)line : 0,
		.block = block,
		.is_parameter = dwarf_tag(die) == DW_TAG_formal_parameter,
		.is_artificial = dwarf_attr_integrate(die, DW_AT_artificial, &attr) != NULL,
	};
	return 0;
}

static void scope_walk_below(struct scope_walk *w, Dwarf_Die *parent, uint32_t block,
			     unsigned depth)
{
	Dwarf_Die die;

	if (depth > SCOPE_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		if (!w->left || !--w->left)
			return;
		if (tag == DW_TAG_formal_parameter || tag == DW_TAG_variable) {
			w->rc = scope_add_variable(w->scope, block, &die);
		} else if (scope_is_block(tag)) {
			w->rc = scope_add_block(w->scope, block, &die);
			if (!w->rc)
				scope_walk_below(w, &die, (uint32_t)w->scope->nr_blocks - 1,
						 depth + 1);
		}
	} while (!w->rc && dwarf_siblingof(&die, &die) == 0);
}

int variable_scope_read(struct variable_scope *scope, Dwarf_Die *function)
{
	struct scope_walk w = { .scope = scope, .left = SCOPE_DIES_MAX };

	*scope = (struct variable_scope){ 0 };
	w.rc = scope_add_block(scope, 0, function);
	if (!w.rc) {
		scope->blocks[0].is_open = true;
		scope_walk_below(&w, function, 0, 0);
	}
	return w.rc;
}

void variable_scope_open(struct variable_scope *scope, uint32_t block)
{
	/* A parent has a lower number. */
	while (block) {
		scope->blocks[block].is_open = true;
		block = scope->blocks[block].parent;
	}
}

static void scope_open_below(struct scope_walk *w, Dwarf_Die *parent, Dwarf_Addr pc, unsigned depth)
{
	Dwarf_Die die;
	size_t i;

	if (depth > SCOPE_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		if (!w->left || !--w->left)
			return;
		if (!scope_is_block(dwarf_tag(&die)) || dwarf_haspc(&die, pc) <= 0)
			continue;
		for (i = 1; i < w->scope->nr_blocks; i++) {
			if (w->scope->blocks[i].origin == scope_origin(&die))
				variable_scope_open(w->scope, (uint32_t)i);
		}
		scope_open_below(w, &die, pc, depth + 1);
	} while (dwarf_siblingof(&die, &die) == 0);
}

void variable_scope_open_pc(struct variable_scope *scope, Dwarf_Die *code, Dwarf_Addr pc)
{
	struct scope_walk w = { .scope = scope, .left = SCOPE_DIES_MAX };

	scope_open_below(&w, code, pc, 0);
}

void variable_scope_release(struct variable_scope *scope)
{
	free(scope->variables);
	free(scope->blocks);
	*scope = (struct variable_scope){ 0 };
}
