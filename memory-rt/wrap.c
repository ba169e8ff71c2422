/* SPDX-License-Identifier: MIT */
/*
 * wrap.c - the program's calls of memcpy and its like, when it is linked with --wrap for them.
 *
 * An object of its own in the archive: it is linked only if it is asked for, and then the
 * __real_ names exist.  The list is the one in wrap.txt.
 */
#include "copy.h"
#include "record.h"

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
