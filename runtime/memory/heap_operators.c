/* SPDX-License-Identifier: MIT */
/*
 * heap_operators.c - operator new and delete of C++: the allocation's place is their caller.
 *
 * The C++ library's own functions do the work and call malloc and free, which record the block.
 * These only note the caller's return address for them; otherwise it would be an address in the
 * C++ library.  All are weak: a program that replaces an operator uses its own.
 */
#include <stddef.h>
#include <stdint.h>

#include "access_record.h"
#include "shadow_stack.h"

const char crt_operator_hooks = 1; /* as crt_heap_hooks */

void *dlsym(void *handle, const char *name) __attribute__((weak));
void *malloc(size_t size);
void *aligned_alloc(size_t alignment, size_t size);
void free(void *p);
#define NEXT         ((void *)-1L)
#define OPERATOR_API CRT_API __attribute__((weak))

/* malloc or free is called by an operator that was called at @pc. */
static void operator_begin(uint64_t pc, uint64_t at)
{
	crt_calls.operator_pc = pc;
	crt_calls.operator_at = at;
}

static void operator_end(void)
{
	crt_calls.operator_pc = 0;
}

/* The C++ library's definition; NULL: there is none. */
static void *operator_find(void **known, const char *name)
{
	void *f = __atomic_load_n(known, __ATOMIC_RELAXED);

	if (!f && dlsym) {
		f = dlsym(NEXT, name); /* NOLINT(performance-no-int-to-ptr) */
		__atomic_store_n(known, f, __ATOMIC_RELAXED);
	}
	return f;
}

/*
 * Define an operator: @fallback is used in a program without the C++ library.
 * NOLINTBEGIN(bugprone-macro-parentheses): lists of parameters and arguments, in parentheses
 */
#define OPERATOR_NEW(name, symbol, params, types, args, fallback)                \
	OPERATOR_API void *name params __asm__(symbol);                          \
	void *name params                                                        \
	{                                                                        \
		static void *known;                                              \
		void *(*f)types = (void *(*)types)operator_find(&known, symbol); \
		void *p;                                                         \
                                                                                 \
		operator_begin(CRT_PC, CRT_AT(__builtin_frame_address(0)));      \
		p = f ? f args : fallback;                                       \
		operator_end();                                                  \
		return p;                                                        \
	}
#define OPERATOR_DELETE(name, symbol, params, types, args)                     \
	OPERATOR_API void name params __asm__(symbol);                         \
	void name params                                                       \
	{                                                                      \
		static void *known;                                            \
		void(*f) types = (void(*) types)operator_find(&known, symbol); \
                                                                               \
		operator_begin(CRT_PC, CRT_AT(__builtin_frame_address(0)));    \
		if (f)                                                         \
			f args;                                                \
		else                                                           \
			free(p);                                               \
		operator_end();                                                \
	}

/* NOLINTEND(bugprone-macro-parentheses) */

OPERATOR_NEW(operator_new, "_Znwm", (size_t n), (size_t), (n), malloc(n ? n : 1))
OPERATOR_NEW(operator_new_array, "_Znam", (size_t n), (size_t), (n), malloc(n ? n : 1))
OPERATOR_NEW(operator_new_nothrow, "_ZnwmRKSt9nothrow_t", (size_t n, const void *t),
	     (size_t, const void *), (n, t), malloc(n ? n : 1))
OPERATOR_NEW(operator_new_array_nothrow, "_ZnamRKSt9nothrow_t", (size_t n, const void *t),
	     (size_t, const void *), (n, t), malloc(n ? n : 1))
OPERATOR_NEW(operator_new_aligned, "_ZnwmSt11align_val_t", (size_t n, size_t a), (size_t, size_t),
	     (n, a), aligned_alloc(a, n))
OPERATOR_NEW(operator_new_array_aligned, "_ZnamSt11align_val_t", (size_t n, size_t a),
	     (size_t, size_t), (n, a), aligned_alloc(a, n))
OPERATOR_DELETE(operator_delete, "_ZdlPv", (void *p), (void *), (p))
OPERATOR_DELETE(operator_delete_array, "_ZdaPv", (void *p), (void *), (p))
OPERATOR_DELETE(operator_delete_sized, "_ZdlPvm", (void *p, size_t n), (void *, size_t), (p, n))
OPERATOR_DELETE(operator_delete_array_sized, "_ZdaPvm", (void *p, size_t n), (void *, size_t),
		(p, n))
OPERATOR_DELETE(operator_delete_aligned, "_ZdlPvSt11align_val_t", (void *p, size_t a),
		(void *, size_t), (p, a))
OPERATOR_DELETE(operator_delete_sized_aligned, "_ZdlPvmSt11align_val_t",
		(void *p, size_t n, size_t a), (void *, size_t, size_t), (p, n, a))
