/* SPDX-License-Identifier: MIT */
/*
 * alloc_types.h - the type of the objects that a place of a C++ program allocates.
 *
 * Containers of the standard library allocate by allocator<T>::allocate(), which is a function of
 * its own or inlined.  DWARF has its class, and so the T of each allocating call.
 */
#ifndef MEMORY_TYPES_ALLOC_TYPES_H
#define MEMORY_TYPES_ALLOC_TYPES_H

#include "memory/types/types.h"

/* The type that the call that returns to @pc allocates; 0: not known. */
uint32_t alloc_types_at(struct types *t, uint64_t pc);

#endif
