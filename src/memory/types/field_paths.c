/* SPDX-License-Identifier: MIT */
/* field_paths.c - the fields of a type by path, and the field at an offset. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/types/type_model.h"

/* ---- build --------------------------------------------------------------- */

struct leaves {
	struct types *t;
	struct type_leaf *list;
	uint32_t nr, room;
	bool no_memory;
};

static struct type_leaf *types_add(struct leaves *l, const char *path, const char *type_name,
				   uint64_t offset, uint64_t size, uint32_t member)
{
	if (l->nr == l->room) {
		uint32_t room = l->room ? l->room * 2 : 8;
		void *more = realloc(l->list, room * sizeof(*l->list));

		if (!more) {
			l->no_memory = true;
			return NULL;
		}
		l->list = more;
		l->room = room;
	}
	l->list[l->nr] = (struct type_leaf){ .path = types_keep(l->t, path),
					     .type_name = type_name,
					     .offset = offset,
					     .size = size,
					     .member = member };
	if (!l->list[l->nr].path)
		l->no_memory = true;
	return &l->list[l->nr++];
}

/* The record whose leaves replace the member: the member's type, or the element of its array. */
static const struct type *record_of(const struct types *t, const struct type_member *m,
				    bool *is_array)
{
	const struct type *type = types_get(t, m->type);

	*is_array = type->kind == TYPE_ARRAY;
	if (*is_array)
		type = types_get(t, type->element);
	return type_is_record(type) && type->nr_leaves ? type : NULL;
}

/* std::atomic<int> and similar: one field that fills the record.  The member's name is enough. */
static bool types_is_wrapper(const struct type *inner)
{
	return inner->nr_leaves == 1 && inner->leaves[0].size == inner->size;
}

static void add_record(struct leaves *l, const struct type_member *m, uint32_t index,
		       const struct type *inner, bool is_array)
{
	bool nameless = !m->name[0] || m->flags & MEMBER_INHERITED;
	bool whole = types_is_wrapper(inner) && !nameless;
	char path[1024];
	uint32_t i;

	for (i = 0; i < inner->nr_leaves; i++) {
		const struct type_leaf *leaf = &inner->leaves[i];
		struct type_leaf *made;

		snprintf(path, sizeof(path), "%s%s%s%s", nameless ? "" : m->name,
			 is_array ? "[]" : "", nameless || whole ? "" : ".",
			 whole ? "" : leaf->path);
		made = types_add(l, path, leaf->type_name, m->offset + leaf->offset, leaf->size,
				 index);
		if (made)
			made->bits = leaf->bits;
	}
}

/* Make one leaf of adjacent bit-fields, from member @first on.  Returns their number. */
static uint32_t add_bits(struct leaves *l, struct type *type, uint32_t first)
{
	const struct type_member *m = &type->members[first];
	uint64_t start = m->offset, end = m->offset + m->size;
	uint32_t i, bits = 0;
	char path[256] = "";
	struct type_leaf *made;

	for (i = first; i < type->nr_members; i++) {
		size_t used = strlen(path);

		m = &type->members[i];
		if (!(m->flags & MEMBER_BITS) || (i > first && m->offset > end) ||
		    (i > first && type->kind == TYPE_UNION))
			break;
		snprintf(path + used, sizeof(path) - used, "%s%s:%u", i > first ? "," : "", m->name,
			 m->bit_size);
		bits += m->bit_size;
		end = m->offset + m->size > end ? m->offset + m->size : end;
		type->members[i].first_leaf = l->nr;
		type->members[i].nr_leaves = 1;
	}
	made = types_add(l, path, "bits", start, end - start, first);
	if (made)
		made->bits = bits;
	return i - first;
}

static void add_plain(struct leaves *l, const struct type_member *m, uint32_t index)
{
	const struct type *type = types_get(l->t, m->type);
	char path[512];

	snprintf(path, sizeof(path), "%s%s", m->name[0] ? m->name : "(anonymous)",
		 type->kind == TYPE_ARRAY ? "[]" : "");
	types_add(l, path, type->name, m->offset, m->size, index);
}

static bool types_find_tail(const struct types *t, const struct type *type)
{
	const struct type_member *last;
	const struct type *array;

	if ((type->kind != TYPE_STRUCT && type->kind != TYPE_CLASS) || type->nr_members < 2)
		return false;
	last = &type->members[type->nr_members - 1];
	array = types_get(t, last->type);
	return array->kind == TYPE_ARRAY && array->count <= 1 && last->nr_leaves &&
	       last->offset <= type->size && types_get(t, array->element)->size;
}

int types_make_leaves(struct types *t, struct type *type)
{
	struct leaves l = { .t = t };
	uint32_t i = 0;

	while (i < type->nr_members && !l.no_memory) {
		struct type_member *m = &type->members[i];
		const struct type *inner;
		bool is_array;

		if (m->flags & MEMBER_BITS) {
			i += add_bits(&l, type, i);
			continue;
		}
		m->first_leaf = l.nr;
		inner = record_of(t, m, &is_array);
		if (m->flags & MEMBER_INHERITED && !inner && m->type) {
			i++; /* an empty base takes no space */
			continue;
		}
		if (inner && l.nr + inner->nr_leaves + (type->nr_members - i) <= TYPE_LEAVES_MAX)
			add_record(&l, m, i, inner, is_array);
		else
			add_plain(&l, m, i);
		m->nr_leaves = l.nr - m->first_leaf;
		i++;
	}
	type->leaves = l.list;
	type->nr_leaves = l.nr;
	type->has_tail = types_find_tail(t, type);
	return l.no_memory ? -ENOMEM : 0;
}

