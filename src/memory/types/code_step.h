/* SPDX-License-Identifier: MIT */
/*
 * code_step.h - machine code as a list of simple steps, the same for x86_64 and aarch64.
 *
 * A step computes `base + index * scale + disp`, and uses the result as a value or as an address.
 * Registers have the numbers of DWARF.  An instruction may be several steps with the same address.
 */
#ifndef MEMORY_TYPES_CODE_STEP_H
#define MEMORY_TYPES_CODE_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STEP_REGISTERS   32
#define STEP_NO_REGISTER (-1)

enum step_kind {
	STEP_OTHER,  /* the registers in `written` get unknown values */
	STEP_SET,    /* dst = the result */
	STEP_LOAD,   /* dst = memory at the result, `width` bytes */
	STEP_STORE,  /* memory at the result = src, which may be no register: unknown */
	STEP_BUMP,   /* memory at the result += amount */
	STEP_SELECT, /* dst = dst or src */
	STEP_CALL,   /* target: 0 if unknown */
	STEP_JUMP,   /* to target, always; 0: unknown */
	STEP_BRANCH, /* to target, or on */
	STEP_END,    /* return, trap */
};

struct code_step {
	uint64_t addr; /* in the file */
	uint64_t next; /* address of the next instruction */
	uint64_t target;
	int64_t scale, disp, amount;
	uint32_t written;
	uint8_t kind, width;
	int8_t dst, src, base, index;
};

/* What calls do with registers, and where the first argument and the result are. */
struct step_machine {
	unsigned machine; /* EM_X86_64 or EM_AARCH64 */
	uint32_t clobbered;
	int8_t stack_pointer, result;
	int8_t entry; /* at the entry of a function, its frame ends so far above the stack pointer
		       */
	int8_t arguments[6];
};

/* NULL: no disassembler for this machine. */
const struct step_machine *code_machine(unsigned machine);

struct code_steps {
	struct code_step *list;
	size_t nr, room;
};

/*
 * Decode @size bytes of code at @addr and append the steps.  False: no disassembler, no memory, or
 * the code cannot be decoded.
 */
bool code_decode(struct code_steps *steps, unsigned machine, const uint8_t *data, size_t size,
		 uint64_t addr);

void code_steps_release(struct code_steps *steps);

#endif
