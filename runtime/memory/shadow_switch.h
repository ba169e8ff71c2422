/* SPDX-License-Identifier: MIT */
/*
 * shadow_switch.h - the frames of stacks that a thread has left: of coroutines with a stack of
 * their own, and the thread's own while such a coroutine runs.
 *
 * A thread has frames of one stack at a time, as a coroutine is called by no other function.  A
 * hook whose stack pointer is far from the innermost frame is on another stack: the frames are put
 * aside, and those of the other stack, found by its stack pointer, take their place.  Frames that
 * another thread saw are unknown.  If it is not certain that frames are still valid, they are
 * forgotten: a call stack may lack its outer functions, and has no wrong ones.
 */
#ifndef RUNTIME_MEMORY_SHADOW_SWITCH_H
#define RUNTIME_MEMORY_SHADOW_SWITCH_H

#include "shadow_stack.h"

#define CRT_LEFT_STACKS 128u /* of a thread; the one left first is forgotten first */
#define CRT_LEFT_FRAMES 62u  /* innermost functions of each */

/* Memory of a thread that switches stacks; pages in use take memory. */
struct crt_left {
	uint64_t time[CRT_LEFT_STACKS];  /* when it was left; 0: unused */
	uint64_t since[CRT_LEFT_STACKS]; /* when the thread began to use it */
	uint64_t inner[CRT_LEFT_STACKS]; /* `at` of the innermost and of the outermost frame */
	uint64_t outer[CRT_LEFT_STACKS];
	uint32_t nr[CRT_LEFT_STACKS];
	struct crt_frame frames[CRT_LEFT_STACKS][CRT_LEFT_FRAMES];
};

/*
 * A function is entered with stack pointer @at, called from @caller; 0: an allocation.  Selects the
 * frames of its stack.
 */
void crt_switch_enter(struct crt_calls *c, uint64_t at, uint64_t caller)
	__attribute__((visibility("hidden")));

/* What to do if the exit hook at @pc has stack pointer @at. */
enum crt_switch_exit {
	CRT_EXIT_HERE,      /* the innermost frames are of its stack */
	CRT_EXIT_INNERMOST, /* the same, and the function is the innermost one */
	CRT_EXIT_ELSEWHERE, /* the function was entered in another thread: do nothing */
};
enum crt_switch_exit crt_switch_leave(struct crt_calls *c, uint64_t pc, uint64_t at)
	__attribute__((visibility("hidden")));

#endif
