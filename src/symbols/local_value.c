/* SPDX-License-Identifier: MIT */
/* local_value.c - turn the bytes of a variable into a value: scalars, structs, arrays, variants. */
#include "symbols/local_value.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory_shortage.h"
#include "symbols/member_path.h"
#include "symbols/rust_dies.h"
#include "symbols/type_name.h"

#define VALUE_NAME_MAX        512
#define VALUE_ENUMERATORS_MAX 4096
#define VALUE_UNION_DEPTH_MAX 6

static const char value_unknown[] = "optimized out";

/* ---- bytes ------------------------------------------------------------------------- */

bool local_bytes_number(const struct local_bytes *bytes, uint32_t offset, uint32_t size,
			uint64_t *out)
{
	uint32_t i;

	*out = 0;
	if (!size || size > 8 || offset > bytes->size || bytes->size - offset < size)
		return false;
	for (i = 0; bytes->valid && i < size; i++) {
		if (!bytes->valid[offset + i])
			return false;
	}
	memcpy(out, bytes->data + offset, size);
	return true;
}

struct local_bytes local_bytes_from(const struct local_bytes *bytes, uint32_t offset)
{
	struct local_bytes rest = { 0 };

	if (offset >= bytes->size)
		return rest;
	rest.data = bytes->data + offset;
	rest.valid = bytes->valid ? bytes->valid + offset : NULL;
	rest.size = bytes->size - offset;
	return rest;
}

static int64_t value_extend(uint64_t number, unsigned bits)
{
	if (bits && bits < 64 && (number & 1ull << (bits - 1)))
		number |= ~0ull << bits;
	return (int64_t)number;
}

/* ---- scalars ----------------------------------------------------------------------- */

static Dwarf_Word value_encoding(Dwarf_Die *bare)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding = 0;

	if (dwarf_tag(bare) == DW_TAG_base_type)
		dwarf_formudata(dwarf_attr(bare, DW_AT_encoding, &attr), &encoding);
	return encoding;
}

bool local_type_is_text(Dwarf_Die *bare)
{
	int tag = dwarf_tag(bare);
	Dwarf_Word encoding = value_encoding(bare);
	const char *name = dwarf_diename(bare);

	if (tag != DW_TAG_base_type && tag != DW_TAG_enumeration_type)
		return false;
	if (encoding == DW_ATE_boolean)
		return false;
	return type_size(bare) == 1 || encoding == DW_ATE_UTF || (name && !strcmp(name, "wchar_t"));
}

static void value_set_state(struct local_node *node, const char *why)
{
	node->kind = LOCAL_STATE;
	node->text = why;
}

static void value_set_real(struct local_node *node, const struct local_bytes *bytes, uint32_t size)
{
	uint64_t number;
	float small;

	node->kind = LOCAL_REAL;
	if (size == sizeof(long double) && bytes->size >= size && !bytes->valid) {
		long double wide;

		memcpy(&wide, bytes->data, sizeof(wide));
		node->real = (double)wide;
	} else if (!local_bytes_number(bytes, 0, size, &number)) {
		value_set_state(node, value_unknown);
	} else if (size == sizeof(double)) {
		memcpy(&node->real, &number, sizeof(node->real));
	} else if (size == sizeof(float)) {
		memcpy(&small, &number, sizeof(small));
		node->real = (double)small;
	} else {
		value_set_state(node, "a number of unknown form");
	}
}

/* @number has @bits bits. */
static void value_set_integer(struct local_node *node, Dwarf_Die *bare, uint64_t number,
			      unsigned bits)
{
	Dwarf_Word encoding = value_encoding(bare);

	node->number = number;
	switch (encoding) {
	case DW_ATE_boolean:
		node->kind = number <= 1 ? LOCAL_BOOL : LOCAL_UNSIGNED;
		break;
	case DW_ATE_signed_char:
	case DW_ATE_signed:
		node->kind = LOCAL_INTEGER;
		node->number = (uint64_t)value_extend(number, bits);
		break;
	case DW_ATE_UTF:
		node->kind = number <= 0x10ffff ? LOCAL_CHARACTER : LOCAL_UNSIGNED;
		break;
	default:
		node->kind = LOCAL_UNSIGNED;
	}
}

