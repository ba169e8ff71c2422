/* SPDX-License-Identifier: MIT */
/* rust_dies.c - read the DWARF that rustc writes. */
#include "symbols/rust_dies.h"

#include <dwarf.h>
#include <string.h>

#define TYPE_STEPS_MAX 8

bool rust_die_member(struct rust_layouts *l, Dwarf_Die *in, const char *name, Dwarf_Die *type,
		     uint32_t *offset)
{
	const struct rust_layout *layout = rust_layout_find(l, in);
	size_t i;

	for (i = 0; i < layout->nr; i++) {
		const struct rust_member *m = &layout->members[i];

		if (m->name && !strcmp(m->name, name)) {
			*type = m->type;
			*offset = m->offset;
			return true;
		}
	}
	return false;
}

bool rust_die_first_member(struct rust_layouts *l, Dwarf_Die *in, Dwarf_Die *type, uint32_t *offset)
{
	const struct rust_layout *layout = rust_layout_find(l, in);
	size_t i;

	for (i = 0; i < layout->nr; i++) {
		Dwarf_Die found = layout->members[i].type;

		if (rust_die_size(&found)) {
			*type = found;
			*offset = layout->members[i].offset;
			return true;
		}
	}
	return false;
}

bool rust_die_target(struct rust_layouts *l, Dwarf_Die *pointer, Dwarf_Die *target)
{
	const struct rust_layout *layout = rust_layout_find(l, pointer);

	*target = layout->target;
	return layout->has_target;
}

uint32_t rust_die_size(Dwarf_Die *type)
{
	Dwarf_Word size = 0;

	if (dwarf_aggregate_size(type, &size) != 0 || size > RUST_SIZE_MAX)
		return dwarf_tag(type) == DW_TAG_pointer_type ? 8 : 0;
	return (uint32_t)size;
}

bool rust_die_parameter(struct rust_layouts *l, Dwarf_Die *in, Dwarf_Die *type)
{
	const struct rust_layout *layout = rust_layout_find(l, in);

	*type = layout->parameter;
	return layout->has_parameter;
}

static bool rust_search_inside(struct rust_layouts *l, Dwarf_Die *in, const char *name,
			       Dwarf_Die *type, uint32_t *offset, int depth)
{
	const char *found = dwarf_diename(in);
	const struct rust_layout *layout;
	size_t i;

	if (found && !strncmp(found, name, strlen(name))) {
		*type = *in;
		return true;
	}
	if (!depth || dwarf_tag(in) != DW_TAG_structure_type)
		return false;
	layout = rust_layout_find(l, in);
	for (i = 0; i < layout->nr; i++) {
		Dwarf_Die inner = layout->members[i].type;

		if (dwarf_tag(&inner) != DW_TAG_structure_type ||
		    !rust_search_inside(l, &inner, name, type, offset, depth - 1))
			continue;
		*offset += layout->members[i].offset;
		return *offset < RUST_SIZE_MAX;
	}
	return false;
}

bool rust_die_inside(struct rust_layouts *l, Dwarf_Die *in, const char *name, Dwarf_Die *type,
		     uint32_t *offset)
{
	return rust_search_inside(l, in, name, type, offset, TYPE_STEPS_MAX);
}

bool rust_die_scalar(struct rust_layouts *l, Dwarf_Die *in, uint32_t *offset, uint32_t *size)
{
	Dwarf_Die type = *in, inner;
	uint32_t at;
	int step;

	for (step = 0; step < TYPE_STEPS_MAX; step++) {
		if (dwarf_tag(&type) != DW_TAG_structure_type) {
			*size = rust_die_size(&type);
			return *size && *size <= 8;
		}
		if (!rust_die_first_member(l, &type, &inner, &at))
			return false;
		*offset += at;
		type = inner;
	}
	return false;
}

/* ---- variants ---------------------------------------------------------------- */

const struct rust_variant *rust_die_variant(const struct rust_layout *layout, uint64_t value)
{
	uint64_t mask = layout->selector_size == 8 ? ~0ull
						   : (1ull << (layout->selector_size * 8)) - 1;
	const struct rust_variant *other = NULL;
	size_t i;

	for (i = 0; i < layout->nr_variants; i++) {
		const struct rust_variant *v = &layout->variants[i];

		if (!v->has_value)
			other = v;
		else if ((v->value & mask) == (value & mask))
			return v;
	}
	return other;
}

bool rust_die_async(struct rust_layouts *l, Dwarf_Die *type)
{
	return dwarf_tag(type) == DW_TAG_structure_type && rust_layout_find(l, type)->is_async;
}

bool rust_layout_any(const struct rust_layout *layout, rust_type_test test, void *arg)
{
	Dwarf_Die type;
	size_t i;

	for (i = 0; i < layout->nr; i++) {
		type = layout->members[i].type;
		if (test(arg, &type))
			return true;
	}
	for (i = 0; i < layout->nr_variants; i++) {
		type = layout->variants[i].type;
		if (layout->variants[i].has_type && test(arg, &type))
			return true;
	}
	return false;
}
