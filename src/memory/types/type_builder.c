/* SPDX-License-Identifier: MIT */
/*
 * type_builder.c - build a type from a DWARF entry.
 *
 * References in a corrupt file may form cycles: every chain has a bound, and a record that
 * contains itself is cut at that point.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory_shortage.h"
#include "memory/types/type_model.h"
#include "symbols/die_sibling.h"

#define BUILDING  UINT64_MAX
#define SIZE_MAX_ (UINT64_C(1) << 46) /* larger than any address space */

bool die_flag(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	bool value = false;

	if (!dwarf_attr(die, name, &attr))
		return false;
	if (dwarf_formflag(&attr, &value) == 0)
		return value;
	return true;
}

bool die_type(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, out);
}

bool die_is_cxx(Dwarf_Die *die)
{
	Dwarf_Die unit;

	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return false;
	switch (dwarf_srclang(&unit)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
		return true;
	default:
		return false;
	}
}

static bool die_is_wrapper(int tag)
{
	switch (tag) {
	case DW_TAG_typedef:
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
	case DW_TAG_immutable_type:
	case DW_TAG_packed_type:
	case DW_TAG_template_alias:
		return true;
	default:
		return false;
	}
}

bool die_peel(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Die next;
	unsigned n;

	*out = *die;
	for (n = 0; n < REFERENCES_MAX; n++) {
		if (!die_is_wrapper(dwarf_tag(out)))
			return true;
		if (!die_type(out, &next))
			return false;
		*out = next;
	}
	return false;
}

bool die_complete(struct types *t, Dwarf_Die *die, Dwarf_Die *out)
{
	char folded[2048];
	Dwarf_Attribute attr;
	uint64_t text, entry;
	int64_t number;

	*out = *die;
	if (dwarf_attr(die, DW_AT_signature, &attr))
		return dwarf_formref_die(&attr, out) != NULL;
	if (!die_flag(die, DW_AT_declaration))
		return true;
	/* clang describes some C++ classes in one translation unit only. */
	if (!u64map_get(&t->scoped, die_key(die), &text))
		return false;
	types_fold_name(strtab_text(&t->texts, text - 1), folded, sizeof(folded));
	number = strtab_find(&t->texts, folded);
	if (number < 0 || !u64map_get(&t->tags, (uint64_t)number, &entry) || !entry)
		return false;
	*out = t->entries[entry - 1];
	return !die_flag(out, DW_AT_declaration);
}

/* ---- numbers ------------------------------------------------------------- */

static bool attr_u64(Dwarf_Die *die, unsigned name, uint64_t *out)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!dwarf_attr_integrate(die, name, &attr) || dwarf_formudata(&attr, &value) != 0)
		return false;
	*out = value;
	return true;
}

/* gcc stores the last index in as few bytes as it needs without a sign: it is not negative. */
static bool die_last_index(Dwarf_Attribute *attr, uint64_t *out)
{
	unsigned form = dwarf_whatform(attr);
	Dwarf_Sword value;

	if (form == DW_FORM_data1 || form == DW_FORM_data2)
		return dwarf_formudata(attr, out) == 0;
	if (dwarf_formsdata(attr, &value) != 0 || value < 0)
		return false;
	*out = (uint64_t)value;
	return true;
}

uint64_t die_dimension(Dwarf_Die *range)
{
	Dwarf_Attribute attr;
	uint64_t count;

	if (attr_u64(range, DW_AT_count, &count))
		return count;
	if (dwarf_attr_integrate(range, DW_AT_upper_bound, &attr) && die_last_index(&attr, &count))
		return count + 1;
	return 0;
}

uint64_t die_array_count(Dwarf_Die *die)
{
	uint64_t count = 1;
	Dwarf_Die child, next;
	unsigned n = 0;

	if (dwarf_child(die, &child) != 0)
		return 0;
	do {
		if (dwarf_tag(&child) == DW_TAG_subrange_type &&
		    __builtin_mul_overflow(count, die_dimension(&child), &count))
			return 0;
		if (dwarf_siblingof(&child, &next) != 0)
			break;
		child = next;
	} while (++n < REFERENCES_MAX);
	return count;
}

