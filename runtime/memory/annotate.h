/* SPDX-License-Identifier: MIT */
/*
 * annotate.h - annotations of memory blocks, and their removal when a block is freed.
 */
#ifndef RUNTIME_MEMORY_ANNOTATE_H
#define RUNTIME_MEMORY_ANNOTATE_H

#include <stdbool.h>
#include <stdint.h>

/* [threads] annotations in force; 0: free() needs no lookup */
extern uint64_t crt_annotated;

void crt_annotate(uint64_t address, uint64_t elem_size, uint64_t count, const char *type,
		  uint64_t pc);
/* Remove the annotation that starts at @address, if there is one. */
void crt_unannotate(uint64_t address, uint64_t pc);

/* Call before @p is freed: the removal is recorded before another thread can allocate the block. */
static inline void crt_freeing(const void *p, uint64_t pc)
{
	if (__atomic_load_n(&crt_annotated, __ATOMIC_RELAXED) && p)
		crt_unannotate((uint64_t)(uintptr_t)p, pc);
}

#endif
