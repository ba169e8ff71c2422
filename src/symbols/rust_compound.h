/* SPDX-License-Identifier: MIT */
/*
 * rust_compound.h - the futures that another future consists of.
 *
 * select! and join! poll a tuple of futures from a closure; FuturesUnordered and JoinSet have lists
 * of them; other combinators have them as members.  Members are searched for the futures of async
 * functions and for those that Tokio ends in; a reference is followed only to what is itself a
 * future, because other objects may hold futures that are not awaited here.
 */
#ifndef SYMBOLS_RUST_COMPOUND_H
#define SYMBOLS_RUST_COMPOUND_H

#include "symbols/rust_layouts.h"
#include "symbols/rust_places.h"
#include "symbols/rust_vtables.h"

#define RUST_FUTURES_MAX 10000 /* in one future */

struct rust_found {
	Dwarf_Die type;
	uint64_t addr;
};

struct rust_compound {
	/* set by the caller */
	struct rust_places *places;
	struct rust_layouts *layouts;
	struct u64map *without; /* DIEs of types that contain no future: 1; that do: 2 */
	const struct rust_vtables *vtables;
	rust_reader read;
	void *arg;
	/* result */
	struct rust_found *found; /* from malloc() */
	size_t nr, room;
	bool is_set;     /* a collection: also one future is a branch */
	bool is_guess;   /* a member of a type that is not known to await all its members */
	bool has_more;   /* RUST_FUTURES_MAX was reached */
	bool has_failed; /* no memory */
	unsigned visited;
};

/* Find the futures in the one at @addr, which is not the future of an async function itself. */
void rust_compound_search(struct rust_compound *c, Dwarf_Die *type, uint64_t addr);

/*
 * A pointer to `dyn Trait`: the address and, if it is known, the type of the object.  False: it is
 * not one, or cannot be read.
 */
bool rust_compound_dyn(const struct rust_compound *c, Dwarf_Die *type, uint64_t addr,
		       struct rust_found *out, bool *is_known);

#endif
