/* SPDX-License-Identifier: MIT */
/* rust_waits.h - what a future waits for, by the name of its type. */
#ifndef SYMBOLS_RUST_WAITS_H
#define SYMBOLS_RUST_WAITS_H

#include <elfutils/libdw.h>

#include "symbols/rust_futures.h"

/* Note the kind of the future with the path @path, if it is known and none was noted before. */
void rust_wait_note(struct rust_wait *wait, const char *path);

/* Read deadline or joined task of the innermost future. */
void rust_wait_read(struct rust_wait *wait, Dwarf_Die *type, const char *path, uint64_t addr,
		    rust_reader read, void *arg);

/* The member that holds the future inside this one; "": the first; NULL: there is none. */
const char *rust_wait_follows(const char *path);

#endif
