/* SPDX-License-Identifier: MIT */
/* flow_state.c - what one step does to the values of registers and stack slots. */
#include "memory/types/flow_state.h"

#include <stdlib.h>
#include <string.h>

#define FLOW_OFFSET_MAX (INT64_C(1) << 46)
#define FLOW_ESCAPE     256 /* bytes of an unknown variable whose address is passed to a call */

static const struct flow_value flow_unknown = { .base = FLOW_NUMBER, .step = 1 };

static uint64_t flow_gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static uint64_t flow_distance(int64_t a, int64_t b)
{
	return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

static bool flow_is_unknown(const struct flow_value *v)
{
	return v->base == FLOW_NUMBER && v->step == 1 && !v->offset;
}

static bool flow_same(const struct flow_value *a, const struct flow_value *b)
{
	return a->base == b->base && a->pointee == b->pointee && a->offset == b->offset &&
	       a->step == b->step;
}

/* ---- arithmetic ------------------------------------------------------------ */

static struct flow_value flow_checked(struct flow_value v)
{
	if (v.offset > FLOW_OFFSET_MAX || v.offset < -FLOW_OFFSET_MAX ||
	    v.step > (uint64_t)FLOW_OFFSET_MAX)
		return flow_unknown;
	return v;
}

static struct flow_value flow_scale(const struct flow_value *v, int64_t by)
{
	struct flow_value out = *v;

	if (by == 1)
		return out;
	if (v->base != FLOW_NUMBER || by > (1 << 30) || by < -(1 << 30) || v->offset > (1 << 30) ||
	    v->offset < -(1 << 30) || v->step > 1 << 15)
		return flow_unknown;
	out.offset *= by;
	out.step *= (uint64_t)(by < 0 ? -by : by);
	return flow_checked(out);
}

static struct flow_value flow_add(const struct flow_value *a, const struct flow_value *b)
{
	struct flow_value out = a->base == FLOW_NUMBER ? *b : *a;

	if (a->base != FLOW_NUMBER && b->base != FLOW_NUMBER)
		return flow_unknown;
	out.offset = a->offset + b->offset;
	out.step = flow_gcd(a->step, b->step);
	return flow_checked(out);
}

static struct flow_value flow_compute(const struct flow_state *s, const struct code_step *step)
{
	struct flow_value out = { .base = FLOW_NUMBER, .offset = step->disp }, part;

	if (step->base >= 0)
		out = flow_add(&out, &s->regs[step->base]);
	if (step->index >= 0) {
		part = flow_scale(&s->regs[step->index], step->scale);
		out = flow_add(&out, &part);
	}
	return out;
}

/* Two paths meet. */
static struct flow_value flow_meet(const struct flow_value *a, const struct flow_value *b)
{
	static const struct flow_value null = { .base = FLOW_NUMBER };
	struct flow_value out = *a;

	if (flow_same(a, b))
		return *a;
	/* A null pointer is not dereferenced. */
	if (flow_same(a, &null) && b->base == FLOW_OBJECT)
		return *b;
	if (flow_same(b, &null) && a->base == FLOW_OBJECT)
		return *a;
	if (a->base != b->base || a->pointee != b->pointee || a->base == FLOW_FRAME)
		return flow_unknown;
	out.step = flow_gcd(flow_gcd(a->step, b->step), flow_distance(a->offset, b->offset));
	return flow_checked(out);
}

/* ---- slots ----------------------------------------------------------------- */

static struct flow_slot *flow_slot_at(struct flow_state *s, int64_t offset)
{
	uint32_t i;

	for (i = 0; i < s->nr_slots; i++) {
		if (s->slots[i].offset == offset)
			return &s->slots[i];
	}
	return NULL;
}

/* Forget the slots that overlap @size bytes at @offset. */
static void flow_slots_forget(struct flow_state *s, int64_t offset, int64_t size)
{
	uint32_t i = 0;

	while (i < s->nr_slots) {
		if (s->slots[i].offset < offset + size && s->slots[i].offset + 8 > offset)
			s->slots[i] = s->slots[--s->nr_slots];
		else
			i++;
	}
}

static void flow_slot_set(struct flow_state *s, int64_t offset, const struct flow_value *v)
{
	flow_slots_forget(s, offset, 8);
	if (!flow_is_unknown(v) && s->nr_slots < FLOW_SLOTS)
		s->slots[s->nr_slots++] = (struct flow_slot){ offset, *v };
}

/* The address of a variable in memory, from the end of the frame. */
static bool flow_variable_place(const struct flow_input *in, const struct flow_state *s,
				const struct variable_range *r, int64_t *at)
{
	int reg = r->place == VARIABLE_AT_REGISTER ? r->reg : in->ranges->frame_register;
	const struct flow_value *v;

	*at = r->offset;
	if (r->place == VARIABLE_AT_FRAME && in->ranges->frame == FRAME_BASE_CFA)
		return true;
	if (r->place == VARIABLE_AT_FRAME && in->ranges->frame != FRAME_BASE_REGISTER)
		return false;
	if (reg < 0 || reg >= STEP_REGISTERS)
		return false;
	v = &s->regs[reg];
	*at += v->offset;
	return v->base == FLOW_FRAME && !v->step;
}

/* The variable that is in the stack frame at @offset, for the code at @addr. */
static const struct variable_range *flow_variable_at(const struct flow_input *in,
						     const struct flow_state *s, uint64_t addr,
						     int64_t offset, int64_t *start)
{
	const struct variable_ranges *r = in->ranges;
	size_t i;

	for (i = r->nr_registers; i < r->nr; i++) {
		const struct variable_range *v = &r->list[i];

		if (v->start > addr)
			break;
		if (addr < v->end && flow_variable_place(in, s, v, start) && *start <= offset &&
		    (uint64_t)(offset - *start) < v->size)
			return v;
	}
	return NULL;
}

/* ---- objects --------------------------------------------------------------- */

/* The offset in the object; false if it is not certain. */
static bool flow_resolve(const struct flow_input *in, const struct flow_value *v, uint64_t *offset)
{
	const struct pointee *of = pointee_get(in->pointees, v->pointee);
	int64_t size;

	if (v->base != FLOW_OBJECT || !of)
		return false;
	size = (int64_t)of->size;
	*offset = (uint64_t)v->offset;
	if (v->offset < 0 || (v->offset >= size && !of->is_open))
		return false; /* perhaps other data after the object */
	if (!v->step)
		return v->offset < size;
	if (v->step % of->size == 0 && !of->is_open)
		return true;
	return of->is_record && pointee_has_array(in->pointees, v->pointee, *offset, v->step);
}

static struct flow_value flow_object(uint32_t pointee)
{
	const struct flow_value v = { .base = FLOW_OBJECT, .pointee = pointee };

	return pointee ? v : flow_unknown;
}

/*
 * A value that was followed, where a variable's type is known as well: the object that contains
 * what the variable points to tells more.
 */
static bool flow_tells_more(const struct flow_input *in, const struct flow_value *v,
			    uint32_t pointee)
{
	uint64_t offset;

	return v->base == FLOW_OBJECT && v->pointee != pointee && flow_resolve(in, v, &offset) &&
	       pointee_contains(in->pointees, v->pointee, offset, pointee);
}

/* Load from the stack frame. */
static struct flow_value flow_load_frame(const struct flow_input *in, struct flow_state *s,
					 uint64_t addr, int64_t offset)
{
	const struct flow_slot *slot = flow_slot_at(s, offset);
	const struct variable_range *variable;
	uint32_t found = 0;
	Dwarf_Die type;
	int64_t start;

	variable = flow_variable_at(in, s, addr, offset, &start);
	if (variable) {
		type = variable->type;
		found = pointee_inside(in->pointees, &type, (uint64_t)(offset - start));
	}
	if (slot && (!found || flow_tells_more(in, &slot->value, found)))
		return slot->value;
	return flow_object(found);
}

static struct flow_value flow_load(const struct flow_input *in, struct flow_state *s,
				   const struct code_step *step)
{
	struct flow_value at = flow_compute(s, step);
	uint64_t offset;
	Dwarf_Die type;
	uint32_t found = 0;

	if (step->width != 8)
		return flow_unknown;
	if (at.base == FLOW_OBJECT)
		return flow_resolve(in, &at, &offset)
			       ? flow_object(pointee_load(in->pointees, at.pointee, offset))
			       : flow_unknown;
	if (at.base == FLOW_NUMBER) {
		if (at.offset > 0 && in->variable_at(in->arg, (uint64_t)at.offset, &type, &offset))
			found = pointee_inside(in->pointees, &type, offset);
		return flow_object(found);
	}
	return at.step ? flow_unknown : flow_load_frame(in, s, step->addr, at.offset);
}

static void flow_store(struct flow_state *s, const struct code_step *step)
{
	struct flow_value at = flow_compute(s, step);

	if (at.base != FLOW_FRAME || at.step)
		return;
	if (step->width == 8)
		flow_slot_set(s, at.offset, step->src >= 0 ? &s->regs[step->src] : &flow_unknown);
	else
		flow_slots_forget(s, at.offset, step->width ? step->width : 64);
}

static void flow_bump(struct flow_state *s, const struct code_step *step)
{
	const struct flow_value by = { .base = FLOW_NUMBER, .offset = step->amount };
	struct flow_value at = flow_compute(s, step), sum;
	struct flow_slot *slot;

	if (at.base != FLOW_FRAME || at.step)
		return;
	slot = flow_slot_at(s, at.offset);
	if (!slot)
		return;
	sum = flow_add(&slot->value, &by);
	flow_slot_set(s, at.offset, &sum);
}

/* A call may change variables whose address it gets. */
static void flow_escape(const struct flow_input *in, struct flow_state *s,
			const struct code_step *step)
{
	const struct variable_range *variable;
	int64_t start;
	size_t i;

	for (i = 0; i < sizeof(in->machine->arguments); i++) {
		const struct flow_value v = s->regs[(int)in->machine->arguments[i]];

		if (v.base != FLOW_FRAME)
			continue;
		variable = flow_variable_at(in, s, step->addr, v.offset, &start);
		if (variable)
			flow_slots_forget(s, start, (int64_t)variable->size);
		else
			flow_slots_forget(s, v.offset, FLOW_ESCAPE);
	}
}

static void flow_call(const struct flow_input *in, struct flow_state *s,
		      const struct code_step *step)
{
	int i;

	flow_escape(in, s, step);
	for (i = 0; i < STEP_REGISTERS; i++) {
		if (in->machine->clobbered >> i & 1)
			s->regs[i] = flow_unknown;
	}
	if (step->target)
		s->regs[(int)in->machine->result] = flow_object(
			in->result_of(in->arg, step->target));
}

/* ---- the interface ----------------------------------------------------------- */

void flow_state_init(struct flow_state *s)
{
	int i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < STEP_REGISTERS; i++)
		s->regs[i] = flow_unknown;
}

