/* SPDX-License-Identifier: MIT */
/* rust_async_task.c - find the tasks of the crate async-task. */
#include "symbols/rust_async_task.h"

#include <dwarf.h>
#include <string.h>

#include "symbols/die_sibling.h"
#include "symbols/rust_dies.h"

#define SCOPES_MAX 32

/* Bits of a state, the same since async-task 4.0; the rest counts references. */
#define STATE_SCHEDULED 1u
#define STATE_RUNNING   2u
#define STATE_COMPLETED 4u
#define STATE_CLOSED    8u
#define STATE_TASK      16u
#define STATE_REFS(w)   ((w) >> 8)

/* The struct that a method is declared in. */
static bool async_task_owner(Dwarf_Die *declaration, Dwarf_Die *owner)
{
	Dwarf_Die scopes[SCOPES_MAX];

	if (die_scopes(declaration, scopes, SCOPES_MAX) < 2)
		return false;
	*owner = scopes[1];
	return true;
}

/* The member of @in that points to a struct: the struct, and the offset of the member. */
static bool async_task_pointer(struct rust_layouts *l, Dwarf_Die *in, const char *name,
			       Dwarf_Die *target, uint32_t *offset)
{
	Dwarf_Die pointer;

	return rust_die_member(l, in, name, &pointer, offset) &&
	       dwarf_tag(&pointer) == DW_TAG_pointer_type && rust_die_target(l, &pointer, target);
}

/* RawTask<F, T, S, M>: the header, its table, and the offsets. */
static bool async_task_layout(struct rust_layouts *l, Dwarf_Die *raw, struct rust_async_task *out)
{
	Dwarf_Die header, table, layout, type;
	uint32_t ignored, at = 0;

	if (!async_task_pointer(l, raw, "header", &header, &ignored) ||
	    !rust_die_member(l, &header, "state", &type, &out->type.state_offset) ||
	    !async_task_pointer(l, &header, "vtable", &table, &out->type.vtable_offset) ||
	    !rust_die_member(l, &table, "run", &type, &out->type.poll_offset) ||
	    !async_task_pointer(l, &table, "layout_info", &layout, &out->layout_offset) ||
	    !rust_die_inside(l, &layout, "TaskLayout", &type, &at))
		return false;
	layout = type;
	if (!rust_die_member(l, &layout, "offset_f", &type, &out->future_at))
		return false;
	out->future_at += at;
	out->offset_size = rust_die_size(&type);
	out->type.alignment = 8;
	return out->offset_size == 8;
}

bool rust_async_task_find(struct rust_layouts *l, Dwarf_Die *function, uint64_t bias,
			  struct rust_async_task *out)
{
	Dwarf_Attribute attr;
	Dwarf_Die declaration, raw;
	Dwarf_Addr low;
	const char *name, *linkage;

	if (!dwarf_hasattr(function, DW_AT_specification) || !(name = dwarf_diename(function)) ||
	    strncmp(name, "run<", 4) != 0 || dwarf_lowpc(function, &low) != 0 || !low)
		return false;
	linkage = dwarf_formstring(dwarf_attr_integrate(function, DW_AT_linkage_name, &attr));
	if (!linkage || !strstr(linkage, "10async_task3raw") ||
	    !dwarf_formref_die(dwarf_attr(function, DW_AT_specification, &attr), &declaration))
		return false;
	*out = (struct rust_async_task){ .type.poll = low + bias, .args = name + 3 };
	out->type.is_async_task = true;
	return async_task_owner(&declaration, &raw) && async_task_layout(l, &raw, out) &&
	       rust_die_parameter(l, &raw, &out->future);
}

bool rust_async_task_future(const struct rust_async_task *task, uint64_t addr, rust_reader read,
			    void *arg, uint64_t *future)
{
	uint64_t table, layout, offset;

	if (!read(arg, addr + task->type.vtable_offset, &table, 8) ||
	    !read(arg, table + task->layout_offset, &layout, 8) ||
	    !read(arg, layout + task->future_at, &offset, 8) || offset > RUST_SIZE_MAX)
		return false;
	*future = addr + offset;
	return true;
}

uint64_t rust_async_task_state(uint64_t word)
{
	uint64_t state = (STATE_REFS(word) + 1) << 6;

	if (word & STATE_RUNNING)
		state |= 1;
	if (word & (STATE_COMPLETED | STATE_CLOSED))
		state |= 2;
	if (word & STATE_SCHEDULED)
		state |= 4;
	if (word & STATE_TASK)
		state |= 8;
	return state;
}
