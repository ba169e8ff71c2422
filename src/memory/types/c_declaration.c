/* SPDX-License-Identifier: MIT */
/*
 * c_declaration.c - types and members in C and C++ syntax that can be compiled again.
 *
 * C declarations grow from the name outwards: pointers before it, arrays and parameters after
 * it, the name of the innermost type at the very front.  A `struct spell` holds both sides.
 */
#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "memory/types/type_model.h"

#define SIDE_MAX 2048u

struct spell {
	struct types *t;
	char before[SIDE_MAX], after[SIDE_MAX];
	unsigned depth;
	bool cut;
};

static void spell_type(struct spell *s, Dwarf_Die *die);

static void types_append(struct spell *s, const char *text)
{
	size_t used = strlen(s->after), more = strlen(text);

	if (used + more >= SIDE_MAX) {
		s->cut = true;
		return;
	}
	memcpy(s->after + used, text, more + 1);
}

static void types_prepend(struct spell *s, const char *text)
{
	size_t used = strlen(s->before), more = strlen(text);

	if (used + more >= SIDE_MAX) {
		s->cut = true;
		return;
	}
	memmove(s->before + more, s->before, used + 1);
	memcpy(s->before, text, more);
}

/* Put a word in front: "int" before "*x", "const" before "int". */
static void prepend_word(struct spell *s, const char *word)
{
	if (s->before[0])
		types_prepend(s, " ");
	types_prepend(s, word);
}

/* True if the type binds to the right of the name: a pointer to it needs parentheses. */
static bool binds_behind(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_array_type || tag == DW_TAG_subroutine_type;
}

static void spell_pointer(struct spell *s, Dwarf_Die *die, const char *sign)
{
	Dwarf_Die of;

	types_prepend(s, sign);
	if (!die_type(die, &of)) {
		prepend_word(s, "void");
		return;
	}
	if (binds_behind(&of)) {
		types_prepend(s, "(");
		types_append(s, ")");
	}
	spell_type(s, &of);
}

static void spell_array(struct spell *s, Dwarf_Die *die)
{
	Dwarf_Die child, next, of;
	char text[32];
	unsigned n = 0;
	int more = dwarf_child(die, &child);

	while (more == 0 && n++ < REFERENCES_MAX) {
		if (dwarf_tag(&child) == DW_TAG_subrange_type) {
			uint64_t count = die_dimension(&child);

			snprintf(text, sizeof(text), count ? "[%llu]" : "[]",
				 (unsigned long long)count);
			types_append(s, text);
		}
		more = dwarf_siblingof(&child, &next);
		child = next;
	}
	if (die_type(die, &of))
		spell_type(s, &of);
}

static void spell_parameters(struct spell *s, Dwarf_Die *die)
{
	Dwarf_Die child, next, of;
	unsigned nr = 0, n = 0;
	int more = dwarf_child(die, &child), tag;

	types_append(s, "(");
	while (more == 0 && n++ < REFERENCES_MAX) {
		tag = dwarf_tag(&child);
		if (tag == DW_TAG_formal_parameter || tag == DW_TAG_unspecified_parameters) {
			types_append(s, nr++ ? ", " : "");
			if (tag == DW_TAG_unspecified_parameters)
				types_append(s, "...");
			else if (die_type(&child, &of))
				types_append(s, types_spell(s->t, &of) ?: "?");
		}
		more = dwarf_siblingof(&child, &next);
		child = next;
	}
	types_append(s, nr || die_is_cxx(die) ? ")" : "void)");
}

static void spell_function(struct spell *s, Dwarf_Die *die)
{
	Dwarf_Die of;

	spell_parameters(s, die);
	if (die_type(die, &of))
		spell_type(s, &of);
	else
		prepend_word(s, "void");
}

static void spell_member_pointer(struct spell *s, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die in, of;
	char text[SIDE_MAX];

	if (dwarf_attr(die, DW_AT_containing_type, &attr) && dwarf_formref_die(&attr, &in)) {
		snprintf(text, sizeof(text), "%s::*", types_spell(s->t, &in) ?: "?");
		types_prepend(s, text);
	}
	if (!die_type(die, &of))
		return;
	if (binds_behind(&of)) {
		types_prepend(s, "(");
		types_append(s, ")");
	}
	spell_type(s, &of);
}

/* ---- named types ---------------------------------------------------------- */

static const char *word_of(int tag)
{
	switch (tag) {
	case DW_TAG_structure_type:
		return "struct";
	case DW_TAG_class_type:
		return "class";
	case DW_TAG_union_type:
		return "union";
	default:
		return "enum";
	}
}

