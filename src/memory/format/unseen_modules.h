/* SPDX-License-Identifier: MIT */
/*
 * unseen_modules.h - the libraries of a trace that were not built for tracing.
 *
 * Their accesses are missing.  libc and the libraries that every program has are never built this
 * way, and are not named.
 */
#ifndef MEMORY_FORMAT_UNSEEN_MODULES_H
#define MEMORY_FORMAT_UNSEEN_MODULES_H

#include "memory/format/mem_facts.h"

#define UNSEEN_MODULES_MAX 32u

/*
 * Writes the paths, which belong to @facts, to @paths; returns their number.  A file that cannot be
 * read is not named.
 */
size_t unseen_modules_find(const struct mem_facts *facts, const char *paths[UNSEEN_MODULES_MAX]);

#endif
