/* SPDX-License-Identifier: MIT */
/* member_path.c - find members by their names in DWARF. */
#include "symbols/member_path.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "symbols/die_sibling.h"

#define BARE_STEPS_MAX   16
#define NEST_MAX         8
#define SCOPES_MAX       32
#define MEMBERS_MAX      1024
#define MEMBER_SIZE_MAX  (1u << 24)
#define DEFINITIONS_DIES (1u << 20)

/* ---- types ------------------------------------------------------------------------ */

static bool member_is_struct(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static bool member_is_reference(int tag)
{
	return tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type;
}

/* The struct with the names @scopes[nr - 1], ..., @scopes[0] below @parent. */
static bool definition_below(Dwarf_Die *parent, Dwarf_Die *scopes, int nr, unsigned *left,
			     Dwarf_Die *out)
{
	const char *wanted = dwarf_diename(&scopes[nr - 1]);
	Dwarf_Die die;

	if (!wanted || dwarf_child(parent, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);
		const char *name;

		if (!*left || !--*left)
			return false;
		if (tag != DW_TAG_namespace && !member_is_struct(tag))
			continue;
		name = dwarf_diename(&die);
		if (!name || strcmp(name, wanted) != 0)
			continue;
		if (nr > 1 && definition_below(&die, scopes, nr - 1, left, out))
			return true;
		if (nr == 1 && member_is_struct(tag) && !dwarf_hasattr(&die, DW_AT_declaration)) {
			*out = die;
			return true;
		}
	} while (die_next(&die));
	return false;
}

/* A member or a base class; static members have no place in the object. */
static bool member_is_part(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_inheritance ||
	       (tag == DW_TAG_member && !dwarf_hasattr(die, DW_AT_external) &&
		!dwarf_hasattr(die, DW_AT_declaration));
}

/* The definition of the declared struct @die, in any unit of its file. */
static bool member_definition(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Die scopes[SCOPES_MAX], unit;
	Dwarf *dwarf = dwarf_cu_getdwarf(die->cu);
	int nr = (int)die_scopes(die, scopes, SCOPES_MAX);
	unsigned left = DEFINITIONS_DIES;
	Dwarf_Off at = 0, next;
	size_t header;
	bool found = false;

	/* The outermost scope is the unit. */
	while (!found && nr > 1 && left &&
	       dwarf_nextcu(dwarf, at, &next, &header, NULL, NULL, NULL) == 0) {
		found = dwarf_offdie(dwarf, at + header, &unit) &&
			definition_below(&unit, scopes, nr - 1, &left, out);
		at = next;
	}
	return found;
}

bool member_bare_type(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Attribute attr;
	int step;

	if (!dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attr), out))
		return false;
	for (step = 0; step < BARE_STEPS_MAX; step++) {
		int tag = dwarf_tag(out);

		if (tag != DW_TAG_const_type && tag != DW_TAG_volatile_type &&
		    tag != DW_TAG_typedef && tag != DW_TAG_atomic_type)
			return true;
		if (!dwarf_formref_die(dwarf_attr(out, DW_AT_type, &attr), out))
			return false;
	}
	return false;
}

bool member_start(Dwarf_Die *member, uint32_t *offset)
{
	Dwarf_Attribute attr;
	Dwarf_Word at = 0;

	/* The member of a union has none. */
	if (dwarf_attr(member, DW_AT_data_member_location, &attr) &&
	    dwarf_formudata(&attr, &at) != 0)
		return false;
	*offset = (uint32_t)at;
	return at < MEMBER_SIZE_MAX;
}

bool member_type_path(Dwarf_Die *type, char *out, size_t size)
{
	Dwarf_Die scopes[SCOPES_MAX];
	int nr = (int)die_scopes(type, scopes, SCOPES_MAX), i;
	size_t len = 0;
	bool is_whole = nr > 0;

	for (i = nr - 1; is_whole && i >= 0; i--) {
		const char *name = dwarf_diename(&scopes[i]);
		int tag = dwarf_tag(&scopes[i]), put;

		if (tag == DW_TAG_compile_unit || tag == DW_TAG_partial_unit ||
		    tag == DW_TAG_lexical_block)
			continue;
		put = name ? snprintf(out + len, size - len, "%s%.*s", len ? "::" : "",
				      (int)strcspn(name, "<"), name)
			   : snprintf(out + len, size - len, "%s(anonymous)", len ? "::" : "");
		is_whole = put > 0 && (size_t)put < size - len;
		len += is_whole ? (size_t)put : 0;
	}
	return is_whole && len;
}

