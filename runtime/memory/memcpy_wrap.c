/* SPDX-License-Identifier: MIT */
/*
 * memcpy_wrap.c - record the program's calls of memcpy, memmove and memset, linked with --wrap.
 *
 * A separate object in the archive: it is linked only if the command has --wrap, and then the
 * __real_ names exist. src/memory/compiler/compiler_command.c and CMakeLists.txt have the same list
 * of functions.
 */
#include "copy.h"
#include "access_record.h"

void *__real_memcpy(void *to, const void *from, size_t n);
void *__real_memmove(void *to, const void *from, size_t n);
void *__real_memset(void *to, int c, size_t n);
void *__real___memcpy_chk(void *to, const void *from, size_t n, size_t room);
void *__real___memmove_chk(void *to, const void *from, size_t n, size_t room);
void *__real___memset_chk(void *to, int c, size_t n, size_t room);

void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n);
void *__wrap_memset(void *to, int c, size_t n);
void *__wrap___memcpy_chk(void *to, const void *from, size_t n, size_t room);
void *__wrap___memmove_chk(void *to, const void *from, size_t n, size_t room);
void *__wrap___memset_chk(void *to, int c, size_t n, size_t room);

void *__wrap_memcpy(void *to, const void *from, size_t n)
{
	__cacheray_copied(to, from, n, CRT_PC);
	return __real_memcpy(to, from, n);
}

void *__wrap_memmove(void *to, const void *from, size_t n)
{
	__cacheray_copied(to, from, n, CRT_PC);
	return __real_memmove(to, from, n);
}

void *__wrap_memset(void *to, int c, size_t n)
{
	__cacheray_filled(to, n, CRT_PC);
	return __real_memset(to, c, n);
}

void *__wrap___memcpy_chk(void *to, const void *from, size_t n, size_t room)
{
	__cacheray_copied(to, from, n, CRT_PC);
	return __real___memcpy_chk(to, from, n, room);
}

void *__wrap___memmove_chk(void *to, const void *from, size_t n, size_t room)
{
	__cacheray_copied(to, from, n, CRT_PC);
	return __real___memmove_chk(to, from, n, room);
}

void *__wrap___memset_chk(void *to, int c, size_t n, size_t room)
{
	__cacheray_filled(to, n, CRT_PC);
	return __real___memset_chk(to, c, n, room);
}
