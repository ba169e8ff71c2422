/* SPDX-License-Identifier: MIT */
/*
 * call_stack.h - the functions that each thread is in, while a trace is read.
 *
 * For traces recorded with `mem run --stacks`.  Pass every record other than an access to
 * call_stacks_record(); a frame is valid from then until the thread's next record.
 */
#ifndef MEMORY_FORMAT_CALL_STACK_H
#define MEMORY_FORMAT_CALL_STACK_H

#include "base/u64map.h"
#include "memory/format/mem_record.h"

#define CALL_STACK_MAX 65536u /* frames; inner ones are counted only */

struct call_frame {
	uint64_t function; /* an address in the function, shortly after its entry */
	uint64_t site;     /* return address into its caller */
};

/* Frame 0 is the outermost one. */
struct call_stack {
	struct call_frame *frame;
	size_t nr, size;
	uint64_t deeper; /* functions that the thread is in beyond CALL_STACK_MAX */
};

/* Initial value: zeros. */
struct call_stacks {
	struct call_stack *stack;
	size_t nr, size;
	struct u64map by_thread; /* number to 1 + index */
	bool any;                /* the trace has entries or exits */
};

/* Take a record; only MEM_ENTER and MEM_EXIT have an effect.  0 or -ENOMEM. */
int call_stacks_record(struct call_stacks *s, const struct mem_record *r);

/* The stack of a thread, never NULL; empty if the trace does not have it. */
const struct call_stack *call_stacks_of(const struct call_stacks *s, uint32_t thread);

void call_stacks_release(struct call_stacks *s);

#endif
