/* SPDX-License-Identifier: MIT */
/* flow_state.h - internal to value_flow.c: the values of registers and stack slots at one point. */
#ifndef MEMORY_TYPES_FLOW_STATE_H
#define MEMORY_TYPES_FLOW_STATE_H

#include "memory/types/value_flow.h"

#define FLOW_SLOTS 64

enum flow_base {
	FLOW_NUMBER,
	FLOW_OBJECT, /* an address in an object */
	FLOW_FRAME,  /* an address in the stack frame, from its end */
};

/* base + offset + an unknown multiple of `step`; a step of 0: exactly that. */
struct flow_value {
	enum flow_base base;
	uint32_t pointee;
	int64_t offset;
	uint64_t step;
};

struct flow_slot {
	int64_t offset; /* from the end of the frame */
	struct flow_value value;
};

struct flow_state {
	struct flow_value regs[STEP_REGISTERS];
	struct flow_slot slots[FLOW_SLOTS];
	uint32_t nr_slots;
};

void flow_state_init(struct flow_state *s);
void flow_state_set_frame(struct flow_state *s, int reg, int64_t offset);

/* Keep what @s and @other agree on.  True if @s changed. */
bool flow_state_meet(struct flow_state *s, const struct flow_state *other);

/* The variable of @range is in its register here. */
void flow_state_seed(const struct flow_input *in, struct flow_state *s,
		     const struct variable_range *range);

void flow_state_step(const struct flow_input *in, struct flow_state *s,
		     const struct code_step *step);

/* Report the call @step, before it is executed. */
void flow_state_report(const struct flow_input *in, const struct flow_state *s,
		       const struct code_step *step);

#endif
