/* SPDX-License-Identifier: MIT */
/* large_table.c - memory for tables that are used in no order, in large pages of the host. */
#include "base/large_table.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE_PAGE ((size_t)2 << 20)
#define CACHE_LINE 64u

void *large_table_new(size_t size)
{
	bool is_large = size >= LARGE_PAGE / 2 && size <= SIZE_MAX - LARGE_PAGE;
	void *table = NULL;

	if (is_large)
		size = (size + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
	if (posix_memalign(&table, is_large ? LARGE_PAGE : CACHE_LINE, size) != 0)
		return NULL;
#ifdef MADV_HUGEPAGE
	if (is_large)
		(void)madvise(table, size, MADV_HUGEPAGE); /* without it: slower, and right */
#endif
	return table;
}

void *large_table_zeroed(size_t size)
{
	void *table = large_table_new(size);

	if (table)
		memset(table, 0, size);
	return table;
}
