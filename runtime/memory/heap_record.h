/* SPDX-License-Identifier: MIT */
/* heap_record.h - record blocks of the heap. */
#ifndef RUNTIME_MEMORY_HEAP_RECORD_H
#define RUNTIME_MEMORY_HEAP_RECORD_H

#include <stdint.h>

/*
 * A block was allocated; call it before the program knows the address.  @pc: return address into
 * the caller of the allocator; @at: frame address of the function that it called.
 */
void crt_heap_allocated(uint64_t address, uint64_t size, uint64_t pc, uint64_t at);

/* A block will be freed; call it before. */
void crt_heap_freed(uint64_t address, uint64_t pc, uint64_t at);

#endif
