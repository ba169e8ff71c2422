/* SPDX-License-Identifier: MIT */
/* variable_ranges.c - the places of a function's variables, from their locations in DWARF. */
#include "memory/types/variable_ranges.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "symbols/die_sibling.h"

#define RANGES_MAX     (1u << 18)
#define RANGES_ENTRIES (1u << 18) /* of one function */
#define RANGES_DEPTH   64
#define SCOPE_PARTS    32

/* The code of a block. */
struct scope_parts {
	struct types_span part[SCOPE_PARTS];
	size_t nr;
};

static void range_scope(Dwarf_Die *die, const struct scope_parts *outer, struct scope_parts *out)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t pos = 0;

	out->nr = 0;
	while (out->nr < SCOPE_PARTS && (pos = dwarf_ranges(die, pos, &base, &start, &end)) > 0)
		out->part[out->nr++] = (struct types_span){ start, end };
	if (!out->nr)
		*out = *outer;
}

static void range_add(struct variable_ranges *r, const struct variable_range *one)
{
	if (one->start >= one->end)
		return;
	if (r->nr == r->room) {
		size_t room = r->room ? r->room * 2 : 64;
		void *more = room <= RANGES_MAX ? realloc(r->list, room * sizeof(*r->list)) : NULL;

		if (!more) {
			r->no_memory = true;
			return;
		}
		r->list = more;
		r->room = room;
	}
	r->list[r->nr++] = *one;
}

static int range_register(const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		return op->atom - DW_OP_reg0;
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31)
		return op->atom - DW_OP_breg0;
	return -1;
}

static bool range_is_direct(const Dwarf_Op *op)
{
	return op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31;
}

/* False: another kind of location. */
static bool range_place(const Dwarf_Op *ops, size_t nr, struct variable_range *out)
{
	bool is_value = nr == 2 && ops[1].atom == DW_OP_stack_value;
	bool is_whole = nr == 1 || (nr == 2 && ops[1].atom == DW_OP_piece && ops[1].number == 8);

	if (!nr)
		return false;
	out->reg = range_register(&ops[0]);
	if (range_is_direct(&ops[0]) && (is_whole || is_value)) {
		out->place = VARIABLE_IN_REGISTER;
		out->offset = 0;
		return true;
	}
	if (out->reg >= 0 && is_value) {
		out->place = VARIABLE_IN_REGISTER;
		out->offset = -(int64_t)ops[0].number;
		return true;
	}
	if (nr != 1)
		return false;
	out->offset = (int64_t)ops[0].number;
	out->place = ops[0].atom == DW_OP_fbreg ? VARIABLE_AT_FRAME : VARIABLE_AT_REGISTER;
	return ops[0].atom == DW_OP_fbreg || out->reg >= 0;
}

/* What the variable is good for.  False: nothing. */
static bool range_type(struct pointees *p, Dwarf_Die *type, struct variable_range *out)
{
	Dwarf_Die peeled, whole;
	Dwarf_Word size = 8;

	if (out->place == VARIABLE_IN_REGISTER) {
		out->pointee = pointee_of_value(p, type);
		return out->pointee != 0;
	}
	if (!die_peel(type, &peeled) || !die_complete(p->types, &peeled, &whole))
		return false;
	if (dwarf_aggregate_size(&whole, &size) != 0)
		size = dwarf_tag(&whole) == DW_TAG_pointer_type ||
				       dwarf_tag(&whole) == DW_TAG_reference_type
			       ? 8
			       : 0;
	out->type = whole;
	out->size = size;
	return size > 0; /* also small ones: a call may change them */
}

static void range_variable(struct variable_ranges *r, struct pointees *p, Dwarf_Die *die,
			   const struct scope_parts *scope)
{
	Dwarf_Addr base, start, end;
	Dwarf_Attribute attr;
	Dwarf_Die type;
	Dwarf_Op *ops;
	ptrdiff_t pos = 0;
	size_t nr, i;

	if (!dwarf_attr(die, DW_AT_location, &attr) || !die_type(die, &type))
		return;
	while ((pos = dwarf_getlocations(&attr, pos, &base, &start, &end, &ops, &nr)) > 0) {
		struct variable_range one = { .start = start, .end = end };

		if (!range_place(ops, nr, &one) || !range_type(p, &type, &one))
			continue;
		if (start != 0 || end != (Dwarf_Addr)-1) {
			range_add(r, &one);
			continue;
		}
		for (i = 0; i < scope->nr; i++) {
			one.start = scope->part[i].start;
			one.end = scope->part[i].end;
			range_add(r, &one);
		}
	}
}

static void range_walk(struct variable_ranges *r, struct pointees *p, Dwarf_Die *parent,
		       const struct scope_parts *scope, unsigned depth)
{
	struct scope_parts inner;
	Dwarf_Die die;
	bool more;

	if (depth > RANGES_DEPTH)
		return;
	for (more = dwarf_child(parent, &die) == 0; more && !r->no_memory; more = die_next(&die)) {
		if (++r->nr_entries > RANGES_ENTRIES)
			return;
		switch (dwarf_tag(&die)) {
		case DW_TAG_variable:
		case DW_TAG_formal_parameter:
			range_variable(r, p, &die, scope);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_inlined_subroutine:
			range_scope(&die, scope, &inner);
			range_walk(r, p, &die, &inner, depth + 1);
			break;
		default:
			break;
		}
	}
}

static void range_frame_base(struct variable_ranges *r, Dwarf_Die *function)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t nr;

	if (!dwarf_attr_integrate(function, DW_AT_frame_base, &attr) ||
	    dwarf_getlocation(&attr, &ops, &nr) != 0 || nr != 1)
		return;
	if (ops[0].atom == DW_OP_call_frame_cfa) {
		r->frame = FRAME_BASE_CFA;
	} else if (range_is_direct(&ops[0])) {
		r->frame = FRAME_BASE_REGISTER;
		r->frame_register = range_register(&ops[0]);
	}
}

static int ranges_by_start(const void *a, const void *b)
{
	const struct variable_range *x = a, *y = b;
	bool in_x = x->place == VARIABLE_IN_REGISTER, in_y = y->place == VARIABLE_IN_REGISTER;

	if (in_x != in_y)
		return in_x ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

int variable_ranges_read(struct variable_ranges *r, struct pointees *p, Dwarf_Die *function)
{
	const struct scope_parts none = { .nr = 0 };
	struct scope_parts all;

	*r = (struct variable_ranges){ 0 };
	range_scope(function, &none, &all);
	range_frame_base(r, function);
	range_walk(r, p, function, &all, 0);
	if (r->no_memory)
		return -ENOMEM;
	if (r->nr)
		qsort(r->list, r->nr, sizeof(*r->list), ranges_by_start);
	while (r->nr_registers < r->nr && r->list[r->nr_registers].place == VARIABLE_IN_REGISTER)
		r->nr_registers++;
	return 0;
}

void variable_ranges_release(struct variable_ranges *r)
{
	free(r->list);
	*r = (struct variable_ranges){ 0 };
}
