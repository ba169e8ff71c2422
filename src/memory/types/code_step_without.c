/* SPDX-License-Identifier: MIT */
/* code_step_without.c - the stand-in for a build without a disassembler: no code is decoded. */
#include "memory/types/code_step.h"

const struct step_machine *code_machine(unsigned machine)
{
	(void)machine;
	return NULL;
}

bool code_decode(struct code_steps *steps, unsigned machine, const uint8_t *data, size_t size,
		 uint64_t addr)
{
	(void)steps;
	(void)machine;
	(void)data;
	(void)size;
	(void)addr;
	return false;
}

void code_steps_release(struct code_steps *steps)
{
	(void)steps;
}
