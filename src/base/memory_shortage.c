/* SPDX-License-Identifier: MIT */
/* memory_shortage.c - remember that memory ran out where the work goes on without the result. */
#include <errno.h>

#include "base/memory_shortage.h"

static bool shortage; /* never reset: accessed by any thread */

void memory_shortage_note(void)
{
	__atomic_store_n(&shortage, true, __ATOMIC_RELAXED);
}

bool memory_shortage_noted(void)
{
	return __atomic_load_n(&shortage, __ATOMIC_RELAXED);
}

int memory_shortage_watch(void)
{
	int before = errno;

	errno = 0;
	return before;
}

void memory_shortage_check(int before)
{
	if (errno == ENOMEM || errno == EMFILE || errno == ENFILE || errno == EIO)
		memory_shortage_note();
	else
		errno = before;
}
