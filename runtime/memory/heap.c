/* SPDX-License-Identifier: MIT */
/*
 * heap.c - free and realloc of an annotated block remove its annotation.
 *
 * These functions interpose the allocator's own (operator delete calls free as well).  The real
 * functions are looked up before anything else runs: a lookup inside free could be nested in
 * another lookup (dlsym frees the text of an earlier error) and free the same block twice.  A
 * program that defines its own free does not use these.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "annotate.h"
#include "access_record.h"

void __libc_free(void *p) __attribute__((weak));
void *__libc_realloc(void *p, size_t size) __attribute__((weak));
void *dlsym(void *handle, const char *name) __attribute__((weak));
#define NEXT ((void *)-1L)

static void (*real_free)(void *);
static void *(*real_realloc)(void *, size_t);
static __thread int looking;

static void *heap_find(const char *name)
{
	void *f;

	if (!dlsym || looking)
		return NULL;
	looking = 1;
	f = dlsym(NEXT, name);
	looking = 0;
	return f;
}

static void plain_free(void *p)
{
	void (*f)(void *) = __atomic_load_n(&real_free, __ATOMIC_RELAXED);

	if (!f) {
		f = (void (*)(void *))heap_find("free");
		if (f)
			__atomic_store_n(&real_free, f, __ATOMIC_RELAXED);
		else
			f = __libc_free;
	}
	if (f)
		f(p);
}

static void *plain_realloc(void *p, size_t size)
{
	void *(*f)(void *, size_t) = __atomic_load_n(&real_realloc, __ATOMIC_RELAXED);

	if (!f) {
		f = (void *(*)(void *, size_t))heap_find("realloc");
		if (f)
			__atomic_store_n(&real_realloc, f, __ATOMIC_RELAXED);
		else
			f = __libc_realloc;
	}
	return f ? f(p, size) : NULL;
}

static void heap_look_up(void)
{
	real_free = (void (*)(void *))heap_find("free");
	real_realloc = (void *(*)(void *, size_t))heap_find("realloc");
}

#ifdef CRT_EXECUTABLE
/* Runs before the constructors of all libraries. */
__attribute__((section(".preinit_array"),
	       used)) static void (*const heap_early)(void) = heap_look_up;
#else
__attribute__((constructor(101))) static void heap_early(void)
{
	if (!real_free)
		heap_look_up();
}
#endif

CRT_API void free(void *p);
CRT_API void cfree(void *p);
CRT_API void *realloc(void *p, size_t size);
CRT_API void *reallocarray(void *p, size_t nmemb, size_t size);

void free(void *p)
{
	crt_freeing(p, CRT_PC);
	plain_free(p);
}

void cfree(void *p)
{
	crt_freeing(p, CRT_PC);
	plain_free(p);
}

void *realloc(void *p, size_t size)
{
	crt_freeing(p, CRT_PC);
	return plain_realloc(p, size);
}

void *reallocarray(void *p, size_t nmemb, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(nmemb, size, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	crt_freeing(p, CRT_PC);
	return plain_realloc(p, all);
}
