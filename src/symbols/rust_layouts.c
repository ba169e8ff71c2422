/* SPDX-License-Identifier: MIT */
/* rust_layouts.c - read the children of a type into arrays, and keep them. */
#include "symbols/rust_layouts.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/die_sibling.h"
#include "symbols/member_path.h"
#include "symbols/rust_dies.h"

#define CHILDREN_MAX 65536 /* of one type */

/* Room for one element more in an array with @nr of them, doubled at powers of two. */
static bool layout_reserve(void **array, size_t nr, size_t size)
{
	void *more;

	if (nr & (nr - 1))
		return true;
	more = reallocarray(*array, nr ? nr * 2 : 1, size);
	if (more)
		*array = more;
	return more;
}

static void layout_add_member(struct rust_layout *layout, Dwarf_Die *die)
{
	struct rust_member found = { .name = dwarf_diename(die) };

	if (!member_bare_type(die, &found.type) || !member_start(die, &found.offset) ||
	    !layout_reserve((void **)&layout->members, layout->nr, sizeof(found)))
		return;
	dwarf_tag(&found.type); /* copies of the DIE then know it */
	layout->members[layout->nr++] = found;
}

static void layout_add_variant(struct rust_layout *layout, Dwarf_Die *die)
{
	struct rust_variant found = { 0 };
	Dwarf_Attribute attr;
	Dwarf_Word value = 0;

	if (dwarf_attr(die, DW_AT_discr_value, &attr)) {
		if (dwarf_formudata(&attr, &value) != 0)
			return;
		found.has_value = true;
		found.value = value;
	}
	if (dwarf_child(die, &found.member) != 0 ||
	    !layout_reserve((void **)&layout->variants, layout->nr_variants, sizeof(found)))
		return;
	found.name = dwarf_diename(&found.member);
	found.has_type = member_bare_type(&found.member, &found.type);
	layout->variants[layout->nr_variants++] = found;
}

/* The first DW_TAG_variant_part of the type. */
static void layout_add_variants(struct rust_layout *layout, Dwarf_Die *part)
{
	Dwarf_Die selector, type, die;
	Dwarf_Attribute attr;
	const char *name;
	unsigned left = CHILDREN_MAX;

	if (!dwarf_formref_die(dwarf_attr(part, DW_AT_discr, &attr), &selector) ||
	    !member_bare_type(&selector, &type) ||
	    !member_start(&selector, &layout->selector_offset))
		return;
	layout->selector_size = rust_die_size(&type);
	if (!layout->selector_size || layout->selector_size > 8)
		return;
	name = dwarf_diename(&selector);
	layout->has_variants = true;
	layout->is_async = name && !strcmp(name, "__state");
	if (dwarf_child(part, &die) != 0)
		return;
	do {
		if (dwarf_tag(&die) == DW_TAG_variant)
			layout_add_variant(layout, &die);
	} while (--left && die_next(&die));
}

static void layout_read(struct rust_layout *layout, Dwarf_Die *type)
{
	int tag = dwarf_tag(type);
	unsigned left = CHILDREN_MAX;
	bool has_part = false;
	Dwarf_Die die;

	if (tag == DW_TAG_pointer_type)
		layout->has_target = member_bare_type(type, &layout->target);
	if (dwarf_child(type, &die) != 0)
		return;
	do {
		int child = dwarf_tag(&die);

		if (child == DW_TAG_member) {
			layout_add_member(layout, &die);
		} else if (child == DW_TAG_variant_part && !has_part &&
			   tag == DW_TAG_structure_type) {
			has_part = true;
			layout_add_variants(layout, &die);
		} else if (child == DW_TAG_template_type_parameter && !layout->has_parameter) {
			layout->has_parameter = member_bare_type(&die, &layout->parameter);
		}
	} while (--left && die_next(&die));
}

const struct rust_layout *rust_layout_find(struct rust_layouts *l, Dwarf_Die *type)
{
	uint64_t *slot = u64map_at(&l->by_die, (uint64_t)(uintptr_t)type->addr);
	struct rust_layout *made;

	if (!slot)
		return &l->none;
	if (*slot)
		return l->list[*slot - 1];
	if (!layout_reserve((void **)&l->list, l->nr, sizeof(struct rust_layout *)))
		return &l->none;
	made = calloc(1, sizeof(*made));
	if (!made)
		return &l->none;
	l->list[l->nr++] = made;
	*slot = l->nr;
	layout_read(made, type);
	return made;
}

void rust_layouts_release(struct rust_layouts *l)
{
	size_t i;

	for (i = 0; i < l->nr; i++) {
		free(l->list[i]->members);
		free(l->list[i]->variants);
		free(l->list[i]);
	}
	free(l->list);
	u64map_release(&l->by_die);
	*l = (struct rust_layouts){ 0 };
}
