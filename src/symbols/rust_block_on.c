/* SPDX-License-Identifier: MIT */
/* rust_block_on.c - find the future of block_on() on the stack of a thread. */
#include "symbols/rust_block_on.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <string.h>

#include "symbols/die_sibling.h"
#include "symbols/rust_dies.h"
#include "symbols/rust_walk.h"

#define VALUES_MAX 8
#define SCOPES_MAX 32
#define DIES_MAX   (1u << 22)

struct block_on_search {
	struct rust_layouts *layouts;
	const struct native_frame *frame;
	rust_reader read;
	void *arg;
	Dwarf_Addr pc;      /* in the file */
	Dwarf_Die function; /* with the frame base */
	Dwarf_Die future;
	uint64_t addr; /* 0: not found */
	bool has_type;
};

/* ---- locations ------------------------------------------------------------------------- */

/* x86_64: stack pointer, and the registers that calls preserve. */
static bool block_on_register(const struct native_frame *frame, unsigned number, uint64_t *value)
{
	static const unsigned char saved[] = { 3, 6, 12, 13, 14, 15 };
	unsigned i;

	*value = frame->sp;
	if (number == 7)
		return frame->sp != 0;
	for (i = 0; i < sizeof(saved) && frame->nr_saved == sizeof(saved); i++) {
		if (saved[i] == number) {
			*value = frame->saved[i];
			return true;
		}
	}
	return false;
}

static bool block_on_base(const struct block_on_search *s, uint64_t *value)
{
	Dwarf_Attribute attr;
	Dwarf_Die function = s->function;
	Dwarf_Op *ops;
	size_t nr;

	return dwarf_attr_integrate(&function, DW_AT_frame_base, &attr) &&
	       dwarf_getlocation_addr(&attr, s->pc, &ops, &nr, 1) == 1 && nr == 1 &&
	       ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31 &&
	       block_on_register(s->frame, ops[0].atom - DW_OP_reg0, value);
}

/* One operation on the value; false: one that is not known. */
static bool block_on_step(const struct block_on_search *s, const Dwarf_Op *op, uint64_t *value,
			  bool *is_value)
{
	if (op->atom == DW_OP_fbreg && block_on_base(s, value)) {
		*value += op->number;
		return true;
	}
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31 &&
	    block_on_register(s->frame, op->atom - DW_OP_breg0, value)) {
		*value += op->number;
		return true;
	}
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31 &&
	    block_on_register(s->frame, op->atom - DW_OP_reg0, value)) {
		*is_value = true;
		return true;
	}
	if (op->atom == DW_OP_plus_uconst) {
		*value += op->number;
		return true;
	}
	if (op->atom == DW_OP_deref)
		return s->read(s->arg, *value, value, 8);
	*is_value = op->atom == DW_OP_stack_value;
	return *is_value;
}

/* The address of a variable, or its value if it is a pointer that is not in memory. */
static bool block_on_locate(const struct block_on_search *s, Dwarf_Die *variable, uint64_t *out,
			    bool *is_value)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t nr, i;

	*is_value = false;
	*out = 0;
	if (!dwarf_attr(variable, DW_AT_location, &attr) ||
	    dwarf_getlocation_addr(&attr, s->pc, &ops, &nr, 1) != 1 || !nr || nr > VALUES_MAX)
		return false;
	for (i = 0; i < nr; i++) {
		if (*is_value || !block_on_step(s, &ops[i], out, is_value))
			return false;
	}
	return *out;
}

/* ---- variables ------------------------------------------------------------------------- */

/* Pin<&mut F>, &mut F or F, where F is the future of an async function. */
static bool block_on_is_future(struct rust_layouts *l, Dwarf_Die *type, Dwarf_Die *future,
			       bool *is_pointer)
{
	Dwarf_Die inner = *type, target;
	const char *name = dwarf_diename(type);
	uint32_t at;

	*is_pointer = false;
	if (name && !strncmp(name, "Pin<", 4) &&
	    (!rust_die_first_member(l, type, &inner, &at) || at != 0))
		return false;
	if (dwarf_tag(&inner) == DW_TAG_pointer_type) {
		if (!rust_die_target(l, &inner, &target))
			return false;
		*is_pointer = true;
		inner = target;
	}
	*future = inner;
	return rust_die_async(l, &inner);
}

