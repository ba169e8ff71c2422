/* SPDX-License-Identifier: MIT */
/* code_step.c - decode machine code into steps, with capstone. */
#include "memory/types/code_step.h"

#include <elf.h>
#include <stdlib.h>

#include "memory/types/code_step_arch.h"

#define STEPS_MAX (1u << 20)

static const struct step_machine step_x86 = {
	.machine = EM_X86_64,
	.clobbered = 1u << 0 | 1u << 1 | 1u << 2 | 1u << 4 | 1u << 5 | 0xfu << 8,
	.stack_pointer = 7,
	.result = 0,
	.entry = 8,
	.arguments = { 5, 4, 1, 2, 8, 9 },
};

static const struct step_machine step_arm = {
	.machine = EM_AARCH64,
	.clobbered = 0x7ffffu | 1u << 30,
	.stack_pointer = 31,
	.result = 0,
	.arguments = { 0, 1, 2, 3, 4, 5 },
};

const struct step_machine *code_machine(unsigned machine)
{
	struct err err;

	if (capstone_load(&err) < 0)
		return NULL;
	return machine == EM_X86_64 ? &step_x86 : machine == EM_AARCH64 ? &step_arm : NULL;
}

void step_add(struct step_sink *sink, const struct code_step *step)
{
	struct code_steps *s = sink->steps;

	if (s->nr == s->room) {
		size_t room = s->room ? s->room * 2 : 256;
		void *more = room <= STEPS_MAX ? realloc(s->list, room * sizeof(*s->list)) : NULL;

		if (!more) {
			sink->no_memory = true;
			return;
		}
		s->list = more;
		s->room = room;
	}
	s->list[s->nr] = *step;
	s->list[s->nr].addr = sink->addr;
	s->list[s->nr++].next = sink->next;
}

void step_add_other(struct step_sink *sink, const cs_insn *insn, int (*number)(unsigned reg),
		    uint32_t more)
{
	struct code_step step = { STEP_EMPTY, .kind = STEP_OTHER, .written = more };
	uint8_t nr_read = 0, nr_written = 0, i;
	cs_regs read, written;

	if (capstone.cs_regs_access(sink->handle, insn, read, &nr_read, written, &nr_written) !=
	    0) {
		step.written = UINT32_MAX;
		nr_written = 0;
	}
	for (i = 0; i < nr_written; i++) {
		int reg = number(written[i]);

		if (reg >= 0)
			step.written |= 1u << reg;
	}
	step_add(sink, &step); /* also if it writes none: no address is left out */
}

/* A byte sequence that is not an instruction: data between functions, or an unknown extension. */
static void step_skip(struct step_sink *sink, const uint8_t **at, size_t *left, uint64_t *addr,
		      size_t length)
{
	const struct code_step step = { STEP_EMPTY, .kind = STEP_OTHER, .written = UINT32_MAX };

	if (length > *left)
		length = *left;
	sink->addr = *addr;
	sink->next = *addr + length;
	step_add(sink, &step);
	*at += length;
	*left -= length;
	*addr += length;
}

bool code_decode(struct code_steps *steps, unsigned machine, const uint8_t *data, size_t size,
		 uint64_t addr)
{
	bool is_arm = machine == EM_AARCH64;
	struct step_sink sink = { .steps = steps };
	cs_insn *insn;

	if (!code_machine(machine) ||
	    capstone.cs_open(is_arm ? CS_ARCH_ARM64 : CS_ARCH_X86,
			     is_arm ? CS_MODE_LITTLE_ENDIAN : CS_MODE_64, &sink.handle))
		return false;
	capstone.cs_option(sink.handle, CS_OPT_DETAIL, CS_OPT_ON);
	insn = capstone.cs_malloc(sink.handle);
	while (insn && size && !sink.no_memory) {
		if (!capstone.cs_disasm_iter(sink.handle, &data, &size, &addr, insn)) {
			step_skip(&sink, &data, &size, &addr, is_arm ? 4 : 1);
			continue;
		}
		sink.addr = insn->address;
		sink.next = addr;
		if (is_arm)
			step_decode_arm(&sink, insn);
		else
			step_decode_x86(&sink, insn);
	}
	if (insn)
		capstone.cs_free(insn, 1);
	capstone.cs_close(&sink.handle);
	return insn && !sink.no_memory;
}

void code_steps_release(struct code_steps *steps)
{
	free(steps->list);
	*steps = (struct code_steps){ 0 };
}
