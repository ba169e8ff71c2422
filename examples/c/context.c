/* SPDX-License-Identifier: MIT */
/*
 * context.c - stacks, and switching between them.
 *
 * The sanitizers track stacks and threads, and must be notified of a change of stacks:
 * AddressSanitizer before and after each switch, ThreadSanitizer before it.  Without
 * sanitizers these calls are empty.
 */
#include "context.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef __has_feature
#define __has_feature(x) 0 /* gcc defines a macro instead */
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define WITH_ASAN 1
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#include <sanitizer/tsan_interface.h>
#endif

static void *fiber_new(void)
{
#ifdef WITH_TSAN
	return __tsan_create_fiber(0);
#else
	return NULL;
#endif
}

static void *fiber_self(void)
{
#ifdef WITH_TSAN
	return __tsan_get_current_fiber();
#else
	return NULL;
#endif
}

static void fiber_free(void *fiber)
{
#ifdef WITH_TSAN
	__tsan_destroy_fiber(fiber);
#else
	(void)fiber;
#endif
}

/*
 * About to switch to @to's stack.  @fake_stack NULL: for the last time.  Always inlined,
 * or ThreadSanitizer would see this function entered on one stack and left on another.
 */
static inline __attribute__((always_inline)) void announce_departure(void **fake_stack,
								     const struct context *to)
{
#ifdef WITH_ASAN
	__sanitizer_start_switch_fiber(fake_stack, to->stack, to->stack_size);
#endif
#ifdef WITH_TSAN
	__tsan_switch_to_fiber(to->fiber, 0);
#endif
	(void)fake_stack, (void)to;
}

/* Now running on this context's stack (again). */
static inline void announce_arrival(void *fake_stack)
{
#ifdef WITH_ASAN
	__sanitizer_finish_switch_fiber(fake_stack, NULL, NULL);
#endif
	(void)fake_stack;
}

/* makecontext(3) passes ints: the pointer is split into two of them. */
static void trampoline(unsigned high, unsigned low)
{
	struct context *c = (struct context *)((uintptr_t)high << 32 | (uintptr_t)low);

	announce_arrival(NULL);
	c->entry(c->arg);
	abort(); /* an entry function ends with context_leave() */
}

static int stack_map(struct context *c, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	c->stack_size = (size + page - 1) / page * page;
	c->map_size = c->stack_size + page;
	c->map = mmap(NULL, c->map_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (c->map == MAP_FAILED)
		return -errno;
	c->stack = (char *)c->map + page;
	if (mprotect(c->stack, c->stack_size, PROT_READ | PROT_WRITE) < 0) {
		int err = -errno;

		munmap(c->map, c->map_size);
		return err;
	}
	return 0;
}

int context_init(struct context *c, size_t stack_size, void (*entry)(void *arg), void *arg)
{
	int err;

	memset(c, 0, sizeof(*c));
	err = stack_map(c, stack_size);
	if (err)
		return err;
	c->entry = entry;
	c->arg = arg;
	c->fiber = fiber_new();

	getcontext(&c->uc);
	c->uc.uc_stack.ss_sp = c->stack;
	c->uc.uc_stack.ss_size = c->stack_size;
	c->uc.uc_link = NULL;
	makecontext(&c->uc, (void (*)(void))trampoline, 2, (unsigned)((uintptr_t)c >> 32),
		    (unsigned)(uintptr_t)c);
	return 0;
}

void context_init_thread(struct context *c)
{
	pthread_attr_t attr;

	memset(c, 0, sizeof(*c));
	c->fiber = fiber_self();
	if (pthread_getattr_np(pthread_self(), &attr) == 0) {
		pthread_attr_getstack(&attr, &c->stack, &c->stack_size);
		pthread_attr_destroy(&attr);
	}
}

void context_release(struct context *c)
{
	if (!c->map)
		return;
	fiber_free(c->fiber);
	munmap(c->map, c->map_size);
	c->map = NULL;
}

void context_switch(struct context *from, struct context *to)
{
	announce_departure(&from->fake_stack, to);
	swapcontext(&from->uc, &to->uc);
	announce_arrival(from->fake_stack);
}

void context_leave(struct context *from, struct context *to)
{
	(void)from;
	announce_departure(NULL, to);
	setcontext(&to->uc);
	abort(); /* setcontext() returns only if @to is not a context */
}
