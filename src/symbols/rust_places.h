/* SPDX-License-Identifier: MIT */
/* rust_places.h - places, stacks and branches of futures, each kept once: equal means same pointer.
 */
#ifndef SYMBOLS_RUST_PLACES_H
#define SYMBOLS_RUST_PLACES_H

#include <elfutils/libdw.h>

#include "base/strtab.h"
#include "base/u64map.h"
#include "symbols/rust_futures.h"

#define RUST_NAME_MAX 2048

/* All zero: empty. */
struct rust_places {
	struct strtab texts;
	struct u64map paths; /* address of a type's DIE to 1 + number of its path */
	struct u64map kept;  /* hash of bytes to 1 + number of the block */
	struct rust_kept *blocks;
	size_t nr, room;
};

/* The text, valid until the release.  NULL: no memory. */
const char *rust_places_text(struct rust_places *p, const char *text);

/* The path of a type, "tokio::time::sleep::Sleep"; "?": unknown; NULL: no memory. */
const char *rust_places_path(struct rust_places *p, Dwarf_Die *type);

/* Each NULL: no memory.  An empty array is not NULL. */
const struct rust_place *rust_places_keep(struct rust_places *p, const struct rust_place *place);
const struct rust_place *const *
rust_places_stack(struct rust_places *p, const struct rust_place *const *places, size_t nr);
const struct rust_branch *rust_places_branches(struct rust_places *p,
					       const struct rust_branch *branches, size_t nr);

/* "server::serve::{async_fn_env#0}": "serve". */
void rust_plain_function(const char *path, char *out, size_t size);

void rust_places_release(struct rust_places *p);

#endif
