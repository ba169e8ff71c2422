/* SPDX-License-Identifier: MIT */
/* code_hooks.c - the functions that the instrumentation of code_types.c calls. */
#define HOOK(name)          \
	void name(void *p); \
	void name(void *p)  \
	{                   \
		(void)p;    \
	}

HOOK(__tsan_init)
HOOK(__tsan_func_entry)
HOOK(__tsan_func_exit)
HOOK(__tsan_read1)
HOOK(__tsan_read2)
HOOK(__tsan_read4)
HOOK(__tsan_read8)
HOOK(__tsan_write1)
HOOK(__tsan_write2)
HOOK(__tsan_write4)
HOOK(__tsan_write8)
HOOK(__tsan_read_write2)
HOOK(__tsan_read_write4)
HOOK(__tsan_read_write8)
