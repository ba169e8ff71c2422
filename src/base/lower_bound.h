/* SPDX-License-Identifier: MIT */
/* lower_bound.h - binary search in a sorted list of any type. */
#ifndef BASE_LOWER_BOUND_H
#define BASE_LOWER_BOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if element @at of @list is less than @key. */
typedef bool list_is_less(const void *list, size_t at, uint64_t key);

/* The first of @nr elements that is not less than @key; @nr: all are. */
static inline size_t list_lower_bound(const void *list, size_t nr, uint64_t key,
				      list_is_less *is_less)
{
	size_t low = 0, high = nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (is_less(list, middle, key))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif
