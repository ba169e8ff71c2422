/* SPDX-License-Identifier: MIT */
/* code_step_arch.h - internal to code_step.c: one decoder per machine. */
#ifndef MEMORY_TYPES_CODE_STEP_ARCH_H
#define MEMORY_TYPES_CODE_STEP_ARCH_H

#include "memory/types/code_step.h"
#include "symbols/capstone_loader.h"

struct step_sink {
	struct code_steps *steps;
	csh handle;
	bool no_memory;
	uint64_t addr, next;
};

/* Append a step of the current instruction. */
void step_add(struct step_sink *sink, const struct code_step *step);

/* Append a step that makes the registers that @insn writes unknown, and those in @more. */
void step_add_other(struct step_sink *sink, const cs_insn *insn, int (*number)(unsigned reg),
		    uint32_t more);

void step_decode_x86(struct step_sink *sink, const cs_insn *insn);
void step_decode_arm(struct step_sink *sink, const cs_insn *insn);

#define STEP_EMPTY                                                                  \
	.dst = STEP_NO_REGISTER, .src = STEP_NO_REGISTER, .base = STEP_NO_REGISTER, \
	.index = STEP_NO_REGISTER, .scale = 1

#endif
