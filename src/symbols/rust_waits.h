/* SPDX-License-Identifier: MIT */
/* rust_waits.h - what a future waits for and which guards it holds, by descriptions of types. */
#ifndef SYMBOLS_RUST_WAITS_H
#define SYMBOLS_RUST_WAITS_H

#include <elfutils/libdw.h>

#include "base/u64map.h"
#include "symbols/described_types.h"
#include "symbols/rust_futures.h"

/* All zero: no descriptions. */
struct rust_descriptions {
	const struct type_rules *rules;
	struct described_types *types;
	struct rust_guard_list *lists; /* of the variants that were asked for */
	size_t nr_lists, room_lists;
	struct u64map by_variant; /* address of a variant's DIE to 1 + number of its list */
	struct u64map wrappers;   /* address of a path to its rule (RULE_THROUGH), or 1: none */
};

/* 0 or -ENOMEM. */
int rust_descriptions_set(struct rust_descriptions *d, const struct type_rules *rules);
void rust_descriptions_release(struct rust_descriptions *d);

/*
 * Note what the future with the path @path waits for.  The outermost one that is described has the
 * kind, and the outermost one with an object the object.  @members: the struct with its members, at
 * @addr; the current variant of an async function.
 */
void rust_wait_note(struct rust_descriptions *d, struct rust_wait *wait, const char *path,
		    Dwarf_Die *members, uint64_t addr, rust_reader read, void *arg);

/* Read the deadline of a Sleep. */
void rust_wait_read_deadline(struct rust_wait *wait, Dwarf_Die *sleep, uint64_t addr,
			     rust_reader read, void *arg);

/*
 * The member that holds the future inside this one; "": the first; NULL: there is none.  A wrapper
 * with a deadline sets wait->has_limit.  Equal paths have equal addresses (rust_places_path()).
 */
const char *rust_wait_follows(struct rust_descriptions *d, struct rust_wait *wait,
			      const char *path);

/* The guards among the variables of the async function whose current variant is @variant. */
size_t rust_guards_read(struct rust_descriptions *d, Dwarf_Die *variant, uint64_t addr,
			rust_reader read, void *arg, struct described_value *out, size_t most);

#endif