static void value_set_base(struct local_node *node, Dwarf_Die *bare,
			   const struct local_bytes *bytes)
{
	uint32_t size = type_size(bare);
	uint64_t number;

	if (value_encoding(bare) == DW_ATE_float)
		value_set_real(node, bytes, size);
	else if (size > 8)
		value_set_state(node, "a number of unknown form");
	else if (local_bytes_number(bytes, 0, size, &number))
		value_set_integer(node, bare, number, size * 8);
	else
		value_set_state(node, value_unknown);
}

static const char *value_enumerator(Dwarf_Die *bare, uint64_t number, uint64_t mask)
{
	Dwarf_Die die;
	int left = VALUE_ENUMERATORS_MAX;

	if (dwarf_child(bare, &die) != 0)
		return NULL;
	do {
		Dwarf_Attribute attr;
		Dwarf_Word value;

		if (dwarf_tag(&die) == DW_TAG_enumerator &&
		    dwarf_formudata(dwarf_attr(&die, DW_AT_const_value, &attr), &value) == 0 &&
		    (value & mask) == number)
			return dwarf_diename(&die);
	} while (--left && dwarf_siblingof(&die, &die) == 0);
	return NULL;
}

static void value_set_enum(struct local_node *node, Dwarf_Die *bare,
			   const struct local_bytes *bytes)
{
	uint32_t size = type_size(bare);
	uint64_t number, mask = size < 8 ? (1ull << (size * 8)) - 1 : ~0ull;
	Dwarf_Die underlying;

	if (!local_bytes_number(bytes, 0, size, &number)) {
		value_set_state(node, value_unknown);
		return;
	}
	node->text = value_enumerator(bare, number, mask);
	node->number = number;
	node->kind = LOCAL_NAME;
	if (node->text)
		node->text_size = strlen(node->text);
	else if (type_bare_of(bare, &underlying))
		value_set_integer(node, &underlying, number, size * 8);
	else
		node->kind = LOCAL_UNSIGNED;
}

/* ---- pointers and references ---------------------------------------------------------- */

/* Rust names its references "&T". */
static bool value_is_reference(Dwarf_Die *bare)
{
	const char *name = dwarf_diename(bare);

	return dwarf_tag(bare) != DW_TAG_pointer_type || (name && name[0] == '&');
}

/* The object that a reference names, with the reference's name and type. */
static void value_add_target(struct local_reader *r, struct local_node *node, Dwarf_Die *to,
			     uint64_t addr, unsigned depth)
{
	uint32_t size = type_size(to);
	struct local_bytes target = { .size = size };
	uint8_t *copy = size && size <= LOCAL_OBJECT_MAX ? malloc(size) : NULL;
	size_t number = r->tree->nr;

	if (size && size <= LOCAL_OBJECT_MAX && !copy)
		memory_shortage_note();
	if (copy && r->read(r->arg, addr, copy, size)) {
		target.data = copy;
		local_value_add_at(r, node->name, to, &target, depth + 1);
		if (r->tree->nr > number) {
			r->tree->nodes[number].type = node->type;
			r->tree->nodes[number].is_reference = true;
			if (r->tree->nodes[number].kind == LOCAL_STRUCT)
				r->tree->nodes[number].number = addr;
		}
	} else {
		node->is_unread = copy != NULL;
		local_tree_add(r->tree, node);
	}
	free(copy);
}

static void value_add_pointer(struct local_reader *r, struct local_node *node, Dwarf_Die *bare,
			      const struct local_bytes *bytes, unsigned depth)
{
	const char *name;
	Dwarf_Die to;
	bool has_target = type_bare_of(bare, &to);

	if (!local_bytes_number(bytes, 0, 8, &node->number)) {
		value_set_state(node, value_unknown);
		local_tree_add(r->tree, node);
		return;
	}
	node->kind = LOCAL_POINTER;
	name = has_target && dwarf_tag(&to) == DW_TAG_base_type ? dwarf_diename(&to) : NULL;
	if (node->number && name && !value_is_reference(bare) &&
	    (!strcmp(name, "char") || !strcmp(name, "char8_t")))
		local_text_add_pointer(r, node, node->number);
	else if (node->number && has_target && value_is_reference(bare) && depth < LOCAL_DEPTH_MAX)
		value_add_target(r, node, &to, node->number, depth);
	else
		local_tree_add(r->tree, node);
}

