/* SPDX-License-Identifier: MIT */
/* frame_location.c - evaluate locations of DWARF that start from a coroutine's frame. */
#include "symbols/frame_location.h"

#include <dwarf.h>
#include <string.h>

#define LOCATION_STACK_MAX 16
#define LOCATION_OPS_MAX   128

struct location_run {
	const struct frame_base *base;
	uint64_t frame;
	local_memory_reader read; /* NULL: only check whether it can be evaluated */
	void *arg;
	uint64_t stack[LOCATION_STACK_MAX];
	size_t nr;
	bool is_value;          /* DW_OP_stack_value: the top is the value, not its address */
	struct frame_value out; /* without buffers: only check */
	size_t done;            /* bytes of the pieces so far */
	bool any;               /* a byte is known */
};

/* ---- the frame's address ------------------------------------------------------------------ */

void frame_base_add_register(struct frame_base *base, unsigned reg)
{
	size_t i;

	for (i = 0; i < base->nr_registers; i++) {
		if (base->registers[i] == reg)
			return;
	}
	if (base->nr_registers < FRAME_REGISTERS_MAX)
		base->registers[base->nr_registers++] = reg;
}

static bool location_register(const Dwarf_Op *op, unsigned *reg, int64_t *offset)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*reg = op->atom - DW_OP_breg0;
		*offset = (int64_t)op->number;
		return true;
	}
	if (op->atom == DW_OP_bregx) {
		*reg = (unsigned)op->number;
		*offset = (int64_t)op->number2;
		return true;
	}
	return false;
}

static void frame_base_set_slot(struct frame_base *base, const Dwarf_Op *op)
{
	if (base->has_slot)
		return;
	base->is_fbreg = op->atom == DW_OP_fbreg;
	base->slot_offset = (int64_t)op->number;
	base->has_slot = base->is_fbreg ||
			 location_register(op, &base->slot_base, &base->slot_offset);
}

void frame_base_learn(struct frame_base *base, const Dwarf_Op *ops, size_t nr, uint32_t offset)
{
	bool is_slot;
	unsigned reg;
	int64_t at;

	if (!nr)
		return;
	if (nr == 1 && location_register(&ops[0], &reg, &at) && at == (int64_t)offset) {
		frame_base_add_register(base, reg);
		return;
	}
	/* clang 14 has the slot of the frame's address as the place of the frame. */
	is_slot = nr == 1 && !offset;
	if (nr == 2)
		is_slot = !offset && ops[1].atom == DW_OP_deref;
	if (nr == 3)
		is_slot = ops[1].atom == DW_OP_deref && ops[2].atom == DW_OP_plus_uconst &&
			  ops[2].number == offset;
	if (is_slot)
		frame_base_set_slot(base, &ops[0]);
}

static bool frame_base_has(const struct frame_base *base, unsigned reg)
{
	size_t i;

	for (i = 0; i < base->nr_registers; i++) {
		if (base->registers[i] == reg)
			return true;
	}
	return false;
}

static bool frame_base_is_slot(const struct frame_base *base, const Dwarf_Op *op)
{
	unsigned reg;
	int64_t offset;

	if (!base->has_slot)
		return false;
	if (base->is_fbreg)
		return op->atom == DW_OP_fbreg && (int64_t)op->number == base->slot_offset;
	return location_register(op, &reg, &offset) && reg == base->slot_base &&
	       offset == base->slot_offset;
}

/* ---- operations ------------------------------------------------------------------------------ */

static bool location_push(struct location_run *run, uint64_t value)
{
	if (run->nr == LOCATION_STACK_MAX)
		return false;
	run->stack[run->nr++] = value;
	return true;
}

static bool location_constant(struct location_run *run, const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return location_push(run, op->atom - DW_OP_lit0);
	return location_push(run, op->number);
}

static bool location_deref(struct location_run *run, size_t size)
{
	uint64_t value = 0;

	if (!run->nr || !size || size > 8 ||
	    (run->read && !run->read(run->arg, run->stack[run->nr - 1], &value, size)))
		return false;
	run->stack[run->nr - 1] = value;
	return true;
}

