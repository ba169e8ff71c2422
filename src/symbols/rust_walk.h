/* SPDX-License-Identifier: MIT */
/* rust_walk.h - follow a future to what it awaits in the end. */
#ifndef SYMBOLS_RUST_WALK_H
#define SYMBOLS_RUST_WALK_H

#include "symbols/rust_compound.h"
#include "symbols/rust_waits.h"

/* What is known of the program. */
struct rust_walker {
	struct rust_layouts layouts;
	struct rust_places places;
	struct rust_vtables vtables;
	struct u64map without;    /* of rust_compound */
	struct u64map socketless; /* of rust_resources */
	struct rust_descriptions descriptions;
	struct u64map macros; /* DIEs of closures of macros to 1 + the line of the call */
	struct u64map noted;  /* DIEs of states of async functions to their rust_place */
};

/* Called for each async function of the stack, outermost first, not for those of branches. */
struct rust_visitor {
	rust_level_visitor visit;
	void *arg;
};

/*
 * The stack of the future of @type at @addr, of the task at @task; *@out is empty before; @visitor
 * may be NULL. out->branch_waits and out->guards are for the caller to free.  False: no memory.
 */
bool rust_walk_future(struct rust_walker *walker, uint64_t task, const Dwarf_Die *type,
		      uint64_t addr, rust_reader read, void *arg,
		      const struct rust_visitor *visitor, struct rust_stack *out);

/* The types that are known. */
struct rust_layouts *rust_futures_layouts(struct rust_futures *rf);

/* The same for a future that is not in a task. */
bool rust_futures_walk(struct rust_futures *rf, const Dwarf_Die *type, uint64_t addr,
		       rust_reader read, void *arg, struct rust_stack *out);

/* A stack of one place, the async function of @type, whose line is not known. */
bool rust_futures_name(struct rust_futures *rf, Dwarf_Die *type, struct rust_stack *out);

void rust_walker_release(struct rust_walker *walker);

#endif
