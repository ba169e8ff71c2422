/* SPDX-License-Identifier: MIT */
/*
 * frame_location.h - where a variable of a suspended coroutine is, from its location in DWARF.
 *
 * A location is written for a thread that executes the code.  A suspended coroutine has no
 * registers: only an expression that starts from the frame's address, or from nothing, has a value.
 */
#ifndef SYMBOLS_FRAME_LOCATION_H
#define SYMBOLS_FRAME_LOCATION_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/local_value.h"

#define FRAME_REGISTERS_MAX 3

/* What holds the frame's address at an instruction: registers, or a slot of the native stack. */
struct frame_base {
	unsigned registers[FRAME_REGISTERS_MAX]; /* numbers of DWARF */
	size_t nr_registers;
	bool has_slot;
	bool is_fbreg;      /* the slot is relative to the function's frame base */
	unsigned slot_base; /* or to this register */
	int64_t slot_offset;
};

void frame_base_add_register(struct frame_base *base, unsigned reg);

/* Learn from the location of a variable that is @offset bytes from the frame's start. */
void frame_base_learn(struct frame_base *base, const Dwarf_Op *ops, size_t nr, uint32_t offset);

/* True if the expression has a value for a suspended coroutine. */
bool frame_location_usable(const struct frame_base *base, const Dwarf_Op *ops, size_t nr);

/* A copy of a variable; `valid` gets 1 for every byte that is known. */
struct frame_value {
	uint8_t *data, *valid;
	size_t size;
};

/*
 * Evaluate for the frame at @frame, and copy the variable to @out.  False: nothing is known, or
 * memory cannot be read.
 */
bool frame_location_read(const struct frame_base *base, const Dwarf_Op *ops, size_t nr,
			 uint64_t frame, local_memory_reader read, void *arg,
			 struct frame_value *out);

#endif
