/* SPDX-License-Identifier: MIT */
/*
 * stack_table.h - the call stacks of a memory trace (CRAY_STACKS chunks), by number.
 */
#ifndef MEMORY_FORMAT_STACK_TABLE_H
#define MEMORY_FORMAT_STACK_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/u64map.h"
#include "memory/format/mem_faults.h"

struct stack_entry {
	uint32_t number, nr_frames;
	size_t first; /* index in frames[] */
};

/* Initial value: zeros. */
struct stack_table {
	struct stack_entry *entry;
	size_t nr, size;
	uint64_t *frames;
	size_t nr_frames, frames_size;
	struct u64map by_number; /* number to 1 + index */
};

/* Take the payload of a CRAY_STACKS chunk.  0 or -ENOMEM. */
int stack_table_chunk(struct stack_table *t, const uint8_t *data, size_t size, uint64_t offset,
		      struct mem_faults *faults);

/* Code addresses of stack @number, innermost first.  Returns how many; 0: not known. */
size_t stack_table_get(const struct stack_table *t, uint32_t number, const uint64_t **frames);

/* The stack at @index, from 0.  Returns its frames; 0: there are no more. */
size_t stack_table_entry(const struct stack_table *t, size_t index, uint32_t *number,
			 const uint64_t **frames);

void stack_table_release(struct stack_table *t);

#endif
