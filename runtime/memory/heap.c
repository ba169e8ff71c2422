/* SPDX-License-Identifier: MIT */
/*
 * heap.c - the allocator's functions: they record blocks of the heap and where they are allocated,
 * and remove the annotation of a block that is freed.
 *
 * These functions interpose the allocator's own.  The real functions are looked up before anything
 * else runs: a lookup inside free could be nested in another lookup (dlsym frees the text of an
 * earlier error) and free the same block twice.  All are weak: a program that defines some of them
 * uses its own.
 *
 * An allocation is recorded after the real function returned, the end of a block before the real
 * function is called, so that no lock of the allocator is held while a record waits for room, and
 * so that the records of a block that another thread gets next are in this order.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "annotate.h"
#include "access_record.h"
#include "heap_record.h"

/*
 * Programs are linked with -u for this name, which brings the file in.  The names of libc's
 * functions do not with mold: it takes them from the shared library.
 */
const char crt_heap_hooks = 1;

void *__libc_malloc(size_t size) __attribute__((weak));
void *__libc_calloc(size_t nmemb, size_t size) __attribute__((weak));
void __libc_free(void *p) __attribute__((weak));
void *__libc_realloc(void *p, size_t size) __attribute__((weak));
void *__libc_memalign(size_t alignment, size_t size) __attribute__((weak));
size_t malloc_usable_size(void *p) __attribute__((weak));
void *dlsym(void *handle, const char *name) __attribute__((weak));
#define NEXT      ((void *)-1L)
#define HEAP_API  CRT_API __attribute__((weak))
#define HEAP_HERE CRT_AT(__builtin_frame_address(0))

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void (*free)(void *);
	void *(*realloc)(void *, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
} real_heap; /* [threads] */
static __thread int looking;

static void *heap_find(const char *name)
{
	void *f;

	if (!dlsym || looking)
		return NULL;
	looking = 1;
	f = dlsym(NEXT, name); /* NOLINT(performance-no-int-to-ptr) */
	looking = 0;
	return f;
}

/* The next definition of a function; the C library's own while it is being looked up. */
#define HEAP_REAL(name, fallback)                                                            \
	({                                                                                   \
		__typeof__(real_heap.name) heap_f = __atomic_load_n(&real_heap.name,         \
								    __ATOMIC_RELAXED);       \
                                                                                             \
		if (!heap_f) {                                                               \
			heap_f = (__typeof__(heap_f))heap_find(#name);                       \
			if (heap_f)                                                          \
				__atomic_store_n(&real_heap.name, heap_f, __ATOMIC_RELAXED); \
			else                                                                 \
				heap_f = fallback;                                           \
		}                                                                            \
		heap_f;                                                                      \
	})

static void heap_look_up(void)
{
	HEAP_REAL(free, NULL);
	HEAP_REAL(malloc, NULL);
	HEAP_REAL(calloc, NULL);
	HEAP_REAL(realloc, NULL);
	HEAP_REAL(memalign, NULL);
	HEAP_REAL(aligned_alloc, NULL);
	HEAP_REAL(posix_memalign, NULL);
}

#ifdef CRT_EXECUTABLE
/* Runs before the constructors of all libraries. */
__attribute__((section(".preinit_array"),
	       used)) static void (*const heap_early)(void) = heap_look_up;
#else
__attribute__((constructor(101))) static void heap_early(void)
{
	if (!real_heap.free)
		heap_look_up();
}
#endif

/* ---- before and after ------------------------------------------------------ */

static void heap_free(void *p, uint64_t pc, uint64_t at)
{
	void (*f)(void *) = HEAP_REAL(free, __libc_free);

	crt_freeing(p, pc);
	if (p)
		crt_heap_freed(CRT_AT(p), pc, at);
	if (f)
		f(p);
}

static void *heap_result(void *p, size_t size, uint64_t pc, uint64_t at)
{
	if (p)
		crt_heap_allocated(CRT_AT(p), size, pc, at);
	return p;
}

static void *heap_resize(void *p, size_t size, uint64_t pc, uint64_t at)
{
	void *(*f)(void *, size_t) = HEAP_REAL(realloc, __libc_realloc);
	void *q;

	crt_freeing(p, pc);
	if (p)
		crt_heap_freed(CRT_AT(p), pc, at);
	q = f ? f(p, size) : NULL;
	/* It failed: the block is still there.  How much the program asked for is not known. */
	if (p && !q && size && malloc_usable_size)
		heap_result(p, malloc_usable_size(p), pc, at);
	return heap_result(q, size, pc, at);
}

/* ---- C --------------------------------------------------------------------- */

HEAP_API void *malloc(size_t size);
HEAP_API void *calloc(size_t nmemb, size_t size);
HEAP_API void free(void *p);
HEAP_API void cfree(void *p);
HEAP_API void *realloc(void *p, size_t size);
HEAP_API void *reallocarray(void *p, size_t nmemb, size_t size);
HEAP_API void *memalign(size_t alignment, size_t size);
HEAP_API void *aligned_alloc(size_t alignment, size_t size);
HEAP_API int posix_memalign(void **out, size_t alignment, size_t size);

void *malloc(size_t size)
{
	void *(*f)(size_t) = HEAP_REAL(malloc, __libc_malloc);

	return heap_result(f ? f(size) : NULL, size, CRT_PC, HEAP_HERE);
}

void *calloc(size_t nmemb, size_t size)
{
	void *(*f)(size_t, size_t) = HEAP_REAL(calloc, __libc_calloc);

	/* The product does not overflow if the call succeeds. */
	return heap_result(f ? f(nmemb, size) : NULL, nmemb * size, CRT_PC, HEAP_HERE);
}

void free(void *p)
{
	heap_free(p, CRT_PC, HEAP_HERE);
}

void cfree(void *p)
{
	heap_free(p, CRT_PC, HEAP_HERE);
}

void *realloc(void *p, size_t size)
{
	return heap_resize(p, size, CRT_PC, HEAP_HERE);
}

void *reallocarray(void *p, size_t nmemb, size_t size)
{
	size_t all;

	if (__builtin_mul_overflow(nmemb, size, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return heap_resize(p, all, CRT_PC, HEAP_HERE);
}

void *memalign(size_t alignment, size_t size)
{
	void *(*f)(size_t, size_t) = HEAP_REAL(memalign, __libc_memalign);

	return heap_result(f ? f(alignment, size) : NULL, size, CRT_PC, HEAP_HERE);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	void *(*f)(size_t, size_t) = HEAP_REAL(aligned_alloc, __libc_memalign);

	return heap_result(f ? f(alignment, size) : NULL, size, CRT_PC, HEAP_HERE);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
	int (*f)(void **, size_t, size_t) = HEAP_REAL(posix_memalign, NULL);
	int ret = f ? f(out, alignment, size) : ENOMEM;

	if (ret == 0)
		heap_result(*out, size, CRT_PC, HEAP_HERE);
	return ret;
}
