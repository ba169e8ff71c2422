/* SPDX-License-Identifier: MIT */
/*
 * context.h - a context with its own stack, and switching between contexts.
 *
 * A thin layer over ucontext(3).  A stack has a guard page below it, so that an overflow
 * crashes at once instead of corrupting other data.
 *
 * Code that runs on such a stack must follow one rule: a switch may return on another
 * thread, so no thread-local value may be kept across it, errno included.
 */
#ifndef EXAMPLES_CONTEXT_H
#define EXAMPLES_CONTEXT_H

#include <stddef.h>
#include <ucontext.h>

struct context {
	ucontext_t uc;
	void *map; /* stack and guard page; NULL for a thread's own stack */
	size_t map_size;
	void *stack; /* lowest usable byte */
	size_t stack_size;
	void (*entry)(void *arg);
	void *arg;
	void *fiber;      /* ThreadSanitizer's name of this context */
	void *fake_stack; /* AddressSanitizer's, while another context runs */
};

/*
 * Create a context that runs entry(arg) on @stack_size bytes when first switched to.
 * @entry never returns; it ends with context_leave().  Returns 0 or a negative errno.
 */
int context_init(struct context *c, size_t stack_size, void (*entry)(void *arg), void *arg);

/* A context for the calling thread, to switch from and back to. */
void context_init_thread(struct context *c);

/* Free the stack.  Not while the context runs.  Does nothing for a thread's own stack. */
void context_release(struct context *c);

/* Continue with @to; returns when another context switches to @from. */
void context_switch(struct context *from, struct context *to);

/* Continue with @to; @from does not run again. */
void context_leave(struct context *from, struct context *to) __attribute__((noreturn));

#endif
