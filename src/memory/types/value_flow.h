/* SPDX-License-Identifier: MIT */
/*
 * value_flow.h - follow pointers through the machine code of a function.
 *
 * Each register and stack slot has a value: a number, an address inside an object of a known type,
 * or an address inside the function's stack frame; each plus a constant, plus an unknown multiple
 * of another constant.  Values come from the variables of the function (variable_ranges.h), from
 * loads of pointers out of known objects, and from results of calls.  Where two paths meet, a value
 * stays known only if both agree.
 */
#ifndef MEMORY_TYPES_VALUE_FLOW_H
#define MEMORY_TYPES_VALUE_FLOW_H

#include "memory/types/code_step.h"
#include "memory/types/variable_ranges.h"

/* The object that an argument points into. */
struct flow_target {
	uint32_t pointee; /* 0: unknown */
	uint64_t offset;  /* in the object */
	bool is_indexed;  /* somewhere in an array inside the object */
};

struct flow_input {
	const struct code_steps *steps; /* sorted by address */
	const struct step_machine *machine;
	const struct variable_ranges *ranges;
	struct pointees *pointees;
	uint64_t entry;    /* address of the function's first instruction */
	bool has_handlers; /* calls may continue elsewhere, by an exception */
	void *arg;
	/* The pointee of what the function at @target returns; 0: unknown. */
	uint32_t (*result_of)(void *arg, uint64_t target);
	/* The type of the variable that contains @addr, which is *@offset bytes inside it. */
	bool (*variable_at)(void *arg, uint64_t addr, Dwarf_Die *type, uint64_t *offset);
	/* At @addr the stack frame ends *@offset bytes above register *@reg. */
	bool (*frame_at)(void *arg, uint64_t addr, int *reg, int64_t *offset);
	/* A call that returns to @addr, and what its first two arguments point to. */
	void (*each_call)(void *arg, uint64_t addr, uint64_t target,
			  const struct flow_target targets[2]);
};

/* 0; -E2BIG: the function is too large; -ENOMEM. */
int value_flow_run(const struct flow_input *in);

#endif
