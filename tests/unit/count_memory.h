/* SPDX-License-Identifier: MIT */
/* count_memory.h - bytes that malloc() has given out, to compare before and after. */
#ifndef COUNT_MEMORY_H
#define COUNT_MEMORY_H

#include <malloc.h>

#include "check.h"

/* Always the same with a sanitizer, which finds leaks itself, and with other libraries. */
static inline size_t count_memory(void)
{
#ifdef __GLIBC_PREREQ
#if __GLIBC_PREREQ(2, 33)
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
#endif
#endif
	return 0;
}

/*
 * Call @act until it needs no more memory three times in a row.  What malloc() keeps for the next
 * call counts as given out, so the first calls need some.
 */
static inline void check_keeps_no_memory(void (*act)(void))
{
	size_t before = 0, now;
	int same = 0, i;

	for (i = 0; i < 60 && same < 3; i++) {
		act();
		now = count_memory();
		same = now == before ? same + 1 : 0;
		before = now;
	}
	CHECK_EQ(same, 3);
}

#endif
