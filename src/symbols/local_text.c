/* SPDX-License-Identifier: MIT */
/*
 * local_text.c - strings, views, vectors and slices of the standard libraries of C++ and Rust:
 * their lengths, and their contents if these may be shown.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/member_path.h"
#include "symbols/local_value.h"
#include "symbols/type_name.h"

#define TEXT_SEARCH_DEPTH 6
#define TEXT_SEARCH_DIES  256
#define TEXT_LENGTH_SANE  (1ull << 40) /* a larger object is taken for one that is not alive */

/* A member that was found by its name in a struct, its bases or its members. */
struct text_member {
	Dwarf_Die type; /* bare */
	uint32_t offset;
};

struct text_search {
	const char *name; /* NULL: the first pointer */
	unsigned left;
	struct text_member *out;
};

static bool text_search_in(struct text_search *s, Dwarf_Die *type, uint32_t offset, unsigned depth)
{
	Dwarf_Die die, member;

	if (depth > TEXT_SEARCH_DEPTH || dwarf_child(type, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);
		const char *name = dwarf_diename(&die);
		uint32_t at;

		if (!s->left--)
			return false;
		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    dwarf_hasattr(&die, DW_AT_declaration) || !type_bare_of(&die, &member) ||
		    !member_start(&die, &at) || offset + at > TYPE_SIZE_MAX)
			continue;
		at += offset;
		if (s->name ? name && !strcmp(name, s->name)
			    : dwarf_tag(&member) == DW_TAG_pointer_type) {
			*s->out = (struct text_member){ member, at };
			return true;
		}
		tag = dwarf_tag(&member);
		if ((tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
		     tag == DW_TAG_union_type) &&
		    text_search_in(s, &member, at, depth + 1))
			return true;
	} while (s->left && dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* @name NULL: the first pointer in it.  @direct: only in the struct itself. */
static bool text_find(Dwarf_Die *type, const char *name, bool direct, struct text_member *out)
{
	struct text_search s = { .name = name, .left = TEXT_SEARCH_DIES, .out = out };

	return text_search_in(&s, type, 0, direct ? TEXT_SEARCH_DEPTH : 0);
}

static bool text_number(const struct local_bytes *bytes, struct text_member *member, uint64_t *out)
{
	return local_bytes_number(bytes, member->offset, type_size(&member->type), out);
}

/* ---- contents ---------------------------------------------------------------------------- */

void local_text_read(struct local_reader *r, struct local_node *node, uint64_t addr, uint64_t size)
{
	char buf[LOCAL_TEXT_MAX];
	size_t shown = size < sizeof(buf) ? (size_t)size : sizeof(buf);

	if (!r->show_values)
		return;
	if (shown && !r->read(r->arg, addr, buf, shown)) {
		node->is_unread = true;
		return;
	}
	node->text = local_tree_keep(r->tree, buf, shown);
	node->text_size = shown;
	node->is_cut = shown < size;
}

void local_text_add_pointer(struct local_reader *r, struct local_node *node, uint64_t addr)
{
	char piece[64];
	size_t len = 0, used = sizeof(piece);

	/* Small pieces: the text may end at the end of a mapping. */
	while (len < LOCAL_LENGTH_MAX && used == sizeof(piece)) {
		size_t size = sizeof(piece) - (addr + len) % sizeof(piece);

		if (!r->read(r->arg, addr + len, piece, size)) {
			node->is_unread = true;
			break;
		}
		used = strnlen(piece, size);
		len += used;
		used = used == size ? sizeof(piece) : 0;
	}
	/* No terminator: nothing but the address is known. */
	if (used) {
		local_tree_add(r->tree, node);
		return;
	}
	node->kind = LOCAL_TEXT;
	node->has_length = true;
	node->length = len;
	local_text_read(r, node, addr, len);
	local_tree_add(r->tree, node);
}

/* Elements of a container: as a text, or as nodes below. */
static void text_add_contents(struct local_reader *r, struct local_node *node, Dwarf_Die *element,
			      uint64_t addr, unsigned depth)
{
	uint32_t size = type_size(element);
	uint64_t shown = node->length < LOCAL_ELEMENTS_MAX ? node->length : LOCAL_ELEMENTS_MAX;
	struct local_bytes bytes = { .size = shown * size };
	size_t number;
	uint8_t *copy;

	if (local_type_is_text(element)) {
		node->kind = LOCAL_TEXT;
		if (size == 1)
			local_text_read(r, node, addr, node->length);
		local_tree_add(r->tree, node);
		return;
	}
	node->kind = LOCAL_LIST;
	number = local_tree_add(r->tree, node);
	if (number == SIZE_MAX || !r->show_values || !bytes.size || bytes.size > LOCAL_OBJECT_MAX ||
	    depth >= LOCAL_DEPTH_MAX)
		return;
	copy = malloc(bytes.size);
	if (copy && r->read(r->arg, addr, copy, bytes.size)) {
		bytes.data = copy;
		local_value_add_elements(r, element, &bytes, shown, depth);
		r->tree->nodes[number].is_cut = node->length > shown;
		local_tree_close(r->tree, number);
	}
	free(copy);
}

/* ---- the types ----------------------------------------------------------------------------- */

struct text_form {
	const char *prefix;        /* of the type's name */
	const char *data, *length; /* members; data "": the first pointer in member `in` */
	const char *in;
	const char *end; /* a pointer behind the last element, instead of a length */
};

static const struct text_form text_forms[] = {
	{ "basic_string<", "_M_p", "_M_string_length", NULL, NULL },
	{ "basic_string_view<", "_M_str", "_M_len", NULL, NULL },
	{ "basic_string_view<", "__data_", "__size_", NULL, NULL },
	{ "vector<", "_M_start", NULL, NULL, "_M_finish" },
	{ "vector<", "__begin_", NULL, NULL, "__end_" },
	{ "span<", "_M_ptr", "_M_extent_value", NULL, NULL },
	{ "String", "", "len", "buf", NULL },
	{ "Vec<", "", "len", "buf", NULL },
	{ "VecDeque<", "", "len", "buf", NULL },
	{ "", "data_ptr", "length", NULL, NULL },
};

/* Where the elements are, and how many.  False: not an object of this form. */
static bool text_measure(const struct text_form *form, Dwarf_Die *bare,
			 const struct local_bytes *bytes, Dwarf_Die *element, uint64_t *addr,
			 uint64_t *length)
{
	/* Many structs contain a slice somewhere; they are not one. */
	bool is_direct = !form->prefix[0];
	struct text_member in, data, count;
	uint64_t end;
	uint32_t size;

	if (form->in) {
		if (!text_find(bare, form->in, false, &in) ||
		    !text_find(&in.type, NULL, false, &data))
			return false;
		data.offset += in.offset;
	} else if (!text_find(bare, form->data, is_direct, &data)) {
		return false;
	}
	if (dwarf_tag(&data.type) != DW_TAG_pointer_type ||
	    !text_find(bare, form->end ? form->end : form->length, is_direct, &count))
		return false;
	if (!type_bare_of(&data.type, element))
		return false;
	*addr = *length = UINT64_MAX;
	if (!text_number(bytes, &data, addr))
		return true;
	if (!form->end) {
		text_number(bytes, &count, length);
		return true;
	}
	size = type_size(element);
	if (text_number(bytes, &count, &end) && size && end >= *addr && (end - *addr) % size == 0)
		*length = (end - *addr) / size;
	return true;
}

/* The elements of Rust's String and Vec: their pointer may be one to bytes. */
static void text_element(const char *name, Dwarf_Die *bare, Dwarf_Die *element)
{
	Dwarf_Attribute attr;
	unsigned left = TEXT_SEARCH_DIES;
	Dwarf_Die die, type;
	const char *found;

	if (strncmp(name, "Vec", 3) != 0 || dwarf_child(bare, &die) != 0)
		return;
	do {
		found = dwarf_tag(&die) == DW_TAG_template_type_parameter ? dwarf_diename(&die)
									  : NULL;
		if (found && !strcmp(found, "T") &&
		    dwarf_formref_die(dwarf_attr(&die, DW_AT_type, &attr), &type) &&
		    type_bare(&type, &type))
			*element = type;
	} while (--left && dwarf_siblingof(&die, &die) == 0);
}

/* std::optional: whether it has a value, and which. */
static bool text_add_optional(struct local_reader *r, struct local_node *node, Dwarf_Die *bare,
			      const struct local_bytes *bytes, unsigned depth)
{
	struct text_member engaged, value;
	struct local_bytes part;
	uint64_t is_engaged;
	size_t number;

	if (!text_find(bare, "_M_engaged", false, &engaged) ||
	    !text_find(bare, "_M_value", false, &value) ||
	    !text_number(bytes, &engaged, &is_engaged))
		return false;
	node->kind = LOCAL_VARIANT;
	node->text = is_engaged ? "value" : "nullopt";
	node->text_size = strlen(node->text);
	number = local_tree_add(r->tree, node);
	if (number == SIZE_MAX || !is_engaged || depth >= LOCAL_DEPTH_MAX)
		return true;
	part = local_bytes_from(bytes, value.offset);
	local_value_add_at(r, NULL, &value.type, &part, depth + 1);
	local_tree_close(r->tree, number);
	return true;
}

bool local_text_add(struct local_reader *r, struct local_node *node, Dwarf_Die *bare,
		    const struct local_bytes *bytes, unsigned depth)
{
	const char *name = dwarf_diename(bare);
	uint64_t addr, length;
	Dwarf_Die element;
	size_t i;

	if (name && !strncmp(name, "optional<", 9))
		return text_add_optional(r, node, bare, bytes, depth);
	for (i = 0; name && i < sizeof(text_forms) / sizeof(text_forms[0]); i++) {
		const struct text_form *form = &text_forms[i];

		if (strncmp(name, form->prefix, strlen(form->prefix)) != 0 ||
		    !text_measure(form, bare, bytes, &element, &addr, &length))
			continue;
		text_element(name, bare, &element);
		if (length > TEXT_LENGTH_SANE) {
			node->kind = LOCAL_STATE;
			node->text = bytes->valid ? "optimized out" : "damaged, or not alive";
			local_tree_add(r->tree, node);
			return true;
		}
		node->has_length = true;
		node->length = length;
		if (!strncmp(name, "VecDeque<", 9)) {
			node->kind = LOCAL_LIST;
			local_tree_add(r->tree, node);
			return true;
		}
		text_add_contents(r, node, &element, addr, depth);
		return true;
	}
	return false;
}
