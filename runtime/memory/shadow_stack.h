/* SPDX-License-Identifier: MIT */
/*
 * shadow_stack.h - the functions that a thread is in, from the hooks at function entry and exit.
 *
 * A thread keeps its outermost CRT_OUTER frames, and in a ring the innermost CRT_INNER of the
 * others; frames between them are overwritten by deep recursion and are unknown afterwards.  A
 * frame notes the stack pointer of its function, so that frames which were left by longjmp, without
 * an exit hook, are recognized: a frame is gone when the stack pointer is above it.  A program that
 * switches stacks may hide frames of the other
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

#define CRT_OUTER  2048u
#define CRT_INNER  2048u                   /* a power of two */
#define CRT_FRAMES (CRT_OUTER + CRT_INNER) /* pages in use take memory */

struct crt_frame {
	uint64_t caller;   /* return address into the calling function */
	uint64_t function; /* return address of the entry hook: in the function itself */
	uint64_t at;       /* frame address of the entry hook */
};

/* Thread-local.  The frames are allocated at the first entry during a session. */
struct crt_calls {
	struct crt_frame *frames; /* NULL: none */
	uint64_t depth;           /* frames pushed */
	uint64_t floor;           /* frames from CRT_OUTER up to this number are unknown */
	uint64_t busy;        /* frame address of the hook that records an allocation; 0: none */
	uint64_t operator_pc; /* return address of operator new or delete; 0: none */
	uint64_t operator_at; /* its frame address */
	uint32_t was_deep;    /* for call_record.c */
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
	return &c->frames[number < CRT_OUTER ? number : CRT_OUTER + (number & (CRT_INNER - 1))];
}

/* The innermost @nr functions are left. */
static inline void crt_calls_drop(struct crt_calls *c, uint64_t nr)
{
	c->depth -= nr;
	if (__builtin_expect(c->floor > c->depth, 0))
		c->floor = c->depth < CRT_OUTER ? CRT_OUTER : c->depth;
	if (crt_session.calls)
		crt_calls_record(nr, CRW_W1(CRW_LEAVE, 1));
}

/* The innermost frame is unknown: the outermost ones tell whether it is gone. */
static inline bool crt_calls_is_hidden(const struct crt_calls *c)
{
	return __builtin_expect(c->depth == c->floor, 0) && c->depth > CRT_OUTER;
}

/*
 * Remove the frames that are gone if the stack pointer is @at; @inclusive: also one with the same
 * address.  A frame whose caller is @caller is the last one.
 */
static inline bool crt_calls_settle(struct crt_calls *c, uint64_t at, bool inclusive,
				    uint64_t caller)
{
	while (c->depth) {
		bool is_hidden = crt_calls_is_hidden(c);
		const struct crt_frame *f = crt_calls_frame(c, is_hidden ? CRT_OUTER - 1
									 : c->depth - 1);

		if (inclusive ? f->at > at : f->at >= at)
			return false;
		if (is_hidden) {
			crt_calls_drop(c, c->depth - CRT_OUTER);
			continue;
		}
		crt_calls_drop(c, 1);
		if (f->caller == caller)
			return true;
	}
	return false;
}

/* A function is entered; @at is the frame address of its entry hook. */
static inline void crt_calls_push(uint64_t caller, uint64_t function, uint64_t at)
{
	struct crt_calls *c = &crt_calls;
	struct crt_frame *f;

	if (__builtin_expect(!c->frames, 0) && !crt_calls_begin())
		return;
	crt_calls_settle(c, at, true, 0);
	f = crt_calls_frame(c, c->depth++);
	f->caller = caller;
	f->function = function;
	f->at = at;
	if (__builtin_expect(c->depth - c->floor > CRT_INNER && c->depth > c->floor, 0))
		c->floor = c->depth - CRT_INNER;
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
	const struct crt_frame *top;

	if (!c->frames || crt_calls_settle(c, at, false, pc) || !c->depth)
		return;
	if (crt_calls_is_hidden(c)) {
		crt_calls_drop(c, 1);
		return;
	}
	top = crt_calls_frame(c, c->depth - 1);
	if (top->at == at || crt_calls_is_inside(pc, top->function))
		crt_calls_drop(c, 1);
}

#endif