void flow_state_set_frame(struct flow_state *s, int reg, int64_t offset)
{
	s->regs[reg] = (struct flow_value){ .base = FLOW_FRAME, .offset = offset };
}

bool flow_state_meet(struct flow_state *s, const struct flow_state *other)
{
	bool changed = false;
	uint32_t i = 0, k;

	for (k = 0; k < STEP_REGISTERS; k++) {
		struct flow_value v = flow_meet(&s->regs[k], &other->regs[k]);

		changed = changed || !flow_same(&v, &s->regs[k]);
		s->regs[k] = v;
	}
	while (i < s->nr_slots) {
		const struct flow_slot *met = flow_slot_at((struct flow_state *)other,
							   s->slots[i].offset);
		struct flow_value v = met ? flow_meet(&s->slots[i].value, &met->value)
					  : flow_unknown;

		changed = changed || !flow_same(&v, &s->slots[i].value);
		s->slots[i].value = v;
		if (flow_is_unknown(&v))
			s->slots[i] = s->slots[--s->nr_slots];
		else
			i++;
	}
	return changed;
}

void flow_state_seed(const struct flow_input *in, struct flow_state *s,
		     const struct variable_range *range)
{
	struct flow_value *v = &s->regs[range->reg];

	if (v->base == FLOW_FRAME)
		return;
	if (v->base == FLOW_OBJECT && (range->offset || flow_tells_more(in, v, range->pointee)))
		return;
	*v = flow_object(range->pointee);
	v->offset = range->offset;
}

