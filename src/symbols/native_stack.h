/* SPDX-License-Identifier: MIT */
/*
 * native_stack.h - unwind the stack of a thread with the call frame information of its modules.
 *
 * Registers and memory come from the caller, and both are untrusted.  Only what .eh_frame describes
 * counts: where it has nothing, the stack ends, and nothing is guessed.
 */
#ifndef SYMBOLS_NATIVE_STACK_H
#define SYMBOLS_NATIVE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/module.h"

#define NATIVE_FRAMES_MAX 256
#define NATIVE_SAVED      11 /* registers that calls preserve: 6 on x86_64, 11 on aarch64 */

struct native_frame {
	uint64_t pc; /* in the call, for all but the innermost frame */
	uint64_t sp; /* 0: unknown */
	unsigned nr_saved;
	uint64_t saved[NATIVE_SAVED]; /* values of preserved registers, as far as they are known */
};

/* Where a stack begins. */
struct native_start {
	const uint64_t *registers; /* by DWARF number; NULL: only sp and pc are known */
	unsigned nr_registers;
	uint64_t sp, pc;
	bool (*read)(void *arg, uint64_t addr, uint64_t *word);
	void *arg; /* for read() */
};

struct native_unwinder;

/* @machine: EM_X86_64 or EM_AARCH64.  NULL: no memory. */
struct native_unwinder *native_unwinder_new(unsigned machine);

/* A file that cannot be read is left out: stacks end at its code. */
void native_unwinder_add(struct native_unwinder *u, const struct symbol_module *module,
			 const char *open_path);

/*
 * Fill @frames, innermost first; returns their number.  @is_complete: the outermost function of the
 * thread was reached.
 */
size_t native_stack_unwind(struct native_unwinder *u, const struct native_start *start,
			   struct native_frame frames[NATIVE_FRAMES_MAX], bool *is_complete);

/* Accepts NULL. */
void native_unwinder_free(struct native_unwinder *u);

#endif