/* The offset of a member.  Returns false if it is computed (a virtual base) or corrupt. */
static bool member_offset(Dwarf_Die *die, uint64_t *out)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;
	Dwarf_Op *ops;
	size_t nr;

	*out = 0;
	if (!dwarf_attr(die, DW_AT_data_member_location, &attr))
		return true;
	if (dwarf_formudata(&attr, &value) == 0) {
		*out = value;
		return value < SIZE_MAX_;
	}
	if (dwarf_getlocation(&attr, &ops, &nr) != 0 || nr != 1 || ops[0].atom != DW_OP_plus_uconst)
		return false;
	*out = ops[0].number;
	return ops[0].number < SIZE_MAX_;
}

/* ---- members ------------------------------------------------------------- */

static bool member_bits(Dwarf_Die *die, struct type_member *m)
{
	uint64_t size, offset, unit = m->size;

	if (!attr_u64(die, DW_AT_bit_size, &size))
		return true;
	if (size > 256)
		return false;
	if (attr_u64(die, DW_AT_data_bit_offset, &offset)) { /* from the start of the record */
		offset += m->offset * 8;
	} else if (attr_u64(die, DW_AT_bit_offset,
			    &offset)) { /* from the most significant bit of its unit */
		attr_u64(die, DW_AT_byte_size, &unit);
		if (offset + size > unit * 8)
			return false;
		offset = m->offset * 8 + unit * 8 - offset - size;
	} else {
		offset = m->offset * 8;
	}
	if (offset > UINT32_MAX - 256)
		return false;
	m->flags |= MEMBER_BITS;
	m->bit_offset = (uint32_t)offset;
	m->bit_size = (uint32_t)size;
	m->offset = offset / 8;
	m->size = size ? (offset + size + 7) / 8 - m->offset : 0;
	return true;
}

/* Without DW_AT_accessibility, the default of the kind of record applies. */
static unsigned access_flags(Dwarf_Die *die, enum type_kind kind)
{
	uint64_t access;

	if (!attr_u64(die, DW_AT_accessibility, &access))
		return kind == TYPE_CLASS ? MEMBER_PRIVATE : 0;
	return access == DW_ACCESS_private     ? MEMBER_PRIVATE
	       : access == DW_ACCESS_protected ? MEMBER_PROTECTED
					       : 0;
}

static const char *bits_text(struct types *t, const char *declaration, uint32_t bits)
{
	char text[4200];

	snprintf(text, sizeof(text), "%s : %u", declaration ? declaration : "?", bits);
	return types_keep(t, text);
}

/* An explicit alignment is part of the declaration. */
static void align_member(struct types *t, struct type_member *m, uint32_t align, bool cxx)
{
	char text[4200];

	m->align = align;
	snprintf(text, sizeof(text), "%s(%u) %s", cxx ? "alignas" : "_Alignas", align,
		 m->text ? m->text : "?");
	m->text = types_keep(t, text);
}

/* Returns false if the member has no known place in the record. */
static bool die_read_member(struct types *t, Dwarf_Die *die, enum type_kind kind,
			    struct type_member *m)
{
	const char *name = dwarf_diename(die);
	bool inherited = dwarf_tag(die) == DW_TAG_inheritance;
	const struct type *type;
	uint64_t given;
	Dwarf_Die of;