/* ---- members ------------------------------------------------------------------------ */

struct member_search {
	const char *name;
	size_t len;
	uint32_t offset;
	Dwarf_Die type;
};

static bool member_search_in(struct member_search *s, Dwarf_Die *in, unsigned depth);

/* A member whose name is the wanted one, or one without a name that contains it. */
static bool member_search_one(struct member_search *s, Dwarf_Die *die, unsigned depth)
{
	const char *name = dwarf_tag(die) == DW_TAG_member ? dwarf_diename(die) : NULL;
	uint32_t at, before = s->offset;
	Dwarf_Die type;

	if (name && (strlen(name) != s->len || memcmp(name, s->name, s->len) != 0))
		return false;
	if (!member_start(die, &at) || !member_bare_type(die, &type))
		return false;
	s->offset += at;
	if (name) {
		s->type = type;
		return true;
	}
	if (member_is_struct(dwarf_tag(&type)) && member_search_in(s, &type, depth + 1))
		return true;
	s->offset = before;
	return false;
}

/* The members of all variants of an enum. */
static bool member_search_variants(struct member_search *s, Dwarf_Die *part, unsigned depth)
{
	Dwarf_Die variant, die;

	if (dwarf_child(part, &variant) != 0)
		return false;
	do {
		if (dwarf_tag(&variant) == DW_TAG_variant && dwarf_child(&variant, &die) == 0 &&
		    dwarf_tag(&die) == DW_TAG_member && member_search_one(s, &die, depth))
			return true;
	} while (die_next(&variant));
	return false;
}

static bool member_search_in(struct member_search *s, Dwarf_Die *in, unsigned depth)
{
	unsigned left = MEMBERS_MAX;
	Dwarf_Die die, whole;

	/* A unit that only uses pointers to a struct has a declaration of it. */
	if (dwarf_hasattr(in, DW_AT_declaration) && member_definition(in, &whole))
		in = &whole;
	if (depth > NEST_MAX || dwarf_child(in, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);

		if (member_is_part(&die) && member_search_one(s, &die, depth))
			return true;
		if (tag == DW_TAG_variant_part && member_search_variants(s, &die, depth))
			return true;
	} while (--left && die_next(&die));
	return false;
}

/* Descend from a struct to the first scalar in it.  False: it has none. */
static bool member_first_scalar(Dwarf_Die *type, uint32_t *offset)
{
	Dwarf_Die die, inner;
	unsigned depth, left;

	for (depth = 0; depth < NEST_MAX; depth++) {
		Dwarf_Word size = 0;
		uint32_t at;
		bool found = false;

		if (!member_is_struct(dwarf_tag(type)))
			return true;
		if (dwarf_child(type, &die) != 0)
			return false;
		left = MEMBERS_MAX;
		do {
			found = member_is_part(&die) && member_start(&die, &at) &&
				member_bare_type(&die, &inner) &&
				(dwarf_tag(&inner) == DW_TAG_pointer_type ||
				 (dwarf_aggregate_size(&inner, &size) == 0 && size &&
				  (!member_is_struct(dwarf_tag(&inner)) ||
				   dwarf_haschildren(&inner))));
		} while (!found && --left && die_next(&die));
		if (!found)
			return false;
		*offset += at;
		*type = inner;
	}
	return false;
}

/* ---- paths ---------------------------------------------------------------------------- */

/* Note that a pointer is at @offset, and go to what it points to. */
static bool path_follow(struct member_path *out, Dwarf_Die *type, uint32_t *offset)
{
	Dwarf_Die to;

	if (!member_first_scalar(type, offset))
		return false;
	if (dwarf_tag(type) != DW_TAG_pointer_type && !member_is_reference(dwarf_tag(type)))
		return false;
	if (out->nr + 1 >= MEMBER_STEPS_MAX || !member_bare_type(type, &to))
		return false;
	out->offsets[out->nr++] = *offset;
	*offset = 0;
	*type = to;
	return true;
}

