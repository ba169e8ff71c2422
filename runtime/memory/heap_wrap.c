/* SPDX-License-Identifier: MIT */
/*
 * heap_wrap.c - the allocator's functions in static programs, wrapped by the linker (--wrap).
 *
 * As heap.c, which needs dynamic linking.  operator new is in the C++ library, which is linked in
 * and calls the wrapped functions.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "annotate.h"
#include "access_record.h"
#include "heap_record.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t nmemb, size_t size);
void __real_free(void *p);
void *__real_realloc(void *p, size_t size);
void *__real_memalign(size_t alignment, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t nmemb, size_t size);
void __wrap_free(void *p);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_reallocarray(void *p, size_t nmemb, size_t size);
void *__wrap_memalign(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);

#define HERE CRT_AT(__builtin_frame_address(0))

static void *heap_wrap_result(void *p, size_t size, uint64_t pc, uint64_t at)
{
	if (p)
		crt_heap_allocated(CRT_AT(p), size, pc, at);
	return p;
}

static void heap_wrap_freeing(void *p, uint64_t pc, uint64_t at)
{
	crt_freeing(p, pc);
	if (p)
		crt_heap_freed(CRT_AT(p), pc, at);
}

void *__wrap_malloc(size_t size)
{
	return heap_wrap_result(__real_malloc(size), size, CRT_PC, HERE);
}

void *__wrap_calloc(size_t nmemb, size_t size)
{
	return heap_wrap_result(__real_calloc(nmemb, size), nmemb * size, CRT_PC, HERE);
}

void __wrap_free(void *p)
{
	heap_wrap_freeing(p, CRT_PC, HERE);
	__real_free(p);
}

void *__wrap_realloc(void *p, size_t size)
{
	heap_wrap_freeing(p, CRT_PC, HERE);
	return heap_wrap_result(__real_realloc(p, size), size, CRT_PC, HERE);
}

void *__wrap_reallocarray(void *p, size_t nmemb, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(nmemb, size, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	heap_wrap_freeing(p, CRT_PC, HERE);
	return heap_wrap_result(__real_realloc(p, all), all, CRT_PC, HERE);
}

void *__wrap_memalign(size_t alignment, size_t size)
{
	return heap_wrap_result(__real_memalign(alignment, size), size, CRT_PC, HERE);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
	return heap_wrap_result(__real_aligned_alloc(alignment, size), size, CRT_PC, HERE);
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t size)
{
	int ret = __real_posix_memalign(out, alignment, size);

	if (ret == 0)
		heap_wrap_result(*out, size, CRT_PC, HERE);
	return ret;
}
