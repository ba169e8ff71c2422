/* SPDX-License-Identifier: MIT */
/*
 * context.h - a stack of its own and a way to jump there and back.
 *
 * Thin over ucontext(3).  A stack has a page below it that nobody may touch, so that
 * an overflow is a crash where it happens and not somebody else's broken data.
 *
 * One rule for code that runs on such a stack: a switch may come back on another
 * thread, so nothing thread-local may be carried across it, errno included.
 */
#ifndef EXAMPLES_CONTEXT_H
#define EXAMPLES_CONTEXT_H

#include <stddef.h>
#include <ucontext.h>

struct context {
	ucontext_t uc;
	void *map; /* stack and guard page; NULL when this is a thread's own stack */
	size_t map_size;
	void *stack; /* lowest usable byte */
	size_t stack_size;
	void (*entry)(void *arg);
	void *arg;
	void *fiber;      /* what ThreadSanitizer calls this context */
	void *fake_stack; /* AddressSanitizer's, while we are away */
};

/*
 * A context that will run entry(arg) on @stack_size bytes when first switched to.
 * @entry never returns; it ends with context_leave().  Returns 0 or a negative errno.
 */
int context_init(struct context *c, size_t stack_size, void (*entry)(void *arg), void *arg);

/* The calling thread as it is, to be switched from and back to. */
void context_init_thread(struct context *c);

/* Not while it runs.  Does nothing to a thread's own. */
void context_release(struct context *c);

/* Go on with @to; returns when somebody goes on with @from. */
void context_switch(struct context *from, struct context *to);

/* Go on with @to for good: @from will not run again. */
void context_leave(struct context *from, struct context *to) __attribute__((noreturn));

#endif
