/* SPDX-License-Identifier: MIT */
/* memory_touch.c - the accesses of memory_polls, compiled by `mem cc`. */
#include <stddef.h>
#include <stdint.h>

void memory_touch(volatile uint64_t *at, size_t count, int writes);

void memory_touch(volatile uint64_t *at, size_t count, int writes)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (writes)
			at[i] = i;
		else
			(void)at[i];
	}
}
