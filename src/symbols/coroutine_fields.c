/* SPDX-License-Identifier: MIT */
/* coroutine_fields.c - the scalars in a coroutine frame: variables and their members. */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/coroutine_layout.h"
#include "symbols/member_path.h"

#define FIELDS_MAX          4096
#define FIELDS_DEPTH_MAX    10
#define FIELD_PATH_MAX      256
#define POINTEE_DEPTH_MAX   3
#define POINTEE_MEMBERS_MAX 256

struct field_walk {
	struct coro_field_list *list;
	const char *root_type;
	bool in_promise;
	unsigned left; /* DIEs that may still be visited */
};

/* "int", "Session *": as far as DWARF names it. */
static char *field_type_name(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type), *suffix = "";
	int tag = dwarf_tag(type);
	Dwarf_Die to;
	char *text;

	if (tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type ||
	    tag == DW_TAG_rvalue_reference_type) {
		name = member_bare_type(type, &to) ? dwarf_diename(&to) : "void";
		suffix = tag == DW_TAG_pointer_type ? " *" : " &";
	}
	if (asprintf(&text, "%s%s", name ? name : "?", suffix) < 0)
		return NULL;
	return text;
}

static enum coro_field_kind field_kind_of(Dwarf_Die *type, const char *owner)
{
	switch (dwarf_tag(type)) {
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return owner && !strncmp(owner, "coroutine_handle", 16) ? CORO_FIELD_HANDLE
									: CORO_FIELD_POINTER;
	case DW_TAG_base_type:
	case DW_TAG_enumeration_type:
		return CORO_FIELD_INTEGER;
	default:
		return CORO_FIELD_OTHER;
	}
}

static bool field_is_signed(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding = 0;

	return dwarf_tag(type) == DW_TAG_base_type &&
	       dwarf_formudata(dwarf_attr(type, DW_AT_encoding, &attr), &encoding) == 0 &&
	       (encoding == DW_ATE_signed || encoding == DW_ATE_signed_char);
}

static bool field_offset(Dwarf_Die *member, uint64_t *offset)
{
	uint32_t at;

	if (!member_start(member, &at))
		return false;
	*offset += at;
	return true;
}

/* Note the handles in the struct @type, at @offset of what a pointer points to. */
static void field_add_handles(struct coro_field *field, Dwarf_Die *type, uint64_t offset,
			      unsigned depth);

static void field_add_member_handles(struct coro_field *field, Dwarf_Die *member, uint64_t offset,
				     unsigned depth)
{
	Dwarf_Die type;
	const char *name;

	if (!field_offset(member, &offset) || offset > UINT16_MAX ||
	    !member_bare_type(member, &type))
		return;
	name = dwarf_diename(&type);
	if (name && !strncmp(name, "coroutine_handle", 16)) {
		if (field->nr_handles < CORO_FIELD_HANDLES)
			field->handles[field->nr_handles++] = (uint16_t)offset;
		return;
	}
	field_add_handles(field, &type, offset, depth + 1);
}

static void field_add_handles(struct coro_field *field, Dwarf_Die *type, uint64_t offset,
			      unsigned depth)
{
	int tag = dwarf_tag(type), members = 0;
	Dwarf_Die die;

	if (depth > POINTEE_DEPTH_MAX ||
	    (tag != DW_TAG_structure_type && tag != DW_TAG_class_type) ||
	    dwarf_child(type, &die) != 0)
		return;
	do {
		tag = dwarf_tag(&die);
		if (tag == DW_TAG_member || tag == DW_TAG_inheritance)
			field_add_member_handles(field, &die, offset, depth);
	} while (++members < POINTEE_MEMBERS_MAX && dwarf_siblingof(&die, &die) == 0);
}