static bool location_binary(struct location_run *run, unsigned atom)
{
	uint64_t b, a;

	if (run->nr < 2)
		return false;
	b = run->stack[--run->nr];
	a = run->stack[run->nr - 1];
	switch (atom) {
	case DW_OP_plus:
		a += b;
		break;
	case DW_OP_minus:
		a -= b;
		break;
	case DW_OP_mul:
		a *= b;
		break;
	case DW_OP_and:
		a &= b;
		break;
	case DW_OP_or:
		a |= b;
		break;
	case DW_OP_xor:
		a ^= b;
		break;
	case DW_OP_shl:
		a = b < 64 ? a << b : 0;
		break;
	case DW_OP_shr:
		a = b < 64 ? a >> b : 0;
		break;
	default:
		return false;
	}
	run->stack[run->nr - 1] = a;
	return true;
}

static bool location_step(struct location_run *run, const Dwarf_Op *op)
{
	unsigned reg;
	int64_t offset;

	if (location_register(op, &reg, &offset))
		return frame_base_has(run->base, reg) &&
		       location_push(run, run->frame + (uint64_t)offset);
	switch (op->atom) {
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8u:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		return location_constant(run, op);
	case DW_OP_plus_uconst:
		if (!run->nr)
			return false;
		run->stack[run->nr - 1] += op->number;
		return true;
	case DW_OP_deref:
		return location_deref(run, 8);
	case DW_OP_deref_size:
		return location_deref(run, op->number);
	case DW_OP_stack_value:
		run->is_value = true;
		return run->nr > 0;
	case DW_OP_nop:
		return true;
	default:
		if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
			return location_constant(run, op);
		return location_binary(run, op->atom);
	}
}

/* ---- pieces ------------------------------------------------------------------------------------
 */

/* Copy @size bytes of what the stack says to the place after the earlier pieces. */
static bool location_take(struct location_run *run, size_t size)
{
	uint64_t top = run->nr ? run->stack[run->nr - 1] : 0;
	size_t room = run->out.size - run->done;

	if (size > room)
		size = room;
	if (run->nr && size) {
		run->any = true;
		if (run->read && !run->is_value &&
		    !run->read(run->arg, top, run->out.data + run->done, size))
			return false;
		if (run->is_value && size > 8)
			size = 8;
		if (run->out.data && run->is_value)
			memcpy(run->out.data + run->done, &top, size);
		if (run->out.valid)
			memset(run->out.valid + run->done, 1, size);
	}
	run->nr = 0;
	run->is_value = false;
	return true;
}

static bool location_run_ops(struct location_run *run, const Dwarf_Op *ops, size_t nr)
{
	bool has_pieces = false, is_lost = false;
	size_t i;

	for (i = 0; i < nr && i < LOCATION_OPS_MAX; i++) {
		const Dwarf_Op *op = &ops[i];

		if (op->atom == DW_OP_piece) {
			if (is_lost)
				run->nr = 0;
			if (!location_take(run, op->number))
				return false;
			run->done += op->number < run->out.size - run->done
					     ? op->number
					     : run->out.size - run->done;
			has_pieces = true;
			is_lost = false;
		} else if (frame_base_is_slot(run->base, op) && i + 1 < nr &&
			   ops[i + 1].atom == DW_OP_deref) {
			is_lost = is_lost || !location_push(run, run->frame);
			i++;
		} else if (!is_lost) {
			is_lost = !location_step(run, op);
		}
	}
	if (has_pieces)
		return run->any;
	return i == nr && !is_lost && nr && location_take(run, run->out.size) && run->any;
}

bool frame_location_usable(const struct frame_base *base, const Dwarf_Op *ops, size_t nr)
{
	struct location_run run = { .base = base, .out.size = SIZE_MAX / 2 };

	return location_run_ops(&run, ops, nr);
}

bool frame_location_read(const struct frame_base *base, const Dwarf_Op *ops, size_t nr,
			 uint64_t frame, local_memory_reader read, void *arg,
			 struct frame_value *out)
{
	struct location_run run = {
		.base = base,
		.frame = frame,
		.read = read,
		.arg = arg,
		.out = *out,
	};

	memset(out->valid, 0, out->size);
	return location_run_ops(&run, ops, nr);
}
