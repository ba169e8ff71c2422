/* SPDX-License-Identifier: MIT */
/* tokio_block_on.h - the future that a thread runs with block_on() or #[tokio::main]. */
#ifndef INSPECT_TOKIO_BLOCK_ON_H
#define INSPECT_TOKIO_BLOCK_ON_H

#include "base/printer.h"
#include "inspect/inspection.h"

/* In text the stack of the future, in JSON "block_on".  @stack may be NULL: nothing is known. */
void print_tokio_block_on(struct inspection *in, struct printer *p,
			  const struct native_stack *stack);

#endif
