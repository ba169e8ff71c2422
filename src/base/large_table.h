/* SPDX-License-Identifier: MIT */
/*
 * large_table.h - memory for tables that are used in no order, in large pages of the host.
 *
 * The host remembers where some thousand pages are.  A table of some megabytes in small pages has
 * most of them, and each use of another page costs a search.
 */
#ifndef BASE_LARGE_TABLE_H
#define BASE_LARGE_TABLE_H

#include <stddef.h>

/* Not initialized; begins at a cache line of the host; for free().  NULL: no memory. */
void *large_table_new(size_t size);

/* The same, filled with zeros. */
void *large_table_zeroed(size_t size);

#endif
