/* SPDX-License-Identifier: MIT */
/*
 * shadow_stack.h - the functions that a thread is in, from the hooks at function entry and exit.
 *
 * A thread keeps its innermost CRT_FRAMES frames in a ring; outer ones are overwritten by deep
 * recursion and are unknown afterwards.  A frame notes the stack pointer of its function, so that
 * frames which were left by longjmp, without an exit hook, are recognized: a frame is gone when
 * the stack pointer is above it.  A program that switches stacks may hide frames of the other
 * stack, and never breaks anything: all indices are masked.
 *
 * Signals.  A handler may run between any two instructions here and calls the same hooks.  What it
 * pushes it pops again; at worst the interrupted function is missing from the stack.
 */
#ifndef RUNTIME_MEMORY_SHADOW_STACK_H
#define RUNTIME_MEMORY_SHADOW_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "access_record.h"
#include "trace_session.h"

#define CRT_FRAMES 4096u /* a power of two; pages in use take memory */

struct crt_frame {
	uint64_t caller;   /* return address into the calling function */
	uint64_t function; /* return address of the entry hook: in the function itself */
	uint64_t at;       /* frame address of the entry hook */
};

/* Thread-local.  The frames are allocated at the first entry during a session. */
struct crt_calls {
	struct crt_frame *frames; /* NULL: none */
	uint64_t depth;           /* frames pushed */
	uint64_t floor;           /* frames below this number are unknown */
	uint64_t busy;        /* frame address of the hook that records an allocation; 0: none */
	uint64_t operator_pc; /* return address of operator new or delete; 0: none */
	uint64_t operator_at; /* its frame address */
	uint32_t is_closed;   /* 1: the thread ends, or belongs to the runtime */
};
extern __thread struct crt_calls crt_calls __attribute__((visibility("hidden")));

/* Allocate the frames of this thread.  False: there are none. */
bool crt_calls_begin(void) __attribute__((visibility("hidden")));
/* Release them; the thread gets no new ones. */
void crt_calls_end(void) __attribute__((visibility("hidden")));

/*
 * The call stack of code whose frame address is @at: @out gets up to @max code addresses, innermost
 * first, as mem_reader_stack() describes them.  Returns how many.
 */
uint32_t crt_calls_copy(uint64_t at, uint64_t *out, uint32_t max)
	__attribute__((visibility("hidden")));

/* call_record.c: record a CRW_ENTER or CRW_LEAVE unit. */
void crt_calls_record(uint64_t w0, uint64_t w1) __attribute__((visibility("hidden")));

static inline struct crt_frame *crt_calls_frame(const struct crt_calls *c, uint64_t number)
{
	return &c->frames[number & (CRT_FRAMES - 1)];
}

static inline bool crt_calls_has_top(const struct crt_calls *c)
{
	return c->depth > c->floor;
}

/* The innermost @nr functions are left. */
static inline void crt_calls_drop(struct crt_calls *c, uint64_t nr)
{
	c->depth -= nr;
	if (crt_session.calls)
		crt_calls_record(nr, CRW_W1(CRW_LEAVE, 1));
}

/* A function is entered; @at is the frame address of its entry hook. */
static inline void crt_calls_push(uint64_t caller, uint64_t function, uint64_t at)
{
	struct crt_calls *c = &crt_calls;
	struct crt_frame *f;

	if (__builtin_expect(!c->frames, 0) && !crt_calls_begin())
		return;
	while (crt_calls_has_top(c) && crt_calls_frame(c, c->depth - 1)->at <= at)
		crt_calls_drop(c, 1);
	f = crt_calls_frame(c, c->depth++);
	f->caller = caller;
	f->function = function;
	f->at = at;
	if (__builtin_expect(c->depth - c->floor > CRT_FRAMES, 0))
		c->floor = c->depth - CRT_FRAMES;
	if (crt_session.calls)
		crt_calls_record(caller, CRW_W1(CRW_ENTER, function));
}

/* True if @pc is probably in the function whose entry hook returns to @function. */
static inline bool crt_calls_is_inside(uint64_t pc, uint64_t function)
{
	return pc - function < 32768;
}

/*
 * A function is left; @pc and @at are the return address and the frame address of the exit hook.
 * Compilers call the hook as the last thing in the frame of the function, where @at equals that of
 * the entry, or jump to it after the frame is removed: then @pc is the function's own return
 * address and @at is above its frame.  A function with an array of variable size may have a lower
 * stack pointer than at its entry.
 */
static inline void crt_calls_pop(uint64_t pc, uint64_t at)
{
	struct crt_calls *c = &crt_calls;
	const struct crt_frame *top = NULL;

	if (!c->frames)
		return;
	while (crt_calls_has_top(c) && (top = crt_calls_frame(c, c->depth - 1))->at < at) {
		crt_calls_drop(c, 1);
		if (top->caller == pc)
			return;
	}
	if (!crt_calls_has_top(c)) {
		if (!c->floor)
			return;
		c->floor--; /* a frame that deep recursion has overwritten */
		crt_calls_drop(c, 1);
		return;
	}
	if (top->at == at || crt_calls_is_inside(pc, top->function))
		crt_calls_drop(c, 1);
}

#endif