static bool path_is_timespec(struct member_path *out, Dwarf_Die *type)
{
	struct member_search seconds = { .name = "tv_sec", .len = 6 };
	struct member_search ns = { .name = "tv_nsec", .len = 7 };
	uint32_t offset = 0, at;
	Dwarf_Die in = *type, die, inner;
	int depth;

	/* std's Instant is a struct in a struct, as deep as the platform has it. */
	for (depth = 0; depth < NEST_MAX && member_is_struct(dwarf_tag(&in)); depth++) {
		seconds.offset = ns.offset = offset;
		if (member_search_in(&seconds, &in, 0) && member_search_in(&ns, &in, 0) &&
		    member_first_scalar(&ns.type, &ns.offset)) {
			out->seconds = seconds.offset;
			out->ns = ns.offset;
			return true;
		}
		if (dwarf_child(&in, &die) != 0 || dwarf_tag(&die) != DW_TAG_member ||
		    !member_start(&die, &at) || !member_bare_type(&die, &inner))
			return false;
		offset += at;
		in = inner;
	}
	return false;
}

/* What the end of the path is. */
static void path_set_end(struct member_path *out, Dwarf_Die *type, uint32_t offset)
{
	Dwarf_Attribute attr;
	Dwarf_Word size = 0, encoding = 0;
	int tag = dwarf_tag(type);

	out->offsets[out->nr++] = offset;
	if (member_is_struct(tag)) {
		out->end = MEMBER_STRUCT;
		out->is_timespec = path_is_timespec(out, type);
	} else if (tag == DW_TAG_pointer_type || member_is_reference(tag)) {
		out->end = MEMBER_POINTER;
		out->size = 8;
	} else {
		out->end = MEMBER_INTEGER;
		if (dwarf_aggregate_size(type, &size) != 0 || !size || size > 8)
			size = 0;
		out->size = (uint8_t)size;
		dwarf_formudata(dwarf_attr(type, DW_AT_encoding, &attr), &encoding);
		out->is_signed = encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
	}
}

bool member_path_resolve(struct member_path *out, Dwarf_Die *type, const char *path, bool is_value,
			 Dwarf_Die *target)
{
	struct member_search s;
	Dwarf_Die at = *type;
	uint32_t offset = 0;

	*out = (struct member_path){ 0 };
	while (*path && strcmp(path, ".") != 0) {
		s = (struct member_search){ .name = path, .len = strcspn(path, ".-") };
		if (!member_search_in(&s, &at, 0))
			return false;
		offset += s.offset;
		at = s.type;
		path += s.len;
		if (path[0] == '-') {
			if (!path_follow(out, &at, &offset))
				return false;
			path += 2;
		} else if (path[0] == '.') {
			if (member_is_reference(dwarf_tag(&at)) && !path_follow(out, &at, &offset))
				return false;
			path++;
		}
	}
	if (is_value && !path_is_timespec(out, &at) && !member_first_scalar(&at, &offset))
		return false;
	path_set_end(out, &at, offset);
	if (target) {
		if (out->end != MEMBER_POINTER || !member_bare_type(&at, target))
			*target = at;
	}
	return true;
}

/* ---- values --------------------------------------------------------------------------- */

/* The address of the end. */
static bool path_walk(const struct member_path *path, uint64_t addr, memory_reader read, void *arg,
		      uint64_t *out)
{
	uint8_t i;

	for (i = 0; i + 1 < path->nr; i++) {
		if (!read(arg, addr + path->offsets[i], &addr, 8) || addr < 4096)
			return false;
	}
	*out = addr + path->offsets[i];
	return true;
}

bool member_path_read(const struct member_path *path, uint64_t addr, memory_reader read, void *arg,
		      uint64_t *value)
{
	unsigned bits = 64 - path->size * 8u;

	if (!path->nr || !path_walk(path, addr, read, arg, &addr))
		return false;
	if (path->end == MEMBER_STRUCT) {
		*value = addr;
		return true;
	}
	*value = 0;
	if (!path->size || !read(arg, addr, value, path->size))
		return false;
	if (path->is_signed && bits)
		*value = (uint64_t)((int64_t)(*value << bits) >> bits);
	return true;
}

bool member_path_read_time(const struct member_path *path, uint64_t addr, uint64_t unit,
			   memory_reader read, void *arg, int64_t *ns)
{
	uint64_t value = 0;
	uint32_t rest = 0;

	if (!member_path_read(path, addr, read, arg, &value))
		return false;
	if (path->is_timespec) {
		addr = value;
		if (!read(arg, addr + path->seconds, &value, 8) ||
		    !read(arg, addr + path->ns, &rest, 4) || rest >= 1000000000u)
			return false;
		unit = 1000000000;
	} else if (path->end != MEMBER_INTEGER) {
		return false;
	}
	return !__builtin_mul_overflow((int64_t)value, (int64_t)unit, ns) &&
	       !__builtin_add_overflow(*ns, (int64_t)rest, ns);
}
