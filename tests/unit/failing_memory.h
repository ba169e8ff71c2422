/* SPDX-License-Identifier: MIT */
/*
 * failing_memory.h - each allocation of some work fails once, and the work says so.
 *
 * For programs that are linked with --wrap of the five functions below.  Only allocations between
 * memory_begin() and memory_end() are counted: what a test itself needs does not fail.
 */
#ifndef FAILING_MEMORY_H
#define FAILING_MEMORY_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct {
	bool is_on;
	unsigned nr;      /* allocations so far */
	unsigned failing; /* the number of the one that fails */
} failing_memory;

static inline bool memory_fails(void)
{
	return failing_memory.is_on && failing_memory.nr++ == failing_memory.failing;
}

/* Allocation @number fails, the first is 0. */
static inline void memory_begin(unsigned number)
{
	failing_memory.nr = 0;
	failing_memory.failing = number;
	failing_memory.is_on = true;
}

/* False: there were fewer allocations, and none has failed. */
static inline bool memory_end(void)
{
	failing_memory.is_on = false;
	return failing_memory.nr > failing_memory.failing;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t nr, size_t size);
char *__real_strdup(const char *text);

void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	return memory_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t nr, size_t size);
void *__wrap_calloc(size_t nr, size_t size)
{
	return memory_fails() ? NULL : __real_calloc(nr, size);
}

void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
	return memory_fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t nr, size_t size);
void *__wrap_reallocarray(void *old, size_t nr, size_t size)
{
	return memory_fails() ? NULL : __real_reallocarray(old, nr, size);
}

char *__wrap_strdup(const char *text);
char *__wrap_strdup(const char *text)
{
	return memory_fails() ? NULL : __real_strdup(text);
}

#endif
