/* SPDX-License-Identifier: MIT */
/*
 * shadow_stack.h - the functions that a thread is in, from the hooks at function entry and exit.
 *
 * A thread keeps its outermost CRT_OUTER frames, and in a ring the innermost CRT_INNER of the
 * others; frames between them are overwritten by deep recursion and are unknown afterwards.  A
 * frame notes the stack pointer of its function, so that frames which were left by longjmp, without
 * an exit hook, are recognized: a frame is gone when the stack pointer is above it.  For programs
 * that switch stacks see shadow_switch.h.
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

#define CRT_OUTER 2048u
#define CRT_INNER 2048u /* a power of two */
#define CRT_NEAR  4096u /* a called function is closer than that, or may be on another stack */

struct crt_frame {
	uint64_t caller;   /* return address into the calling function */
	uint64_t function; /* return address of the entry hook: in the function itself */
	uint64_t at;       /* frame address of the entry hook */
};

/* Memory of a thread's frames; pages in use take memory. */
struct crt_frames {
	struct crt_frame outer[1 + CRT_OUTER]; /* 0: above all frames, nothing pops it */
	struct crt_frame deep;                 /* `top` while there are inner frames; all zeros */
	struct crt_frame inner[CRT_INNER];
};

/* Thread-local.  The frames are allocated at the first entry during a session. */
struct crt_calls {
	struct crt_frame *top;     /* innermost frame; crt_no_frame: no memory yet */
	struct crt_frame *last;    /* of `outer`; NULL without memory */
	struct crt_frames *frames; /* NULL: none */
	uint64_t depth;            /* frames, while there are inner ones; else 0 */
	uint64_t floor;            /* frames from number CRT_OUTER up to this one are unknown */
	uint64_t busy;         /* frame address of the hook that records an allocation; 0: none */
	uint64_t operator_pc;  /* return address of operator new or delete; 0: none */
	uint64_t operator_at;  /* its frame address */
	struct crt_left *left; /* stacks that the thread has left (shadow_switch.h); NULL: none */
	uint64_t since;        /* when it began to use the one whose frames these are */
	uint32_t is_switching; /* 1: the frames are being exchanged; signal handlers add none */
	uint32_t was_deep;     /* for call_record.c */
	uint32_t is_closed;    /* 1: the thread ends, or belongs to the runtime */
};
extern __thread struct crt_calls crt_calls __attribute__((visibility("hidden")));
extern struct crt_frame crt_no_frame __attribute__((visibility("hidden"))); /* all zeros */

/* Number of frames of this thread. */
uint64_t crt_calls_depth(void) __attribute__((visibility("hidden")));

/* Frame @number, from 0, the outermost one; NULL: unknown. */
const struct crt_frame *crt_calls_frame(uint64_t number) __attribute__((visibility("hidden")));

/* Replace all frames of this thread by @nr others, the outermost first; at most CRT_OUTER. */
void crt_calls_select(const struct crt_frame *frames, uint32_t nr)
	__attribute__((visibility("hidden")));

/* True if @pc is probably in the function whose entry hook returns to @function. */
static inline bool crt_is_inside(uint64_t pc, uint64_t function)
{
	return pc - function < 32768;
}

/* Release the frames; the thread gets no new ones. */
void crt_calls_end(void) __attribute__((visibility("hidden")));

/*
 * The call stack of code whose frame address is @at: @out gets up to @max code addresses, innermost
 * first, as mem_reader_stack() describes them.  Returns how many.
 */
uint32_t crt_calls_copy(uint64_t at, uint64_t *out, uint32_t max)
	__attribute__((visibility("hidden")));

/* call_record.c: record a CRW_ENTER or CRW_LEAVE unit. */
void crt_calls_record(uint64_t w0, uint64_t w1) __attribute__((visibility("hidden")));

/* All cases but the usual one, in which no frame is gone and there is room. */
void crt_calls_push_slow(uint64_t caller, uint64_t function, uint64_t at)
	__attribute__((visibility("hidden")));
void crt_calls_pop_slow(uint64_t pc, uint64_t at) __attribute__((visibility("hidden")));

/* A function is entered; @at is the frame address of its entry hook. */
static inline void crt_calls_push(uint64_t caller, uint64_t function, uint64_t at)
{
	struct crt_calls *c = &crt_calls;
	struct crt_frame *f = c->top;

	if (__builtin_expect(f->at - at - 1 >= CRT_NEAR || f == c->last, 0)) {
		crt_calls_push_slow(caller, function, at);
		return;
	}
	f++;
	f->caller = caller;
	f->function = function;
	f->at = at;
	c->top = f;
	if (__builtin_expect(crt_session.calls, 0))
		crt_calls_record(caller, CRW_W1(CRW_ENTER, function));
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
	struct crt_frame *f = c->top;

	if (__builtin_expect(f->at != at && (f->at > at || f->caller != pc), 0)) {
		crt_calls_pop_slow(pc, at);
		return;
	}
	c->top = f - 1;
	if (__builtin_expect(crt_session.calls, 0))
		crt_calls_record(1, CRW_W1(CRW_LEAVE, 1));
}

#endif