/* "struct { int a; int b; }": the declaration of an unnamed type on one line. */
static void spell_body(struct spell *s, Dwarf_Die *die)
{
	char text[SIDE_MAX];
	Dwarf_Die child, next, of;
	size_t used = (size_t)snprintf(text, sizeof(text), "%s {", word_of(dwarf_tag(die)));
	int more = dwarf_child(die, &child);
	unsigned n = 0;

	while (more == 0 && n++ < TYPE_MEMBERS_MAX && used < sizeof(text) - 1) {
		const char *name = dwarf_diename(&child);
		int tag = dwarf_tag(&child), room = (int)(sizeof(text) - used), got = 0;
		Dwarf_Attribute attr;
		Dwarf_Word value = 0;

		if (tag == DW_TAG_enumerator &&
		    dwarf_formudata(dwarf_attr(&child, DW_AT_const_value, &attr), &value) == 0) {
			got = snprintf(text + used, (size_t)room, " %s = %lld,", name ? name : "?",
				       (long long)value);
		} else if (tag == DW_TAG_member && die_type(&child, &of)) {
			const char *declared = types_declare(s->t, &of, name ? name : "");

			got = snprintf(text + used, (size_t)room, " %s", declared ?: "?");
			if (got < room &&
			    dwarf_formudata(dwarf_attr(&child, DW_AT_bit_size, &attr), &value) == 0)
				got += snprintf(text + used + got, (size_t)(room - got), " : %llu",
						(unsigned long long)value);
			if (got < room)
				got += snprintf(text + used + got, (size_t)(room - got), ";");
		}
		if (got >= room) {
			s->cut = true;
			break;
		}
		used += (size_t)got;
		more = dwarf_siblingof(&child, &next);
		child = next;
	}
	used = used < sizeof(text) - 3 ? used : sizeof(text) - 3;
	memcpy(text + used, " }", 3);
	prepend_word(s, text);
}

static void spell_named(struct spell *s, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);
	int tag = dwarf_tag(die);
	bool is_tag = tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
		      tag == DW_TAG_union_type || tag == DW_TAG_enumeration_type;
	char text[SIDE_MAX];
	uint64_t scoped;

	if (u64map_get(&s->t->scoped, die_key(die), &scoped))
		name = strtab_text(&s->t->texts, scoped - 1);
	if (!name && is_tag) {
		spell_body(s, die);
		return;
	}
	if (is_tag && !die_is_cxx(die) && !u64map_get(&s->t->nameless, die_key(die), &scoped)) {
		snprintf(text, sizeof(text), "%s %s", word_of(tag), name);
		name = text;
	}
	prepend_word(s, name ? name : "?");
}

static void spell_qualified(struct spell *s, Dwarf_Die *die, const char *word)
{
	Dwarf_Die of, peeled;
	bool pointer;

	if (!die_type(die, &of)) {
		prepend_word(s, "void");
		prepend_word(s, word);
		return;
	}
	peeled = of;
	pointer = dwarf_tag(&peeled) == DW_TAG_pointer_type;
	/* A qualifier of a pointer goes after the star, any other before the name. */
	if (pointer) {
		prepend_word(s, word);
		types_prepend(s, " ");
		spell_type(s, &of);
	} else {
		spell_type(s, &of);
		prepend_word(s, word);
	}
}

static void spell_type(struct spell *s, Dwarf_Die *die)
{
	if (++s->depth > TYPE_DEPTH_MAX) {
		s->cut = true;
		return;
	}
	switch (dwarf_tag(die)) {
	case DW_TAG_pointer_type:
		spell_pointer(s, die, "*");
		break;
	case DW_TAG_reference_type:
		spell_pointer(s, die, "&");
		break;
	case DW_TAG_rvalue_reference_type:
		spell_pointer(s, die, "&&");
		break;
	case DW_TAG_ptr_to_member_type:
		spell_member_pointer(s, die);
		break;
	case DW_TAG_array_type:
		spell_array(s, die);
		break;
	case DW_TAG_subroutine_type:
		spell_function(s, die);
		break;
	case DW_TAG_const_type:
		spell_qualified(s, die, "const");
		break;
	case DW_TAG_volatile_type:
		spell_qualified(s, die, "volatile");
		break;
	case DW_TAG_restrict_type:
		spell_qualified(s, die, "restrict");
		break;
	case DW_TAG_atomic_type:
		spell_qualified(s, die, "_Atomic");
		break;
	default:
		spell_named(s, die);
		break;
	}
	s->depth--;
}

static const char *types_spelled(struct types *t, Dwarf_Die *die, const char *name)
{
	/*
	 * Limits nesting: a parameter that is a pointer to a function with such a parameter, and
	 * so on.
	 */
	static _Thread_local unsigned depth;
	char text[SIDE_MAX * 2];
	struct spell s;

	if (depth >= 8)
		return "...";
	depth++;
	s.t = t;
	s.depth = 0;
	s.cut = false;
	snprintf(s.before, sizeof(s.before), "%s", name);
	s.after[0] = '\0';
	spell_type(&s, die);
	snprintf(text, sizeof(text), "%s%s%s", s.before, s.after, s.cut ? " ..." : "");
	depth--;
	return types_keep(t, text);
}

const char *types_spell(struct types *t, Dwarf_Die *die)
{
	return types_spelled(t, die, "");
}

const char *types_declare(struct types *t, Dwarf_Die *die, const char *name)
{
	return types_spelled(t, die, name);
}
