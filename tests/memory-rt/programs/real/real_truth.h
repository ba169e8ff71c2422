/* SPDX-License-Identifier: MIT */
/*
 * real_truth.h - annotations that a test adds to a program's sources: made only if TRUTH is set, so
 * that one build runs with and without them.  Includes nothing: the program's files choose features
 * of libc later.
 */
#ifndef REAL_TRUTH_H
#define REAL_TRUTH_H

extern char *getenv(const char *name);
extern void cacheray_rtta_add(const void *address, __SIZE_TYPE__ elem_size,
			      __SIZE_TYPE__ elem_count, const char *type);

static inline int truth_is_on(void)
{
	static int known;

	if (!known)
		known = getenv("TRUTH") ? 2 : 1;
	return known == 2;
}

#define TRUTH_ADD(address, size, count, name)                                  \
	do {                                                                   \
		if (truth_is_on())                                             \
			cacheray_rtta_add((address), (size), (count), (name)); \
	} while (0)

#endif
