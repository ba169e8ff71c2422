/* SPDX-License-Identifier: MIT */
/*
 * copy.c - memcpy, memmove and memset that are not wrapped.
 *
 * Written so that compilers do not replace the loops by calls of the same functions.
 */
#include "copy.h"

#if defined(__x86_64__)
/* Fast for the sizes in use here: chunks and blocks of tens of kilobytes. */
void *crt_memcpy(void *to, const void *from, size_t n)
{
	void *d = to;

	__asm__ volatile("rep movsb" : "+D"(d), "+S"(from), "+c"(n) : : "memory");
	return to;
}

void *crt_memset(void *to, int c, size_t n)
{
	void *d = to;

	__asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(c) : "memory");
	return to;
}
#else
#define ONE_BY_ONE __asm__ volatile("" ::: "memory")

void *crt_memcpy(void *to, const void *from, size_t n)
{
	uint8_t *d = to;
	const uint8_t *s = from;

	for (; n >= 8; n -= 8, d += 8, s += 8) {
		uint64_t v = *(const uint64_t __attribute__((aligned(1), may_alias)) *)s;

		*(uint64_t __attribute__((aligned(1), may_alias)) *)d = v;
		ONE_BY_ONE;
	}
	for (; n; n--) {
		*d++ = *s++;
		ONE_BY_ONE;
	}
	return to;
}

void *crt_memset(void *to, int c, size_t n)
{
	uint64_t v = UINT64_C(0x0101010101010101) * (uint8_t)c;
	uint8_t *d = to;

	for (; n >= 8; n -= 8, d += 8) {
		*(uint64_t __attribute__((aligned(1), may_alias)) *)d = v;
		ONE_BY_ONE;
	}
	for (; n; n--) {
		*d++ = (uint8_t)c;
		ONE_BY_ONE;
	}
	return to;
}
#endif

void *crt_memmove(void *to, const void *from, size_t n)
{
	uint8_t *d = to;
	const uint8_t *s = from;

	if (d <= s || d >= s + n)
		return crt_memcpy(to, from, n);
	while (n--) {
		d[n] = s[n];
		__asm__ volatile("" ::: "memory");
	}
	return to;
}
