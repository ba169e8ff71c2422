/* SPDX-License-Identifier: MIT */
/*
 * wide_vectors.h - does a source file ask for vectors of 32 or 64 bytes?
 *
 * clang's instrumentation reports accesses of up to 16 bytes.  Vectors that the compiler makes of a
 * loop are kept that small by an option; those of the source cannot be.
 */
#ifndef MEMORY_COMPILER_WIDE_VECTORS_H
#define MEMORY_COMPILER_WIDE_VECTORS_H

#include <stdbool.h>

/* Looks for the names of such types and intrinsics in the text; included files are not read. */
bool source_has_wide_vectors(const char *path);

#endif