	if (die_flag(die, DW_AT_external) || die_flag(die, DW_AT_declaration) ||
	    !member_offset(die, &m->offset) || !die_type(die, &of))
		return false;
	m->type = types_build(t, &of);
	type = types_get(t, m->type);
	m->size = type->size;
	m->align = type->align ? type->align : 1;
	m->flags = access_flags(die, kind);
	/* An empty base has no bytes: another member is at its offset. */
	if (inherited && type_is_record(type) && !type->nr_members)
		return false;
	if (inherited)
		m->flags |= MEMBER_INHERITED;
	if (type->kind == TYPE_ARRAY && type->count == 0)
		m->flags |= MEMBER_FLEXIBLE;
	if (name && !strncmp(name, "_vptr", 5) && die_flag(die, DW_AT_artificial))
		m->flags |= MEMBER_VPTR;
	if (!member_bits(die, m))
		return false;
	if (inherited)
		name = types_spell(t, &of);
	m->name = types_keep(t, name ? name : "");
	m->text = inherited ? m->name : types_declare(t, &of, name ? name : "");
	if (m->flags & MEMBER_BITS)
		m->text = bits_text(t, m->text, m->bit_size);
	else if (attr_u64(die, DW_AT_alignment, &given) && given > m->align && given <= 65536)
		align_member(t, m, (uint32_t)given, die_is_cxx(die));
	return m->name && m->text;
}

static int die_by_offset(const void *a, const void *b)
{
	const struct type_member *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	if (x->bit_offset != y->bit_offset)
		return x->bit_offset < y->bit_offset ? -1 : 1;
	return 0;
}

static int die_add_member(struct type *type, uint32_t *room, const struct type_member *m)
{
	if (type->nr_members == *room) {
		uint32_t more = *room ? *room * 2 : 8;
		void *bigger = realloc(type->members, more * sizeof(*type->members));

		if (!bigger)
			return -ENOMEM;
		type->members = bigger;
		*room = more;
	}
	type->members[type->nr_members++] = *m;
	return 0;
}

static int die_read_members(struct types *t, Dwarf_Die *die, struct type *type)
{
	Dwarf_Die child, next;
	uint32_t room = 0;
	int tag, more;

	if (dwarf_child(die, &child) != 0)
		return 0;
	do {
		struct type_member m = { 0 };

		tag = dwarf_tag(&child);
		if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) &&
		    die_read_member(t, &child, type->kind, &m) &&
		    die_add_member(type, &room, &m) < 0)
			return -ENOMEM;
		more = dwarf_siblingof(&child, &next);
		if (more == 0 && (const char *)next.addr <= (const char *)child.addr)
			break;
		child = next;
	} while (more == 0 && type->nr_members < TYPE_MEMBERS_MAX);
	/* Members of a union keep the order of the source: all have the same offset. */
	if (type->nr_members > 1 && type->kind != TYPE_UNION)
		qsort(type->members, type->nr_members, sizeof(*type->members), die_by_offset);
	return 0;
}

bool die_template_type(Dwarf_Die *record, Dwarf_Die *out)
{
	Dwarf_Die child;
	unsigned n = 0;
	bool more;

	for (more = dwarf_child(record, &child) == 0; more && n < TYPE_MEMBERS_MAX;
	     more = die_next(&child), n++) {
		if (dwarf_tag(&child) == DW_TAG_template_type_parameter)
			return die_type(&child, out);
	}
	return false;
}

/*
 * The nodes of libstdc++'s containers have their value in a buffer of bytes, aligned_membuf<T>: a
 * value of type T.
 */
static void die_read_buffer(struct types *t, Dwarf_Die *die, struct type *type)
{
	const char *name = dwarf_diename(die);
	const struct type *value;
	struct type_member m = { 0 };
	Dwarf_Die of;

	if (!name ||
	    (strncmp(name, "__aligned_membuf<", 17) != 0 &&
	     strncmp(name, "__aligned_buffer<", 17) != 0) ||
	    !die_template_type(die, &of))
		return;
	m.type = types_build(t, &of);
	value = types_get(t, m.type);
	if (!value->size || value->size > type->size || !type->nr_members)
		return;
	m.size = value->size;
	m.align = value->align ? value->align : 1;
	/* The name of a record inside would only make paths longer. */
	m.name = types_keep(t, type_is_record(value) ? "" : "value");
	m.text = types_declare(t, &of, "value");
	if (!m.name || !m.text)
		return;
	type->members[0] = m;
	type->nr_members = 1;
}