/* ---- lookup -------------------------------------------------------------- */

struct field_found {
	uint32_t leaf;
	uint64_t start, end; /* offsets of the occurrence that contains the access */
};

static struct field_found types_find(const struct types *t, const struct type *type,
				     uint64_t offset, uint64_t size, unsigned depth);

static struct field_found find_in_member(const struct types *t, const struct type *type,
					 const struct type_member *m, uint64_t offset,
					 uint64_t size, unsigned depth)
{
	struct field_found f = { m->first_leaf, m->offset, m->offset + m->size };
	const struct type *inner;
	uint64_t base = m->offset;
	bool is_array;

	if (m->flags & MEMBER_BITS) {
		f.start = type->leaves[m->first_leaf].offset;
		f.end = f.start + type->leaves[m->first_leaf].size;
		return f;
	}
	inner = record_of(t, m, &is_array);
	if (!inner || m->nr_leaves != inner->nr_leaves || !inner->size || depth > TYPE_DEPTH_MAX)
		return f;
	if (is_array)
		base += (offset - m->offset) / inner->size * inner->size;
	f = types_find(t, inner, offset - base, size, depth + 1);
	f.start += base;
	f.end += base;
	if (f.leaf != LEAF_PADDING)
		f.leaf += m->first_leaf;
	return f;
}

static struct field_found find_in_union(const struct types *t, const struct type *type,
					uint64_t offset, uint64_t size, unsigned depth)
{
	struct field_found best = { LEAF_PADDING, 0, type->size }, f;
	uint32_t i;

	for (i = 0; i < type->nr_members; i++) {
		const struct type_member *m = &type->members[i];

		if (offset < m->offset || offset - m->offset >= m->size)
			continue;
		f = find_in_member(t, type, m, offset, size, depth);
		if (f.leaf == LEAF_PADDING)
			continue;
		if (f.start == offset && f.end - f.start == size)
			return f;
		if (best.leaf == LEAF_PADDING)
			best = f;
	}
	return best;
}

/* The last member that starts at @offset or before; nr_members if there is none. */
static uint32_t member_before(const struct type *type, uint64_t offset)
{
	uint32_t low = 0, high = type->nr_members;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (type->members[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : type->nr_members;
}

static struct field_found types_find(const struct types *t, const struct type *type,
				     uint64_t offset, uint64_t size, unsigned depth)
{
	struct field_found padding = { LEAF_PADDING, offset, type->size };
	uint32_t at, i;

	if (type->kind == TYPE_UNION)
		return find_in_union(t, type, offset, size, depth);
	at = member_before(type, offset);
	if (at + 1 < type->nr_members && type->members[at + 1].offset < padding.end)
		padding.end = type->members[at + 1].offset;
	if (at == type->nr_members && at)
		padding.end = type->members[0].offset;
	/*
	 * Empty members (an empty base, an array without elements) share their offset with
	 * others.
	 */
	for (i = at; i < type->nr_members && at - i < 8; i--) {
		const struct type_member *m = &type->members[i];

		if (offset - m->offset < m->size && m->nr_leaves)
			return find_in_member(t, type, m, offset, size, depth);
		if (m->size && !(m->flags & MEMBER_BITS))
			break;
	}
	return padding;
}

/* The field at @offset of the array at the end of @type, which has any number of elements. */
static struct field_found find_in_tail(const struct types *t, const struct type *type,
				       const struct type_member *tail, uint64_t offset,
				       uint64_t size)
{
	uint64_t element = types_get(t, types_get(t, tail->type)->element)->size;
	uint64_t before = (offset - tail->offset) / element * element;
	struct field_found f = find_in_member(t, type, tail, offset - before, size, 0);

	if (tail->nr_leaves == 1) /* one field up to the end of the block */
		return (struct field_found){ f.leaf, tail->offset, UINT64_MAX };
	f.start += before;
	f.end += before;
	return f;
}

uint32_t types_leaf_at(const struct types *t, uint32_t number, uint64_t offset, uint64_t size,
		       uint64_t *end)
{
	const struct type *type = types_get(t, number);
	const struct type_member *tail = type_tail(type);
	struct field_found f;

	if (tail && offset >= tail->offset) {
		f = find_in_tail(t, type, tail, offset, size);
		*end = f.end > offset ? f.end : offset + 1;
		return f.leaf != LEAF_PADDING && f.leaf >= type->nr_leaves ? LEAF_PADDING : f.leaf;
	}
	if (offset >= type->size || !type->nr_leaves) {
		*end = UINT64_MAX;
		return type->nr_leaves || !type_is_record(type) ? LEAF_BEYOND : LEAF_PADDING;
	}
	f = types_find(t, type, offset, size, 0);
	if (f.leaf != LEAF_PADDING && f.leaf >= type->nr_leaves)
		f.leaf = LEAF_PADDING;
	/* Even for corrupt debug information, make progress. */
	*end = f.end > offset ? f.end : offset + 1;
	return f.leaf;
}
