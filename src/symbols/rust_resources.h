/* SPDX-License-Identifier: MIT */
/*
 * rust_resources.h - the descriptor and the time limit of a future of Tokio.
 *
 * A socket of Tokio is a PollEvented (or an AsyncFd): the object with the descriptor, and the
 * registration, whose ScheduledIo has the wakers.
 */
#ifndef SYMBOLS_RUST_RESOURCES_H
#define SYMBOLS_RUST_RESOURCES_H

#include <elfutils/libdw.h>

#include "base/u64map.h"
#include "symbols/rust_futures.h"
#include "symbols/rust_layouts.h"

struct rust_resources {
	struct rust_layouts *layouts;
	struct u64map *without; /* DIEs of types that lead to no descriptor: 1; that do: 2 */
	uint64_t task;          /* whose wakers are searched */
	rust_reader read;
	void *arg;
};

/*
 * Note the descriptor of an async function of Tokio: @variant is its state, at @addr, and its
 * variable `self` the socket.
 */
void rust_resources_note(const struct rust_resources *r, struct rust_wait *wait, const char *path,
			 Dwarf_Die *variant, uint64_t addr);

/* Note the descriptor, and the direction, of the innermost future. */
void rust_resources_read(const struct rust_resources *r, struct rust_wait *wait, Dwarf_Die *type,
			 const char *path, uint64_t addr);

/* Note the deadline of a Timeout, if it is the first one. */
void rust_resources_limit(const struct rust_resources *r, struct rust_wait *wait, Dwarf_Die *type,
			  const char *path, uint64_t addr);

/* Keep the earlier one of two deadlines. */
void rust_wait_earlier(struct rust_wait *wait, const struct rust_wait *other);

#endif
