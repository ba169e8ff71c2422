/* SPDX-License-Identifier: MIT */
/* rust_dies.c - read the DWARF that rustc writes. */
#include "symbols/rust_dies.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPE_STEPS_MAX 8
#define SCOPES_MAX     32

bool rust_die_type(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Attribute attr;
	int step;

	if (!dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attr), out))
		return false;
	for (step = 0; step < TYPE_STEPS_MAX; step++) {
		int tag = dwarf_tag(out);

		if (tag != DW_TAG_typedef && tag != DW_TAG_const_type &&
		    tag != DW_TAG_volatile_type)
			return true;
		if (!dwarf_formref_die(dwarf_attr(out, DW_AT_type, &attr), out))
			return false;
	}
	return false;
}

static bool rust_member_offset(Dwarf_Die *member, uint32_t *offset)
{
	Dwarf_Attribute attr;
	Dwarf_Word at = 0;

	if (dwarf_attr(member, DW_AT_data_member_location, &attr) &&
	    dwarf_formudata(&attr, &at) != 0)
		return false;
	*offset = (uint32_t)at;
	return at < RUST_SIZE_MAX;
}

bool rust_die_member(Dwarf_Die *in, const char *name, Dwarf_Die *type, uint32_t *offset)
{
	Dwarf_Die die;

	if (dwarf_child(in, &die) != 0)
		return false;
	do {
		const char *found = dwarf_tag(&die) == DW_TAG_member ? dwarf_diename(&die) : NULL;

		if (found && !strcmp(found, name))
			return rust_die_type(&die, type) && rust_member_offset(&die, offset);
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

bool rust_die_first_member(Dwarf_Die *in, Dwarf_Die *type, uint32_t *offset)
{
	Dwarf_Die die;

	if (dwarf_child(in, &die) != 0)
		return false;
	do {
		if (dwarf_tag(&die) == DW_TAG_member && rust_die_type(&die, type) &&
		    rust_die_size(type))
			return rust_member_offset(&die, offset);
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

uint32_t rust_die_size(Dwarf_Die *type)
{
	Dwarf_Word size = 0;

	if (dwarf_aggregate_size(type, &size) != 0 || size > RUST_SIZE_MAX)
		return dwarf_tag(type) == DW_TAG_pointer_type ? 8 : 0;
	return (uint32_t)size;
}

bool rust_die_parameter(Dwarf_Die *in, Dwarf_Die *type)
{
	Dwarf_Die die;

	if (dwarf_child(in, &die) != 0)
		return false;
	do {
		if (dwarf_tag(&die) == DW_TAG_template_type_parameter)
			return rust_die_type(&die, type);
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

static bool rust_search_inside(Dwarf_Die *in, const char *name, Dwarf_Die *type, uint32_t *offset,
			       int depth)
{
	const char *found = dwarf_diename(in);
	Dwarf_Die die, inner;
	uint32_t at;

	if (found && !strncmp(found, name, strlen(name))) {
		*type = *in;
		return true;
	}
	if (!depth || dwarf_tag(in) != DW_TAG_structure_type || dwarf_child(in, &die) != 0)
		return false;
	do {
		if (dwarf_tag(&die) != DW_TAG_member || !rust_die_type(&die, &inner) ||
		    dwarf_tag(&inner) != DW_TAG_structure_type || !rust_member_offset(&die, &at) ||
		    !rust_search_inside(&inner, name, type, offset, depth - 1))
			continue;
		*offset += at;
		return *offset < RUST_SIZE_MAX;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

bool rust_die_inside(Dwarf_Die *in, const char *name, Dwarf_Die *type, uint32_t *offset)
{
	return rust_search_inside(in, name, type, offset, TYPE_STEPS_MAX);
}

bool rust_die_scalar(Dwarf_Die *in, uint32_t *offset, uint32_t *size)
{
	Dwarf_Die type = *in, inner;
	uint32_t at;
	int step;

	for (step = 0; step < TYPE_STEPS_MAX; step++) {
		if (dwarf_tag(&type) != DW_TAG_structure_type) {
			*size = rust_die_size(&type);
			return *size && *size <= 8;
		}
		if (!rust_die_first_member(&type, &inner, &at))
			return false;
		*offset += at;
		type = inner;
	}
	return false;
}

/* ---- variants ---------------------------------------------------------------- */

bool rust_die_variants(Dwarf_Die *type, struct rust_variants *out)
{
	Dwarf_Attribute attr;
	Dwarf_Die selector, selector_type;

	if (dwarf_tag(type) != DW_TAG_structure_type || dwarf_child(type, &out->part) != 0)
		return false;
	while (dwarf_tag(&out->part) != DW_TAG_variant_part) {
		if (dwarf_siblingof(&out->part, &out->part) != 0)
			return false;
	}
	if (!dwarf_formref_die(dwarf_attr(&out->part, DW_AT_discr, &attr), &selector) ||
	    !rust_die_type(&selector, &selector_type) ||
	    !rust_member_offset(&selector, &out->offset))
		return false;
	out->selector = dwarf_diename(&selector);
	out->size = rust_die_size(&selector_type);
	return out->size && out->size <= 8;
}

bool rust_die_variant(const struct rust_variants *variants, uint64_t value, Dwarf_Die *member)
{
	Dwarf_Die part = variants->part, die, other;
	uint64_t mask = variants->size == 8 ? ~0ull : (1ull << (variants->size * 8)) - 1;
	bool has_other = false;

	if (dwarf_child(&part, &die) != 0)
		return false;
	do {
		Dwarf_Attribute attr;
		Dwarf_Word wanted;

		if (dwarf_tag(&die) != DW_TAG_variant)
			continue;
		if (!dwarf_attr(&die, DW_AT_discr_value, &attr)) {
			has_other = true;
			other = die;
		} else if (dwarf_formudata(&attr, &wanted) == 0 &&
			   (wanted & mask) == (value & mask)) {
			return dwarf_child(&die, member) == 0;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	return has_other && dwarf_child(&other, member) == 0;
}

bool rust_die_async(Dwarf_Die *type, struct rust_variants *out)
{
	return rust_die_variants(type, out) && out->selector && !strcmp(out->selector, "__state");
}

/* ---- names ------------------------------------------------------------------- */

bool rust_die_path(Dwarf_Die *type, char *out, size_t size)
{
	Dwarf_Die *scopes = NULL;
	int nr = dwarf_getscopes_die(type, &scopes), i;
	size_t len = 0;
	bool is_whole = nr > 0 && nr < SCOPES_MAX;

	for (i = nr - 1; is_whole && i >= 0; i--) {
		const char *name = dwarf_diename(&scopes[i]);
		int tag = dwarf_tag(&scopes[i]), put;

		if (tag == DW_TAG_compile_unit || tag == DW_TAG_partial_unit)
			continue;
		if (!name) {
			is_whole = false;
			break;
		}
		put = snprintf(out + len, size - len, "%s%.*s", len ? "::" : "",
			       (int)strcspn(name, "<"), name);
		is_whole = put > 0 && (size_t)put < size - len;
		len += is_whole ? (size_t)put : 0;
	}
	free(scopes);
	return is_whole && len;
}
