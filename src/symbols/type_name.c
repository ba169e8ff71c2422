/* SPDX-License-Identifier: MIT */
/* type_name.c - types of DWARF: without qualifiers, and as source code has them. */
#include "symbols/type_name.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#define TYPE_STEPS_MAX      16
#define TYPE_NAME_DEPTH_MAX 8
#define TYPE_DIMENSIONS_MAX 8

/* The type that an attribute refers to; not a declaration of what a type unit defines. */
static bool type_referred(Dwarf_Attribute *attr, Dwarf_Die *out)
{
	Dwarf_Attribute signature;
	Dwarf_Die whole;

	if (!dwarf_formref_die(attr, out))
		return false;
	if (dwarf_formref_die(dwarf_attr(out, DW_AT_signature, &signature), &whole))
		*out = whole;
	return true;
}

bool type_of_die(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Attribute attr;

	return type_referred(dwarf_attr_integrate(die, DW_AT_type, &attr), out);
}

bool type_bare(Dwarf_Die *type, Dwarf_Die *out)
{
	int step;

	*out = *type;
	for (step = 0; step < TYPE_STEPS_MAX; step++) {
		int tag = dwarf_tag(out);

		if (tag != DW_TAG_const_type && tag != DW_TAG_volatile_type &&
		    tag != DW_TAG_typedef && tag != DW_TAG_atomic_type &&
		    tag != DW_TAG_restrict_type)
			return true;
		if (!type_of_die(out, out))
			return false;
	}
	return false;
}

bool type_bare_of(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Die type;

	return type_of_die(die, &type) && type_bare(&type, out);
}

uint32_t type_size(Dwarf_Die *type)
{
	Dwarf_Word size = 0;

	if (dwarf_aggregate_size(type, &size) != 0) {
		int tag = dwarf_tag(type);

		size = tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
				       tag == DW_TAG_rvalue_reference_type
			       ? 8
			       : 0;
	}
	return size <= TYPE_SIZE_MAX ? (uint32_t)size : 0;
}

static uint64_t type_dimension(Dwarf_Die *range)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr(range, DW_AT_count, &attr), &value) == 0)
		return value;
	if (dwarf_formudata(dwarf_attr(range, DW_AT_upper_bound, &attr), &value) == 0)
		return value + 1;
	return 0;
}

uint64_t type_array_count(Dwarf_Die *array)
{
	uint64_t count = 1;
	int dimensions = 0, left = TYPE_STEPS_MAX;
	Dwarf_Die die;

	if (dwarf_child(array, &die) != 0)
		return 0;
	do {
		uint64_t one;

		if (dwarf_tag(&die) != DW_TAG_subrange_type)
			continue;
		one = type_dimension(&die);
		if (one > TYPE_SIZE_MAX || count * one > TYPE_SIZE_MAX)
			return 0;
		count *= one;
		dimensions++;
	} while (--left && dimensions < TYPE_DIMENSIONS_MAX && dwarf_siblingof(&die, &die) == 0);
	return dimensions ? count : 0;
}

/* ---- names ----------------------------------------------------------------------- */

struct type_text {
	char *buf;
	size_t size, len;
};

static void type_text_add(struct type_text *t, const char *text)
{
	int put = snprintf(t->buf + t->len, t->size - t->len, "%s", text);

	if (put > 0)
		t->len = t->len + (size_t)put < t->size ? t->len + (size_t)put : t->size - 1;
}

static const char *type_text_suffix(int tag)
{
	switch (tag) {
	case DW_TAG_pointer_type:
		return " *";
	case DW_TAG_reference_type:
		return " &";
	case DW_TAG_rvalue_reference_type:
		return " &&";
	default:
		return "";
	}
}

/* In C, the qualifier of a pointer is behind it: "const char * const". */
static const char *type_text_qualifier(Dwarf_Die *type, bool is_behind)
{
	int tag = dwarf_tag(type);
	Dwarf_Die to;

	if ((tag != DW_TAG_const_type && tag != DW_TAG_volatile_type) ||
	    is_behind != (type_of_die(type, &to) && !dwarf_diename(&to) &&
			  *type_text_suffix(dwarf_tag(&to))))
		return "";
	if (is_behind)
		return tag == DW_TAG_const_type ? " const" : " volatile";
	return tag == DW_TAG_const_type ? "const " : "volatile ";
}

/* " Class::*", of a pointer to a member. */
static void type_text_class(struct type_text *t, Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	const char *name;
	Dwarf_Die class;

	if (dwarf_tag(type) != DW_TAG_ptr_to_member_type)
		return;
	name = type_referred(dwarf_attr(type, DW_AT_containing_type, &attr), &class)
		       ? dwarf_diename(&class)
		       : NULL;
	type_text_add(t, " ");
	type_text_add(t, name ? name : "");
	type_text_add(t, "::*");
}

static void type_text_type(struct type_text *t, Dwarf_Die *type, unsigned depth)
{
	const char *name = dwarf_diename(type);
	int tag = dwarf_tag(type);
	char count[32];
	Dwarf_Die to;

	/* Types that contain themselves end here. */
	if (depth > TYPE_NAME_DEPTH_MAX) {
		type_text_add(t, "...");
		return;
	}
	if (name) {
		type_text_add(t, name);
		return;
	}
	type_text_add(t, type_text_qualifier(type, false));
	if (tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
	    tag == DW_TAG_enumeration_type || tag == DW_TAG_subroutine_type) {
		type_text_add(t, tag == DW_TAG_subroutine_type    ? "function"
				 : tag == DW_TAG_union_type       ? "union"
				 : tag == DW_TAG_enumeration_type ? "enum"
								  : "struct");
		return;
	}
	if (type_of_die(type, &to))
		type_text_type(t, &to, depth + 1);
	else
		type_text_add(t, "void");
	if (tag == DW_TAG_array_type) {
		snprintf(count, sizeof(count), "[%llu]",
			 (unsigned long long)type_array_count(type));
		type_text_add(t, count);
	}
	type_text_add(t, type_text_suffix(tag));
	type_text_class(t, type);
	type_text_add(t, type_text_qualifier(type, true));
}

const char *type_name_text(Dwarf_Die *type, char *buf, size_t size)
{
	struct type_text t = { .buf = buf, .size = size };

	buf[0] = 0;
	type_text_type(&t, type, 0);
	return buf;
}