static void field_add(struct field_walk *w, Dwarf_Die *type, const char *path, const char *owner,
		      uint64_t offset)
{
	struct coro_field_list *list = w->list;
	Dwarf_Word size = 0;
	struct coro_field *more;
	Dwarf_Die to;

	if (list->nr == FIELDS_MAX || dwarf_aggregate_size(type, &size) != 0 || size > 64 || !size)
		return;
	if (list->nr == list->room) {
		size_t room = list->room ? list->room * 2 : 32;

		more = reallocarray(list->fields, room, sizeof(*more));
		if (!more)
			return;
		list->fields = more;
		list->room = room;
	}
	list->fields[list->nr++] = (struct coro_field){
		.path = strdup(path),
		.type = field_type_name(type),
		.owner = owner ? strdup(owner) : NULL,
		.root_type = w->root_type ? strdup(w->root_type) : NULL,
		.offset = (uint32_t)offset,
		.size = (uint32_t)size,
		.kind = field_kind_of(type, owner),
		.in_promise = w->in_promise,
		.is_signed = field_is_signed(type),
		.is_reference = dwarf_tag(type) == DW_TAG_reference_type,
	};
	if (w->in_promise && member_bare_type(type, &to))
		field_add_handles(&list->fields[list->nr - 1], &to, 0, 0);
}

static void fields_walk(struct field_walk *w, Dwarf_Die *type, const char *path, const char *owner,
			uint64_t offset, unsigned depth);

/* A member or a base class of a struct. */
static void fields_walk_member(struct field_walk *w, Dwarf_Die *die, const char *path,
			       const char *owner, uint64_t offset, unsigned depth)
{
	const char *name = dwarf_tag(die) == DW_TAG_member ? dwarf_diename(die) : NULL;
	char longer[FIELD_PATH_MAX];
	Dwarf_Die type;

	if (!field_offset(die, &offset) || !member_bare_type(die, &type))
		return;
	if (name)
		snprintf(longer, sizeof(longer), "%s%s%s", path, *path ? "." : "", name);
	fields_walk(w, &type, name ? longer : path, owner, offset, depth);
}

static void fields_walk(struct field_walk *w, Dwarf_Die *type, const char *path, const char *owner,
			uint64_t offset, unsigned depth)
{
	int tag = dwarf_tag(type);
	const char *name;
	Dwarf_Die die;

	if (depth > FIELDS_DEPTH_MAX)
		return;
	if (tag != DW_TAG_structure_type && tag != DW_TAG_class_type && tag != DW_TAG_union_type) {
		field_add(w, type, path, owner, offset);
		return;
	}
	name = dwarf_diename(type);
	if (dwarf_child(type, &die) != 0)
		return;
	do {
		if (!w->left--)
			return;
		tag = dwarf_tag(&die);
		if (tag == DW_TAG_member || tag == DW_TAG_inheritance)
			fields_walk_member(w, &die, path, name ? name : owner, offset, depth + 1);
	} while (w->left && dwarf_siblingof(&die, &die) == 0);
}

void coro_fields_read(struct coro_field_list *list, Dwarf_Die *frame)
{
	Dwarf_Die die, type;

	if (dwarf_child(frame, &die) != 0)
		return;
	do {
		struct field_walk w = { .list = list, .left = 1u << 14 };
		const char *name = dwarf_diename(&die);

		if (dwarf_tag(&die) != DW_TAG_member || !name || !member_bare_type(&die, &type))
			continue;
		w.root_type = dwarf_diename(&type);
		w.in_promise = !strcmp(name, "_Coro_promise") || !strcmp(name, "__promise");
		fields_walk_member(&w, &die, "", NULL, 0, 0);
	} while (dwarf_siblingof(&die, &die) == 0);
}

void coro_promise_fields_read(struct coro_field_list *list, Dwarf_Die *promise, uint32_t offset)
{
	struct field_walk w = {
		.list = list,
		.root_type = dwarf_diename(promise),
		.in_promise = true,
		.left = 1u << 14,
	};

	fields_walk(&w, promise, "__promise", NULL, offset, 0);
}
