/* SPDX-License-Identifier: MIT */
/*
 * variable_ranges.h - where the pointers among a function's variables are, at each of its
 * instructions: in a register, or in a slot of the stack.
 */
#ifndef MEMORY_TYPES_VARIABLE_RANGES_H
#define MEMORY_TYPES_VARIABLE_RANGES_H

#include "memory/types/pointee.h"

enum range_kind {
	VARIABLE_IN_REGISTER, /* the register has its value, plus `offset` */
	VARIABLE_AT_FRAME,    /* in memory, `offset` bytes from the frame base */
	VARIABLE_AT_REGISTER, /* in memory, `offset` bytes from the register */
};

struct variable_range {
	uint64_t start, end; /* addresses in the file */
	enum range_kind place;
	int reg;
	int64_t offset;
	uint32_t pointee; /* of a variable in a register */
	Dwarf_Die type;   /* of a variable in memory */
	uint64_t size;
};

enum frame_base_kind { FRAME_BASE_UNKNOWN, FRAME_BASE_CFA, FRAME_BASE_REGISTER };

struct variable_ranges {
	struct variable_range *list; /* registers first, sorted by start; then memory */
	size_t nr, room;
	size_t nr_registers;
	enum frame_base_kind frame;
	int frame_register;
	unsigned nr_entries; /* visited */
	bool no_memory;
};

/* Read the variables of @function, with those of functions inlined into it.  0 or -ENOMEM. */
int variable_ranges_read(struct variable_ranges *r, struct pointees *p, Dwarf_Die *function);

void variable_ranges_release(struct variable_ranges *r);

#endif