/* ---- arrays ---------------------------------------------------------------------------- */

void local_value_add_elements(struct local_reader *r, Dwarf_Die *type,
			      const struct local_bytes *bytes, uint64_t count, unsigned depth)
{
	uint32_t size = type_size(type);
	uint64_t i;

	for (i = 0; size && i < count && i < LOCAL_ELEMENTS_MAX; i++) {
		struct local_bytes one = local_bytes_from(bytes, (uint32_t)(i * size));

		if (one.size < size)
			break;
		one.size = size;
		local_value_add_at(r, NULL, type, &one, depth + 1);
	}
}

/* An array of characters or bytes; the contents up to the first 0. */
static void value_set_buffer(struct local_reader *r, struct local_node *node,
			     const struct local_bytes *bytes, uint32_t width)
{
	uint64_t all = node->length * width;
	size_t size = bytes->size < LOCAL_TEXT_MAX ? bytes->size : LOCAL_TEXT_MAX;

	node->kind = LOCAL_TEXT;
	if (!r->show_values || bytes->valid || width != 1)
		return;
	size = all < size ? (size_t)all : size;
	node->text_size = strnlen((const char *)bytes->data, size);
	node->text = local_tree_keep(r->tree, (const char *)bytes->data, node->text_size);
	node->is_cut = node->text_size == size && all > size;
}

static void value_add_array(struct local_reader *r, struct local_node *node, Dwarf_Die *bare,
			    const struct local_bytes *bytes, unsigned depth)
{
	Dwarf_Die type, element;
	size_t number, shown;

	node->kind = LOCAL_LIST;
	node->has_length = true;
	node->length = type_array_count(bare);
	if (!type_of_die(bare, &type) || !type_bare(&type, &element)) {
		value_set_state(node, "an array of an unknown type");
		local_tree_add(r->tree, node);
		return;
	}
	if (local_type_is_text(&element)) {
		value_set_buffer(r, node, bytes, type_size(&element));
		local_tree_add(r->tree, node);
		return;
	}
	number = local_tree_add(r->tree, node);
	if (number == SIZE_MAX || depth >= LOCAL_DEPTH_MAX)
		return;
	shown = node->length < LOCAL_ELEMENTS_MAX ? (size_t)node->length : LOCAL_ELEMENTS_MAX;
	local_value_add_elements(r, &type, bytes, shown, depth);
	r->tree->nodes[number].is_cut = node->length > shown;
	local_tree_close(r->tree, number);
}

/* ---- structs ----------------------------------------------------------------------------- */

/* Members of a union share their bytes: a number in it may be a part of a text. */
static bool value_has_text(struct local_reader *r, Dwarf_Die *type, unsigned depth)
{
	Dwarf_Die die, member;
	int tag = dwarf_tag(type);

	if (tag == DW_TAG_array_type)
		return type_bare_of(type, &member) &&
		       (local_type_is_text(&member) || value_has_text(r, &member, depth + 1));
	if (tag != DW_TAG_structure_type && tag != DW_TAG_class_type && tag != DW_TAG_union_type)
		return false;
	if (depth > VALUE_UNION_DEPTH_MAX)
		return true;
	if (dwarf_child(type, &die) != 0)
		return false;
	do {
		if (!r->left || !--r->left)
			return true;
		tag = dwarf_tag(&die);
		if (tag == DW_TAG_variant_part)
			return true;
		if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) &&
		    type_bare_of(&die, &member) && value_has_text(r, &member, depth + 1))
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* The number of the lowest bit of a bit-field, from the start of the struct. */
static bool value_bit_offset(Dwarf_Die *member, Dwarf_Die *type, Dwarf_Word bits, uint64_t *out)
{
	Dwarf_Attribute attr;
	Dwarf_Word at, unit = type_size(type);
	uint32_t offset;

	if (dwarf_formudata(dwarf_attr(member, DW_AT_data_bit_offset, &attr), &at) == 0) {
		*out = at;
		return at < (uint64_t)TYPE_SIZE_MAX * 8;
	}
	/* Until DWARF 3: from the highest bit of a unit. */
	dwarf_formudata(dwarf_attr(member, DW_AT_byte_size, &attr), &unit);
	if (dwarf_formudata(dwarf_attr(member, DW_AT_bit_offset, &attr), &at) != 0 ||
	    !member_start(member, &offset) || unit > 8 || at + bits > unit * 8)
		return false;
	*out = (uint64_t)offset * 8 + unit * 8 - at - bits;
	return true;
}

