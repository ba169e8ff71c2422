/* SPDX-License-Identifier: MIT */
/*
 * callbacks.c - callbacks that compilers insert before loads and stores (-fsanitize=thread).
 *
 * The list covers what gcc 12 and clang 14 to 19 emit, and what a program may call by hand.  The
 * size of a plain access is part of the callback's name, so the code of its unit is a constant.
 * The return address of a callback is the code address of the access.  Function entry and exit
 * maintain the thread's shadow stack.
 */
#include "access_record.h"
#include "shadow_stack.h"

#define ONE(name, size, code)                        \
	CRT_API void __tsan_##name##size(void *p);   \
	void __tsan_##name##size(void *p)            \
	{                                            \
		crt_access(CRT_AT(p), code, CRT_PC); \
	}
#define ONE_PC(name, size, code)                                   \
	CRT_API void __tsan_##name##size##_pc(void *p, void *pc);  \
	void __tsan_##name##size##_pc(void *p, void *pc)           \
	{                                                          \
		crt_access(CRT_AT(p), code, CRT_AT(pc) & CRW_LOW); \
	}
#define SIZES(name, code)      \
	ONE(name, 1, code)     \
	ONE(name, 2, code + 1) \
	ONE(name, 4, code + 2) \
	ONE(name, 8, code + 3) \
	ONE(name, 16, code + 4)
#define SIZES_PC(name, code)      \
	ONE_PC(name, 1, code)     \
	ONE_PC(name, 2, code + 1) \
	ONE_PC(name, 4, code + 2) \
	ONE_PC(name, 8, code + 3) \
	ONE_PC(name, 16, code + 4)

SIZES(read, 0)
SIZES(write, CRW_IS_WRITE)
SIZES(read_write, CRW_IS_COMPOUND)
SIZES(unaligned_read, CRW_IS_UNALIGNED)
SIZES(unaligned_write, CRW_IS_UNALIGNED + CRW_IS_WRITE)
SIZES(unaligned_read_write, CRW_IS_UNALIGNED + CRW_IS_COMPOUND)
SIZES(volatile_read, CRW_IS_VOLATILE)
SIZES(volatile_write, CRW_IS_VOLATILE + CRW_IS_WRITE)
SIZES(unaligned_volatile_read, CRW_IS_VOLATILE + CRW_IS_UNALIGNED)
SIZES(unaligned_volatile_write, CRW_IS_VOLATILE + CRW_IS_UNALIGNED + CRW_IS_WRITE)
SIZES_PC(read, 0)
SIZES_PC(write, CRW_IS_WRITE)
SIZES_PC(unaligned_read, CRW_IS_UNALIGNED)
SIZES_PC(unaligned_write, CRW_IS_UNALIGNED + CRW_IS_WRITE)

CRT_API void __tsan_read_range(void *p, unsigned long size);
CRT_API void __tsan_write_range(void *p, unsigned long size);
CRT_API void __tsan_read_range_pc(void *p, unsigned long size, void *pc);
CRT_API void __tsan_write_range_pc(void *p, unsigned long size, void *pc);

void __tsan_read_range(void *p, unsigned long size)
{
	crt_extent(CRT_AT(p), CRW_RANGE, CRT_PC, size, 1);
}

void __tsan_write_range(void *p, unsigned long size)
{
	crt_extent(CRT_AT(p), CRW_RANGE | CRW_IS_WRITE, CRT_PC, size, 1);
}

void __tsan_read_range_pc(void *p, unsigned long size, void *pc)
{
	crt_extent(CRT_AT(p), CRW_RANGE, CRT_AT(pc), size, 1);
}

void __tsan_write_range_pc(void *p, unsigned long size, void *pc)
{
	crt_extent(CRT_AT(p), CRW_RANGE | CRW_IS_WRITE, CRT_AT(pc), size, 1);
}

/* Access to the virtual table pointer of a C++ object. */
CRT_API void __tsan_vptr_update(void **vptr, void *value);
CRT_API void __tsan_vptr_read(void **vptr);

void __tsan_vptr_update(void **vptr, void *value)
{
	(void)value;
	crt_access(CRT_AT(vptr), CRW_VPTR | CRW_IS_WRITE, CRT_PC);
}

void __tsan_vptr_read(void **vptr)
{
	crt_access(CRT_AT(vptr), CRW_VPTR, CRT_PC);
}

CRT_API void __tsan_func_entry(void *pc);
CRT_API void __tsan_func_exit(void);
CRT_API void __tsan_ignore_thread_begin(void);
CRT_API void __tsan_ignore_thread_end(void);

void __tsan_func_entry(void *pc)
{
	crt_calls_push(CRT_AT(pc), CRT_PC, CRT_AT(__builtin_frame_address(0)));
}

void __tsan_func_exit(void)
{
	crt_calls_pop(CRT_PC, CRT_AT(__builtin_frame_address(0)));
}

/* Marks functions with intended races; their accesses are recorded all the same. */
void __tsan_ignore_thread_begin(void)
{
}

void __tsan_ignore_thread_end(void)
{
}
