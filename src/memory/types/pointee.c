/* SPDX-License-Identifier: MIT */
/* pointee.c - types that pointers point to, read from DWARF on demand. */
#include "memory/types/pointee.h"

#include <dwarf.h>
#include <stdlib.h>

#include "symbols/die_sibling.h"

#define POINTEE_DEPTH   16
#define POINTEE_MEMBERS 4096
#define POINTEES_MAX    (1u << 20)

static bool pointee_is_record(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static bool pointee_is_pointer(int tag)
{
	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	       tag == DW_TAG_rvalue_reference_type;
}

static bool pointee_resolve(struct types *t, Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Die peeled;

	return die_peel(die, &peeled) && die_complete(t, &peeled, out);
}

static uint64_t pointee_size(Dwarf_Die *die)
{
	Dwarf_Word size = 0;

	if (pointee_is_pointer(dwarf_tag(die)))
		return 8;
	return dwarf_aggregate_size(die, &size) == 0 && size < (UINT64_C(1) << 40) ? size : 0;
}

/* Bytes say nothing about what is in memory. */
static bool pointee_is_telling(Dwarf_Die *die, uint64_t size)
{
	int tag = dwarf_tag(die);

	if (pointee_is_record(tag))
		return size > 0;
	return (tag == DW_TAG_base_type || tag == DW_TAG_enumeration_type ||
		pointee_is_pointer(tag)) &&
	       size > 1;
}

/* ---- members --------------------------------------------------------------- */

static bool pointee_member_offset(Dwarf_Die *die, uint64_t *out)
{
	Dwarf_Attribute attr;
	Dwarf_Word value = 0;

	*out = 0;
	if (!dwarf_attr(die, DW_AT_data_member_location, &attr))
		return !dwarf_hasattr(die, DW_AT_data_bit_offset) &&
		       !dwarf_hasattr(die, DW_AT_external) &&
		       !dwarf_hasattr(die, DW_AT_declaration);
	if (dwarf_hasattr(die, DW_AT_bit_size) || dwarf_formudata(&attr, &value) != 0)
		return false;
	*out = value;
	return true;
}

/* Called for each member that contains @offset; returns true to stop. */
typedef bool (*pointee_visit)(void *arg, Dwarf_Die *type, uint64_t offset);

static bool pointee_each(struct pointees *p, Dwarf_Die *record, uint64_t offset,
			 pointee_visit visit, void *arg)
{
	Dwarf_Die child, type, whole;
	unsigned n = 0;
	bool more;

	for (more = dwarf_child(record, &child) == 0; more && n < POINTEE_MEMBERS;
	     more = die_next(&child), n++) {
		int tag = dwarf_tag(&child);
		uint64_t at;

		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    !pointee_member_offset(&child, &at) || at > offset ||
		    !die_type(&child, &type) || !pointee_resolve(p->types, &type, &whole))
			continue;
		if (offset - at >= pointee_size(&whole) &&
		    (dwarf_tag(&whole) != DW_TAG_array_type || die_array_count(&whole)))
			continue;
		if (visit(arg, &whole, offset - at))
			return true;
	}
	return false;
}

/* The element type of an array, through all dimensions; *@offset becomes the one inside. */
static bool pointee_element(struct pointees *p, Dwarf_Die *array, uint64_t *offset, Dwarf_Die *out)
{
	Dwarf_Die type;
	uint64_t size;

	if (!die_type(array, &type) || !pointee_resolve(p->types, &type, out))
		return false;
	size = pointee_size(out);
	if (!size)
		return false;
	*offset %= size;
	return true;
}

/* ---- pointers inside ----------------------------------------------------------- */

struct pointee_search {
	struct pointees *p;
	unsigned depth;
	bool found, differs;
	uint32_t pointee;
};

static bool pointee_search_at(void *arg, Dwarf_Die *type, uint64_t offset)
{
	struct pointee_search *s = arg;
	Dwarf_Die target, whole, element;
	uint32_t number = 0;

	if (s->depth >= POINTEE_DEPTH)
		return true;
	if (pointee_is_record(dwarf_tag(type))) {
		s->depth++;
		pointee_each(s->p, type, offset, pointee_search_at, s);
		s->depth--;
		return false;
	}
	if (dwarf_tag(type) == DW_TAG_array_type) {
		s->depth++;
		if (pointee_element(s->p, type, &offset, &element))
			pointee_search_at(s, &element, offset);
		s->depth--;
		return false;
	}
	if (!pointee_is_pointer(dwarf_tag(type)) || offset)
		return false;
	if (die_type(type, &target) && pointee_resolve(s->p->types, &target, &whole))
		number = pointee_of_object(s->p, &whole);
	/* Members of a union may differ: then it is not certain which one is meant. */
	if (s->found && number != s->pointee)
		s->differs = true;
	s->found = true;
	s->pointee = number;
	return false;
}

uint32_t pointee_inside(struct pointees *p, Dwarf_Die *type, uint64_t offset)
{
	struct pointee_search s = { .p = p };
	Dwarf_Die whole;

	if (!pointee_resolve(p->types, type, &whole))
		return 0;
	pointee_search_at(&s, &whole, offset);
	return s.found && !s.differs ? s.pointee : 0;
}

uint32_t pointee_of_value(struct pointees *p, Dwarf_Die *type)
{
	Dwarf_Die whole;

	if (!pointee_resolve(p->types, type, &whole) || pointee_size(&whole) > 8)
		return 0;
	return pointee_inside(p, &whole, 0);
}

