/* SPDX-License-Identifier: MIT */
/*
 * rust_block_on.h - the future that a thread runs itself, with block_on() or #[tokio::main].
 *
 * It is not a task but a variable of block_on(), on the stack of the thread: DWARF has its type,
 * and where it is.  An optimized program may not say where.
 */
#ifndef SYMBOLS_RUST_BLOCK_ON_H
#define SYMBOLS_RUST_BLOCK_ON_H

#include "symbols/native_stack.h"
#include "symbols/rust_futures.h"

enum rust_block_on {
	RUST_BLOCK_ON_NONE,    /* the frame is not of block_on() */
	RUST_BLOCK_ON_UNKNOWN, /* where its future is, is not known: the stack is its function */
	RUST_BLOCK_ON_FOUND,
};

/* The future of block_on() in a native frame whose code is in @module. */
enum rust_block_on rust_block_on_read(struct rust_futures *rf, struct Dwfl_Module *module,
				      const struct native_frame *frame, rust_reader read, void *arg,
				      struct rust_stack *out);

#endif