static void value_add_bits(struct local_reader *r, Dwarf_Die *member, Dwarf_Die *type,
			   const struct local_bytes *bytes, Dwarf_Word bits)
{
	char name[VALUE_NAME_MAX];
	struct local_node node = { .name = dwarf_diename(member) };
	uint64_t number, at;
	Dwarf_Die bare;

	type_name_text(type, name, sizeof(name));
	node.type = local_tree_keep(r->tree, name, strlen(name));
	value_set_state(&node, "a bit-field");
	if (type_bare(type, &bare) && dwarf_tag(&bare) == DW_TAG_base_type && bits && bits < 57 &&
	    value_bit_offset(member, &bare, bits, &at) &&
	    local_bytes_number(bytes, (uint32_t)(at / 8), (uint32_t)((at % 8 + bits + 7) / 8),
			       &number))
		value_set_integer(&node, &bare, number >> at % 8 & ((1ull << bits) - 1),
				  (unsigned)bits);
	local_tree_add(r->tree, &node);
}

static void value_add_members(struct local_reader *r, Dwarf_Die *type,
			      const struct local_bytes *bytes, unsigned depth);

static void value_add_member(struct local_reader *r, Dwarf_Die *die,
			     const struct local_bytes *bytes, unsigned depth)
{
	const char *name = dwarf_diename(die);
	struct local_bytes part;
	Dwarf_Attribute attr;
	Dwarf_Word bits;
	Dwarf_Die type, bare;
	uint32_t offset;

	if (dwarf_hasattr(die, DW_AT_declaration) || dwarf_hasattr(die, DW_AT_external) ||
	    (name && !strncmp(name, "_vptr", 5)) || !type_of_die(die, &type))
		return;
	if (dwarf_formudata(dwarf_attr(die, DW_AT_bit_size, &attr), &bits) == 0) {
		value_add_bits(r, die, &type, bytes, bits);
		return;
	}
	if (!member_start(die, &offset))
		return;
	part = local_bytes_from(bytes, offset);
	/* Base classes and members without a name: their members are those of the struct. */
	if (dwarf_tag(die) == DW_TAG_inheritance || !name) {
		if (type_bare(&type, &bare))
			value_add_members(r, &bare, &part, depth + 1);
		return;
	}
	local_value_add_at(r, name, &type, &part, depth + 1);
}

static void value_add_members(struct local_reader *r, Dwarf_Die *type,
			      const struct local_bytes *bytes, unsigned depth)
{
	int shown = 0, tag = dwarf_tag(type);
	Dwarf_Die die;

	if (depth > 2 * LOCAL_DEPTH_MAX ||
	    (tag == DW_TAG_union_type && !r->show_values && value_has_text(r, type, 0)) ||
	    dwarf_child(type, &die) != 0)
		return;
	do {
		if (!r->left || !--r->left || shown == LOCAL_MEMBERS_MAX) {
			r->tree->is_full = true;
			return;
		}
		tag = dwarf_tag(&die);
		if (tag != DW_TAG_member && tag != DW_TAG_inheritance)
			continue;
		value_add_member(r, &die, bytes, depth);
		shown++;
	} while (dwarf_siblingof(&die, &die) == 0);
}

