/* SPDX-License-Identifier: MIT */
/* alloc_stacks.h - numbers for the call stacks of allocations. */
#ifndef RUNTIME_MEMORY_ALLOC_STACKS_H
#define RUNTIME_MEMORY_ALLOC_STACKS_H

#include <stdint.h>

/*
 * The number of the call stack of code whose frame address is @at.  A stack that the trace does not
 * have yet is recorded first.  0: there is none, or no room for it.
 */
uint32_t crt_stack_number(uint64_t at);

#endif