/* clang may only declare a base or a member's class: its size is at most up to the next member. */
static void bound_unknown(struct type *type)
{
	uint32_t i;

	for (i = 0; i < type->nr_members && type->kind != TYPE_UNION; i++) {
		struct type_member *m = &type->members[i];
		uint64_t end = i + 1 < type->nr_members ? m[1].offset : type->size;

		if (!m->size && !m->type && !(m->flags & MEMBER_BITS) && end > m->offset)
			m->size = end - m->offset;
	}
}

/* ---- types --------------------------------------------------------------- */

static void align_record(Dwarf_Die *die, struct type *type)
{
	uint64_t align = 1, given;
	uint32_t i;

	for (i = 0; i < type->nr_members; i++) {
		const struct type_member *m = &type->members[i];

		if (!(m->flags & MEMBER_BITS) && m->offset % m->align)
			type->is_packed = true;
		align = m->align > align ? m->align : align;
	}
	if (type->size % align)
		type->is_packed = true;
	if (type->is_packed)
		align = 1;
	if (attr_u64(die, DW_AT_alignment, &given) && given && given <= 65536)
		align = given;
	type->align = (uint32_t)align;
}

/* Not dwarf_decl_file(): it asserts conditions that a split or corrupt file may violate. */
const char *die_file(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Files *files;
	Dwarf_Word number;
	Dwarf_Die unit;
	size_t nr;

	if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attr) ||
	    dwarf_formudata(&attr, &number) != 0 || !dwarf_diecu(die, &unit, NULL, NULL))
		return NULL;
	/* From DWARF 5 on, number 0 is the file of the unit. */
	if (number == 0)
		return dwarf_diename(&unit);
	if (dwarf_getsrcfiles(&unit, &files, &nr) != 0 || number >= nr)
		return NULL;
	return dwarf_filesrc(files, number, NULL, NULL);
}

static void place_decl(struct types *t, Dwarf_Die *die, struct type *type)
{
	const char *file = die_file(die);
	int line = 0;

	if (file)
		type->file = types_keep(t, file);
	if (dwarf_decl_line(die, &line) == 0 && line > 0)
		type->line = (uint32_t)line;
}

static int build_array(struct types *t, Dwarf_Die *die, struct type *type)
{
	const struct type *element;
	Dwarf_Die of;

	if (!die_type(die, &of))
		return 0;
	type->element = types_build(t, &of);
	element = types_get(t, type->element);
	type->count = die_array_count(die);
	type->align = element->align;
	if (__builtin_mul_overflow(type->count, element->size, &type->size) ||
	    type->size > SIZE_MAX_)
		type->size = type->count = 0;
	/* An array of arrays (through a typedef) becomes one array of the innermost element. */
	if (element->kind == TYPE_ARRAY) {
		type->count *= element->count;
		type->element = element->element;
	}
	return 0;
}

static uint64_t own_size(Dwarf_Die *die, enum type_kind kind)
{
	int size = dwarf_bytesize(die);

	if (size >= 0)
		return (uint64_t)size;
	return kind == TYPE_POINTER ? 8 : 0;
}

static enum type_kind die_kind_of(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_base_type:
		return TYPE_BASE;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
	case DW_TAG_ptr_to_member_type:
		return TYPE_POINTER;
	case DW_TAG_enumeration_type:
		return TYPE_ENUM;
	case DW_TAG_structure_type:
		return TYPE_STRUCT;
	case DW_TAG_class_type:
		return TYPE_CLASS;
	case DW_TAG_union_type:
		return TYPE_UNION;
	case DW_TAG_array_type:
		return die_flag(die, DW_AT_GNU_vector) ? TYPE_BASE : TYPE_ARRAY;
	default:
		return TYPE_UNKNOWN;
	}
}

