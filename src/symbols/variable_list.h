/* SPDX-License-Identifier: MIT */
/*
 * variable_list.h - the variables of a C++ coroutine at one of its suspend points.
 *
 * gcc stores every local variable in the frame, as a member NAME_depth_number.  clang stores what
 * is used later: DWARF describes it as a member with the variable's name, or only by the location
 * of the variable.  A variable without either is lost.
 */
#ifndef SYMBOLS_VARIABLE_LIST_H
#define SYMBOLS_VARIABLE_LIST_H

#include "symbols/coroutine_layout.h"
#include "symbols/frame_location.h"

enum variable_place {
	VARIABLE_LOST,    /* optimized out */
	VARIABLE_MEMBER,  /* at an offset of the frame */
	VARIABLE_LOCATED, /* by an expression */
};

struct frame_variable {
	const char *name; /* owned by libdw, or by the list */
	Dwarf_Die type;   /* as declared */
	enum variable_place place;
	uint32_t offset;
	const Dwarf_Op *ops;
	size_t nr_ops;
	const struct frame_base *base; /* of the expression */
	uint32_t line;                 /* of its declaration; 0: unknown, as for parameters */
	bool is_parameter;
	bool may_be_unset; /* declared at the line of the suspend point */
};

struct variable_list {
	struct frame_variable *variables; /* parameters first, then in the order of the source */
	size_t nr, room;
	char **names; /* owned */
	size_t nr_names;
	struct frame_base bases[3];
	bool is_without_types; /* DWARF does not describe the coroutine */
	bool is_without_scope; /* the suspend point is unknown: some may not be alive */
};

/* The variables that are alive at the point with @index.  NULL: no memory. */
struct variable_list *variable_list_read(const struct coro_type *type,
					 const struct coro_source *source, uint64_t index);

/* Accepts NULL. */
void variable_list_free(struct variable_list *list);

#endif