uint32_t pointee_load(struct pointees *p, uint32_t number, uint64_t offset)
{
	const struct pointee *of = pointee_get(p, number);
	uint64_t key, known;
	Dwarf_Die die;
	uint32_t found;

	if (!of || offset >= UINT32_MAX)
		return 0;
	key = (uint64_t)number << 32 | offset;
	if (u64map_get(&p->values, key, &known))
		return (uint32_t)known - 1;
	die = of->die;
	found = pointee_inside(p, &die, offset);
	if (u64map_put(&p->values, key, (uint64_t)found + 1) < 0)
		p->no_memory = true;
	return found;
}

/* ---- arrays and records inside --------------------------------------------------- */

struct pointee_array {
	struct pointees *p;
	uint64_t step;
	unsigned depth;
	bool found;
};

static bool pointee_array_at(void *arg, Dwarf_Die *type, uint64_t offset)
{
	struct pointee_array *a = arg;
	Dwarf_Die element;
	uint64_t size;

	if (a->depth >= POINTEE_DEPTH || a->found)
		return true;
	if (dwarf_tag(type) == DW_TAG_array_type) {
		if (!pointee_element(a->p, type, &offset, &element))
			return false;
		size = pointee_size(&element);
		a->found = size && a->step % size == 0;
		if (a->found)
			return true;
		type = &element;
	}
	if (pointee_is_record(dwarf_tag(type))) {
		a->depth++;
		pointee_each(a->p, type, offset, pointee_array_at, a);
		a->depth--;
	}
	return a->found;
}

bool pointee_has_array(struct pointees *p, uint32_t number, uint64_t offset, uint64_t step)
{
	struct pointee_array a = { .p = p, .step = step };
	const struct pointee *of = pointee_get(p, number);
	Dwarf_Die die;

	if (!of)
		return false;
	die = of->die;
	pointee_array_at(&a, &die, offset);
	return a.found;
}

struct pointee_inner {
	struct pointees *p;
	const void *wanted;
	unsigned depth;
	bool found;
};

static bool pointee_inner_at(void *arg, Dwarf_Die *type, uint64_t offset)
{
	struct pointee_inner *in = arg;
	Dwarf_Die element;

	if (in->depth >= POINTEE_DEPTH || in->found)
		return true;
	if (dwarf_tag(type) == DW_TAG_array_type) {
		if (!pointee_element(in->p, type, &offset, &element))
			return false;
		type = &element;
	}
	if (offset == 0 && type->addr == in->wanted)
		in->found = true;
	if (!in->found && pointee_is_record(dwarf_tag(type))) {
		in->depth++;
		pointee_each(in->p, type, offset, pointee_inner_at, in);
		in->depth--;
	}
	return in->found;
}

bool pointee_contains(struct pointees *p, uint32_t outer, uint64_t offset, uint32_t inner)
{
	const struct pointee *of = pointee_get(p, outer), *wanted = pointee_get(p, inner);
	struct pointee_inner in = { .p = p };
	Dwarf_Die die;

	if (!of || !wanted)
		return false;
	in.wanted = wanted->die.addr;
	die = of->die;
	pointee_inner_at(&in, &die, offset);
	return in.found;
}

/* ---- the table ------------------------------------------------------------------ */

static bool pointee_find_open(struct pointees *p, Dwarf_Die *record, uint64_t size)
{
	struct pointee_array a = { .p = p, .step = 0 };

	/* Any step is a multiple of 0: only an array without a size contains the end. */
	return dwarf_tag(record) != DW_TAG_union_type &&
	       pointee_each(p, record, size, pointee_array_at, &a);
}

uint32_t pointee_of_object(struct pointees *p, Dwarf_Die *type)
{
	Dwarf_Die whole;
	uint64_t known, size;

	if (!pointee_resolve(p->types, type, &whole))
		return 0;
	if (dwarf_tag(&whole) == DW_TAG_array_type) {
		Dwarf_Die element;
		uint64_t offset = 0;

		return pointee_element(p, &whole, &offset, &element)
			       ? pointee_of_object(p, &element)
			       : 0;
	}
	if (u64map_get(&p->by_die, die_key(&whole), &known))
		return (uint32_t)known - 1;
	size = pointee_size(&whole);
	if (p->nr == p->room) {
		uint32_t room = p->room ? p->room * 2 : 64;
		void *more = room <= POINTEES_MAX ? realloc(p->list, room * sizeof(*p->list))
						  : NULL;

		if (!more) {
			p->no_memory = true;
			return 0;
		}
		p->list = more;
		p->room = room;
	}
	if (!pointee_is_telling(&whole, size)) {
		u64map_put(&p->by_die, die_key(&whole), 1);
		return 0;
	}
	p->list[p->nr++] = (struct pointee){ .die = whole,
					     .size = size,
					     .number = UINT32_MAX,
					     .is_record = pointee_is_record(dwarf_tag(&whole)) };
	if (u64map_put(&p->by_die, die_key(&whole), (uint64_t)p->nr + 1) < 0)
		p->no_memory = true;
	known = p->nr;
	if (p->list[known - 1].is_record)
		p->list[known - 1].is_open = pointee_find_open(p, &whole, size);
	return (uint32_t)known;
}

const struct pointee *pointee_get(const struct pointees *p, uint32_t number)
{
	return number && number <= p->nr ? &p->list[number - 1] : NULL;
}

uint32_t pointee_type(struct pointees *p, uint32_t number)
{
	struct pointee *of = number && number <= p->nr ? &p->list[number - 1] : NULL;

	if (!of)
		return 0;
	if (of->number == UINT32_MAX)
		of->number = types_build(p->types, &of->die);
	return of->number;
}

void pointees_release(struct pointees *p)
{
	free(p->list);
	u64map_release(&p->by_die);
	u64map_release(&p->values);
}