/* An enum of Rust: the variant that its selector names. */
static bool value_add_variant(struct local_reader *r, struct local_node *node, Dwarf_Die *bare,
			      const struct local_bytes *bytes, unsigned depth)
{
	struct rust_layouts layouts = { 0 };
	const struct rust_layout *layout = rust_layout_find(&layouts, bare);
	const struct rust_variant *variant = NULL;
	bool has_variants = layout->has_variants, is_known;
	struct local_bytes part;
	Dwarf_Die member, type;
	uint64_t value;
	uint32_t offset = 0;
	size_t number;

	if (has_variants &&
	    local_bytes_number(bytes, layout->selector_offset, layout->selector_size, &value))
		variant = rust_die_variant(layout, value);
	is_known = variant;
	if (is_known)
		member = variant->member;
	rust_layouts_release(&layouts);
	if (!has_variants)
		return false;
	if (!is_known || !type_bare_of(&member, &type) || !member_start(&member, &offset)) {
		value_set_state(node, "an unknown variant");
		local_tree_add(r->tree, node);
		return true;
	}
	node->kind = LOCAL_VARIANT;
	node->text = dwarf_diename(&member);
	node->text_size = node->text ? strlen(node->text) : 0;
	number = local_tree_add(r->tree, node);
	if (number == SIZE_MAX || depth >= LOCAL_DEPTH_MAX)
		return true;
	part = local_bytes_from(bytes, offset);
	value_add_members(r, &type, &part, depth);
	local_tree_close(r->tree, number);
	return true;
}

static void value_add_struct(struct local_reader *r, struct local_node *node, Dwarf_Die *bare,
			     const struct local_bytes *bytes, unsigned depth)
{
	size_t number;

	if (local_text_add(r, node, bare, bytes, depth) ||
	    value_add_variant(r, node, bare, bytes, depth))
		return;
	node->kind = LOCAL_STRUCT;
	if (dwarf_tag(bare) == DW_TAG_union_type && !r->show_values && value_has_text(r, bare, 0))
		value_set_state(node, "a union with a text (--show-values)");
	number = local_tree_add(r->tree, node);
	if (number == SIZE_MAX || node->kind == LOCAL_STATE)
		return;
	if (depth >= LOCAL_DEPTH_MAX) {
		r->tree->nodes[number].is_cut = true;
		return;
	}
	value_add_members(r, bare, bytes, depth);
	local_tree_close(r->tree, number);
}

/* ---- all of it ----------------------------------------------------------------------------- */

static void value_begin(struct local_reader *r, struct local_node *node, const char *name,
			Dwarf_Die *type)
{
	char text[VALUE_NAME_MAX];

	type_name_text(type, text, sizeof(text));
	*node = (struct local_node){
		.name = name,
		.type = local_tree_keep(r->tree, text, strlen(text)),
	};
}

void local_value_add_at(struct local_reader *r, const char *name, Dwarf_Die *type,
			const struct local_bytes *bytes, unsigned depth)
{
	struct local_node node;
	Dwarf_Die bare;
	bool has_type = type_bare(type, &bare);

	if (r->tree->nr == LOCAL_NODES_MAX) {
		r->tree->is_full = true;
		return;
	}
	value_begin(r, &node, name, type);
	switch (has_type ? dwarf_tag(&bare) : DW_TAG_unspecified_type) {
	case DW_TAG_base_type:
		value_set_base(&node, &bare, bytes);
		local_tree_add(r->tree, &node);
		break;
	case DW_TAG_enumeration_type:
		value_set_enum(&node, &bare, bytes);
		local_tree_add(r->tree, &node);
		break;
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		value_add_pointer(r, &node, &bare, bytes, depth);
		break;
	case DW_TAG_array_type:
		value_add_array(r, &node, &bare, bytes, depth);
		break;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		value_add_struct(r, &node, &bare, bytes, depth);
		break;
	default:
		value_set_state(&node, "a value of an unknown type");
		local_tree_add(r->tree, &node);
	}
}

void local_value_add(struct local_reader *r, const char *name, Dwarf_Die *type,
		     const struct local_bytes *bytes)
{
	local_value_add_at(r, name, type, bytes, 0);
}

void local_value_add_state(struct local_reader *r, const char *name, Dwarf_Die *type,
			   const char *why)
{
	struct local_node node;

	value_begin(r, &node, name, type);
	value_set_state(&node, why);
	local_tree_add(r->tree, &node);
}