void flow_state_step(const struct flow_input *in, struct flow_state *s,
		     const struct code_step *step)
{
	struct flow_value v;
	int i;

	switch (step->kind) {
	case STEP_SET:
		v = flow_compute(s, step);
		s->regs[step->dst] = step->width == 4 && v.base != FLOW_NUMBER ? flow_unknown : v;
		break;
	case STEP_LOAD:
		s->regs[step->dst] = flow_load(in, s, step);
		break;
	case STEP_STORE:
		flow_store(s, step);
		break;
	case STEP_BUMP:
		flow_bump(s, step);
		break;
	case STEP_SELECT:
		s->regs[step->dst] = flow_meet(&s->regs[step->dst], &s->regs[step->src]);
		break;
	case STEP_CALL:
		flow_call(in, s, step);
		break;
	case STEP_OTHER:
		for (i = 0; i < STEP_REGISTERS; i++) {
			if (step->written >> i & 1)
				s->regs[i] = flow_unknown;
		}
		break;
	default:
		break;
	}
}

void flow_state_report(const struct flow_input *in, const struct flow_state *s,
		       const struct code_step *step)
{
	struct flow_target targets[2] = { { 0 }, { 0 } };
	int i;

	for (i = 0; i < 2; i++) {
		const struct flow_value *v = &s->regs[(int)in->machine->arguments[i]];

		if (flow_resolve(in, v, &targets[i].offset)) {
			targets[i].pointee = v->pointee;
			targets[i].is_indexed = v->step %
						pointee_get(in->pointees, v->pointee)->size;
		}
	}
	in->each_call(in->arg, step->next, step->target, targets);
}