/* A pinned reference is preferred: the variable that it refers to may have been moved. */
static void block_on_take(struct block_on_search *s, Dwarf_Die *variable)
{
	Dwarf_Die type, future;
	bool is_pointer, is_value;
	uint64_t at;

	if (!member_bare_type(variable, &type) ||
	    !block_on_is_future(s->layouts, &type, &future, &is_pointer))
		return;
	if (!s->has_type)
		s->future = future;
	s->has_type = true;
	if (!is_pointer || s->addr || !block_on_locate(s, variable, &at, &is_value))
		return;
	if (!is_value && !s->read(s->arg, at, &at, 8))
		return;
	s->addr = at;
	s->future = future;
}

static void block_on_variables(struct block_on_search *s, Dwarf_Die *scope)
{
	Dwarf_Die die;

	if (dwarf_child(scope, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter)
			block_on_take(s, &die);
	} while (die_next(&die));
}

/* ---- frames ------------------------------------------------------------------------------ */

static bool block_on_is_function(Dwarf_Die *scope)
{
	int tag = dwarf_tag(scope);
	const char *name = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine
				   ? dwarf_diename(scope)
				   : NULL;

	return name && !strncmp(name, "block_on<", 9);
}

static bool block_on_unit(struct Dwfl_Module *module, uint64_t pc, Dwarf_Die *out, uint64_t *bias)
{
	Dwarf_Die *unit = NULL;

	while ((unit = dwfl_module_nextcu(module, unit, bias))) {
		if (dwarf_srclang(unit) == DW_LANG_Rust && dwarf_haspc(unit, pc - *bias) == 1) {
			*out = *unit;
			return true;
		}
	}
	return false;
}

struct block_on_scopes {
	Dwarf_Die list[SCOPES_MAX]; /* innermost first */
	int nr;
	unsigned left; /* DIEs that may still be visited */
};

/*
 * The functions and blocks below @parent that contain @pc.  Not dwarf_getscopes(): the file sets
 * its depth of recursion, and it visits all types of the unit.
 */
static bool block_on_descend(struct block_on_scopes *scopes, Dwarf_Die *parent, Dwarf_Addr pc,
			     int depth)
{
	Dwarf_Die die;

	if (!depth || dwarf_child(parent, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);
		bool is_code = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
			       tag == DW_TAG_lexical_block;

		if (is_code ? dwarf_haspc(&die, pc) != 1
			    : tag != DW_TAG_namespace && tag != DW_TAG_structure_type)
			continue;
		if (!block_on_descend(scopes, &die, pc, depth - 1) && !is_code)
			continue;
		if (is_code && scopes->nr < SCOPES_MAX)
			scopes->list[scopes->nr++] = die;
		return true;
	} while (scopes->left && scopes->left-- && die_next(&die));
	return false;
}

/* Search block_on() among the functions at the frame's address, inlined ones as well. */
static bool block_on_search(struct block_on_search *s, Dwarf_Die *unit)
{
	struct block_on_scopes scopes = { .left = DIES_MAX };
	bool is_found = false;
	int i, k;

	block_on_descend(&scopes, unit, s->pc, SCOPES_MAX);
	for (i = 0; i < scopes.nr; i++) {
		if (dwarf_tag(&scopes.list[i]) == DW_TAG_subprogram)
			s->function = scopes.list[i];
	}
	for (i = 0; i < scopes.nr && !s->addr; i++) {
		if (!block_on_is_function(&scopes.list[i]))
			continue;
		is_found = true;
		block_on_variables(s, &scopes.list[i]);
		for (k = i - 1; k >= 0 && dwarf_tag(&scopes.list[k]) == DW_TAG_lexical_block; k--)
			block_on_variables(s, &scopes.list[k]);
	}
	return is_found;
}

enum rust_block_on rust_block_on_read(struct rust_futures *rf, struct Dwfl_Module *module,
				      const struct native_frame *frame, rust_reader read, void *arg,
				      struct rust_stack *out)
{
	struct block_on_search s = {
		.layouts = rust_futures_layouts(rf), .frame = frame, .read = read, .arg = arg
	};
	Dwarf_Die unit;
	uint64_t bias;

	*out = (struct rust_stack){ .wait.fd = -1 };
	if (!block_on_unit(module, frame->pc, &unit, &bias))
		return RUST_BLOCK_ON_NONE;
	s.pc = frame->pc - bias;
	if (!block_on_search(&s, &unit) || !s.has_type)
		return RUST_BLOCK_ON_NONE;
	if (s.addr && rust_futures_walk(rf, &s.future, s.addr, read, arg, out) && out->nr)
		return RUST_BLOCK_ON_FOUND;
	rust_stack_release(out);
	return rust_futures_name(rf, &s.future, out) ? RUST_BLOCK_ON_UNKNOWN : RUST_BLOCK_ON_NONE;
}
