/* SPDX-License-Identifier: MIT */
/* blame_functions.h - misses by the function whose code accesses the memory. */
#ifndef MEMORY_BLAME_BLAME_FUNCTIONS_H
#define MEMORY_BLAME_BLAME_FUNCTIONS_H

#include "memory/blame/blame.h"

struct blame_function {
	const char *function, *file, *module; /* NULL: unknown */
	struct blame_counts counts;
};

/* The @nr most expensive functions; returns how many exist.  Valid until blame_free(). */
size_t blame_functions(struct blame *b, const struct blame_function **out, size_t nr);

/* For blame.c. */
void blame_functions_release(struct blame *b);

#endif