static int die_fill(struct types *t, Dwarf_Die *die, struct type *type)
{
	uint64_t ignored;

	type->kind = die_kind_of(die);
	type->name = types_spell(t, die);
	if (!type->name)
		return -ENOMEM;
	type->is_cxx = die_is_cxx(die);
	type->is_nameless = u64map_get(&t->nameless, die_key(die), &ignored);
	if (type->kind == TYPE_ARRAY)
		return build_array(t, die, type);
	type->size = own_size(die, type->kind);
	if (!type_is_record(type)) {
		type->align = type->size >= 1 && type->size <= 16 ? (uint32_t)type->size : 1;
		if (type->align & (type->align - 1))
			type->align = 16;
		return 0;
	}
	place_decl(t, die, type);
	if (die_read_members(t, die, type) < 0)
		return -ENOMEM;
	die_read_buffer(t, die, type);
	bound_unknown(type);
	align_record(die, type);
	return types_make_leaves(t, type);
}

/* Types of different translation units are the same if name, size and source location agree. */
static int64_t die_identity(struct types *t, const struct type *type)
{
	char text[4400];

	snprintf(text, sizeof(text), "%d %llu %u %s:%u %s", (int)type->kind,
		 (unsigned long long)type->size, type->nr_members, type->file ? type->file : "",
		 type->line, type->name);
	return strtab_intern(&t->texts, text);
}

static void die_release(struct type *type)
{
	free(type->members);
	free(type->leaves);
	free(type);
}

uint32_t die_enter(struct types *t, struct type *type)
{
	int64_t text = die_identity(t, type);
	uint64_t known;

	if (text >= 0 && u64map_get(&t->by_identity, (uint64_t)text, &known)) {
		die_release(type);
		return (uint32_t)known;
	}
	if (t->nr == t->room) {
		uint32_t room = t->room ? t->room * 2 : 64;
		void *more = realloc(t->types, room * sizeof(struct type *));

		if (more) {
			t->types = more;
			t->room = room;
		}
	}
	if (text < 0 || t->nr == t->room || t->nr == TYPES_MAX ||
	    u64map_put(&t->by_identity, (uint64_t)text, t->nr + 1) < 0) {
		t->no_memory = true;
		die_release(type);
		return 0;
	}
	t->types[t->nr++] = type;
	return t->nr;
}

static uint32_t build_new(struct types *t, Dwarf_Die *die)
{
	static _Thread_local unsigned depth;
	struct type *type;
	uint32_t number = 0;

	if (depth == TYPE_DEPTH_MAX)
		return 0;
	type = calloc(1, sizeof(*type));
	if (!type) {
		t->no_memory = true;
		return 0;
	}
	depth++;
	if (die_fill(t, die, type) == 0) {
		number = die_enter(t, type);
	} else {
		t->no_memory = true;
		die_release(type);
	}
	depth--;
	return number;
}

static uint32_t types_build_die(struct types *t, Dwarf_Die *die)
{
	Dwarf_Die peeled, whole;
	uint64_t known;
	uint32_t number;

	if (!die_peel(die, &peeled) || !die_complete(t, &peeled, &whole))
		return 0;
	if (u64map_get(&t->by_die, die_key(&whole), &known))
		return known == BUILDING ? 0 : (uint32_t)known - 1;
	if (u64map_put(&t->by_die, die_key(&whole), BUILDING) < 0)
		return 0;
	number = build_new(t, &whole);
	if (u64map_put(&t->by_die, die_key(&whole), (uint64_t)number + 1) < 0)
		t->no_memory = true;
	return number;
}

uint32_t types_build(struct types *t, Dwarf_Die *die)
{
	int before = memory_shortage_watch();
	uint32_t number = types_build_die(t, die);

	memory_shortage_check(before);
	return number;
}
