/* SPDX-License-Identifier: MIT */
/*
 * dwarf_json.c - types from the JSON that dwarf2json of the Cacheray suite writes.
 *
 * The file has no size of a struct, no dimension of an array and no bits of a bit-field.  A struct
 * ends at the alignment after its last member; an array whose size is that of one element (gcc)
 * extends to the next member; members that overlap are one field.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_parse.h"
#include "memory/types/type_files.h"
#include "memory/types/type_model.h"

#define JSON_VERSION 4
#define POINTER_SIZE 8u
#define OFFSET_MAX_  (UINT64_C(1) << 40)

enum json_state { JSON_WAITS, JSON_IN_WORK, JSON_DONE };

struct json_record {
	const json_t *value;
	const char *name; /* without "struct " */
	bool is_union;
	enum json_state state;
	uint32_t number;
};

struct json_types {
	struct types *t;
	const char *path;
	struct err *err;
	struct json_record *records;
	size_t nr;
	struct u64map by_id; /* DWARF offset to 1 + record */
	unsigned depth;
};

static int json_no_memory(struct json_types *j)
{
	return err_set(j->err, -ENOMEM, "no memory for the types of '%s'", j->path);
}

static int json_types_refuse(struct json_types *j, const char *list, size_t index, const char *what)
{
	err_set(j->err, -EINVAL, "cannot read '%s': %s[%zu] %s", j->path, list, index, what);
	err_hint(j->err, "dwarf2json of the Cacheray suite writes such files (version %d)",
		 JSON_VERSION);
	return -EINVAL;
}

/* ---- names --------------------------------------------------------------- */

static const char *json_without(const char *text, const char *prefix)
{
	size_t size = strlen(prefix);

	return strncmp(text, prefix, size) ? text : text + size;
}

static int json_enter_name(struct types *t, const char *tag, const char *name, uint32_t number)
{
	char text[1100], folded[1024];
	uint64_t *at;
	int64_t key;

	snprintf(text, sizeof(text), "%s%s", tag, types_fold_name(name, folded, sizeof(folded)));
	key = strtab_intern(&t->texts, text);
	at = key < 0 ? NULL : u64map_at(&t->from_json, (uint64_t)key);
	if (at && !*at)
		*at = number;
	return at ? 0 : -ENOMEM;
}

static uint32_t json_find_text(const struct types *t, const char *text)
{
	int64_t key = strtab_find(&t->texts, text);
	uint64_t number;

	return key >= 0 && u64map_get(&t->from_json, (uint64_t)key, &number) ? (uint32_t)number : 0;
}

uint32_t types_json_find(const struct types *t, const char *name, bool only_tags)
{
	uint32_t number = only_tags ? 0 : json_find_text(t, name);
	char text[1100];

	if (number || !u64map_count(&t->from_json))
		return number;
	snprintf(text, sizeof(text), "struct %.1024s", name);
	return json_find_text(t, text);
}

/* ---- types of members ------------------------------------------------------ */

static uint32_t json_build_record(struct json_types *j, struct json_record *r);

static uint32_t json_alignment(uint64_t size)
{
	return size && size <= 16 && !(size & (size - 1)) ? (uint32_t)size : 1;
}

static uint32_t json_enter_type(struct json_types *j, const struct type *like, const char *name)
{
	struct type *made = calloc(1, sizeof(*made));

	if (!made)
		return 0;
	*made = *like;
	made->name = types_keep(j->t, name);
	if (!made->name) {
		free(made);
		return 0;
	}
	return die_enter(j->t, made);
}

/* The record that a member's type is, by the offset of its entry, else by name. */
static struct json_record *json_record_of(struct json_types *j, const json_t *id,
					  const char *spelling)
{
	const char *name = json_without(spelling, "struct ");
	uint64_t index;
	size_t i;

	if (json_is_integer(id) && u64map_get(&j->by_id, (uint64_t)json_integer_value(id), &index))
		return &j->records[index - 1];
	for (i = 0; i < j->nr && name != spelling; i++) {
		if (name[0] != '<' && !strcmp(j->records[i].name, name))
			return &j->records[i];
	}
	return NULL;
}

/* The size of one element, from its spelling: arrays have that size or a multiple of it. */
static uint64_t json_base_size(const char *spelling)
{
	static const struct {
		const char *word;
		uint64_t size;
	} sizes[] = {
		{ "char", 1 },   { "bool", 1 },     { "_Bool", 1 },     { "short", 2 },
		{ "double", 8 }, { "float", 4 },    { "__int128", 16 }, { "long", 8 },
		{ "int", 4 },    { "unsigned", 4 },
	};
	size_t i;

	if (!strcmp(spelling, "long double"))
		return 16;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (strstr(spelling, sizes[i].word))
			return sizes[i].size;
	}
	return 0;
}

static uint32_t json_build_element(struct json_types *j, const json_t *id, const char *spelling,
				   uint64_t size)
{
	struct type like = { .kind = TYPE_BASE, .size = size, .align = json_alignment(size) };
	struct json_record *record = json_record_of(j, id, spelling);
	size_t length = strlen(spelling);

	if (record)
		return json_build_record(j, record);
	if (length && spelling[length - 1] == '*') {
		like = (struct type){ .kind = TYPE_POINTER,
				      .size = POINTER_SIZE,
				      .align = POINTER_SIZE };
		return json_enter_type(j, &like, spelling);
	}
	if (spelling[0] == '<' || !strncmp(spelling, "struct ", 7))
		return 0;
	if (json_base_size(spelling) && json_base_size(spelling) < like.size)
		like.size = json_base_size(spelling);
	like.align = json_alignment(like.size);
	return like.size ? json_enter_type(j, &like, spelling) : 0;
}

/* @room: bytes up to the next member; 0: unknown. */
static uint32_t json_build_array(struct json_types *j, const json_t *id, const char *element,
				 struct type_member *m, uint64_t room)
{
	uint64_t hint = json_base_size(element);
	uint32_t inner = json_build_element(j, id, element, hint ? hint : m->size);
	const struct type *of = types_get(j->t, inner);
	struct type like = { .kind = TYPE_ARRAY, .element = inner, .align = of->align };
	char name[1200];

	if (!of->size)
		return 0;
	if (m->size <= of->size && room > of->size)
		m->size = room;
	like.count = m->size / of->size;
	like.size = m->size = like.count * of->size;
	snprintf(name, sizeof(name), "%.1000s[%llu]", of->name, (unsigned long long)like.count);
	return json_enter_type(j, &like, name);
}

/* ---- members --------------------------------------------------------------- */

struct json_member {
	const json_t *id;
	const char *spelling;
};

static void json_declare(struct json_types *j, struct type_member *m, const char *spelling)
{
	const struct type *type = types_get(j->t, m->type);
	const char *base = type->kind == TYPE_ARRAY ? types_get(j->t, type->element)->name
						    : spelling;
	size_t stars = 0, length = strlen(base);
	char text[2300];

	while (stars < length && base[length - 1 - stars] == '*')
		stars++;
	length -= stars;
	if (!m->type)
		snprintf(text, sizeof(text), "unsigned char %.500s[%llu] /* %.500s */", m->name,
			 (unsigned long long)m->size, spelling);
	else if (type->kind == TYPE_ARRAY)
		snprintf(text, sizeof(text), "%.*s %.*s%.500s[%llu]",
			 (int)(length < 1000 ? length : 1000), base, (int)(stars < 99 ? stars : 99),
			 base + length, m->name, (unsigned long long)type->count);
	else
		snprintf(text, sizeof(text), "%.*s %.*s%.500s",
			 (int)(length < 1000 ? length : 1000), base, (int)(stars < 99 ? stars : 99),
			 base + length, m->name);
	m->text = types_keep(j->t, text);
}

/* Complete a member that has name, offset and size: its type, alignment and declaration. */
static int json_settle_member(struct json_types *j, const struct json_member *from,
			      struct type_member *m, uint64_t room)
{
	const char *spelling = json_without(from->spelling, "const ");
	size_t length = strlen(spelling);
	char *element;

	if (length > 2 && !strcmp(spelling + length - 2, "[]")) {
		element = strndup(spelling, length - 2);
		if (!element)
			return -ENOMEM;
		m->type = json_build_array(j, from->id, element, m, room);
		free(element);
	} else {
		m->type = json_build_element(j, from->id, spelling, m->size);
		if (m->type && !m->size)
			m->size = types_get(j->t, m->type)->size;
	}
	if (!m->size)
		m->size = room ? room : 1;
	if (room && m->size > room)
		m->size = room;
	m->align = types_get(j->t, m->type)->align;
	if (!m->align || m->offset % m->align)
		m->align = 1;
	if (types_get(j->t, m->type)->size > m->size)
		m->type = 0; /* cut by the next member */
	if (!m->type)
		m->align = m->offset % json_alignment(m->size) ? 1 : json_alignment(m->size);
	json_declare(j, m, spelling);
	return m->text ? 0 : -ENOMEM;
}

static bool json_take_member(struct json_types *j, const json_t *value, bool in_union,
			     struct type_member *m, struct json_member *from)
{
	const json_t *offset = json_object_get(value, "offset");
	const json_t *size = json_object_get(value, "size");
	const char *name = json_string_value(json_object_get(value, "memberName"));

	from->id = json_object_get(value, "id");
	from->spelling = json_string_value(json_object_get(value, "name"));
	if (!from->spelling)
		from->spelling = "<unsupported type>";
	if (json_is_integer(offset) && !in_union)
		m->offset = (uint64_t)json_integer_value(offset);
	else if (!in_union)
		return false;
	if (json_is_integer(size) && json_integer_value(size) > 0)
		m->size = (uint64_t)json_integer_value(size);
	if (!name || !strncmp(name, "<anon", 5))
		name = "";
	m->name = types_keep(j->t, name);
	return m->name && m->offset < OFFSET_MAX_ && m->size < OFFSET_MAX_;
}

/* A member with the type it is spelled with, while the members are sorted. */
struct json_pair {
	struct type_member m;
	struct json_member from;
};

static int json_by_offset(const void *a, const void *b)
{
	const struct json_pair *x = a, *y = b;

	if (x->m.offset != y->m.offset)
		return x->m.offset < y->m.offset ? -1 : 1;
	return x < y ? -1 : 1;
}

/* Members that start at one offset are bit-fields of one unit: one field with all names. */
static uint32_t json_join_bits(struct json_types *j, struct json_pair *list, uint32_t nr)
{
	uint32_t i, kept = 0;
	char name[600];

	for (i = 0; i < nr; i++) {
		struct type_member *last = kept ? &list[kept - 1].m : NULL;

		if (!last || last->offset != list[i].m.offset || !last->size || !list[i].m.size) {
			list[kept++] = list[i];
			continue;
		}
		snprintf(name, sizeof(name), "%.400s,%.150s", last->name, list[i].m.name);
		last->name = types_keep(j->t, name);
		if (!last->name)
			last->name = "";
		last->size = list[i].m.size > last->size ? list[i].m.size : last->size;
	}
	return kept;
}

static int json_settle_members(struct json_types *j, struct type *type, struct json_pair *list,
			       uint32_t nr)
{
	bool in_union = type->kind == TYPE_UNION;
	uint32_t i;

	if (!in_union && nr > 1) {
		qsort(list, nr, sizeof(*list), json_by_offset);
		nr = json_join_bits(j, list, nr);
	}
	type->members = calloc(nr + 1, sizeof(*type->members));
	if (!type->members)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		uint64_t room = !in_union && i + 1 < nr ? list[i + 1].m.offset - list[i].m.offset
							: 0;

		if (json_settle_member(j, &list[i].from, &list[i].m, room) < 0)
			return -ENOMEM;
		type->members[type->nr_members++] = list[i].m;
	}
	return 0;
}

static int json_read_members(struct json_types *j, const json_t *members, struct type *type)
{
	size_t nr = json_array_size(members), i;
	struct json_pair *list;
	uint32_t taken = 0;
	int ret;

	if (nr > TYPE_MEMBERS_MAX)
		nr = TYPE_MEMBERS_MAX;
	list = calloc(nr + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (i = 0; i < nr; i++) {
		struct json_pair *p = &list[taken];

		memset(p, 0, sizeof(*p));
		if (json_take_member(j, json_array_get(members, i), type->kind == TYPE_UNION, &p->m,
				     &p->from))
			taken++;
	}
	ret = json_settle_members(j, type, list, taken);
	free(list);
	return ret;
}

/* ---- records ---------------------------------------------------------------- */

static void json_measure(struct json_types *j, struct type *type)
{
	uint64_t end = 0, align = 1;
	uint32_t i;

	for (i = 0; i < type->nr_members; i++) {
		const struct type_member *m = &type->members[i];

		if (m->align < types_get(j->t, m->type)->align)
			type->is_packed = true;
		align = m->align > align ? m->align : align;
		end = m->offset + m->size > end ? m->offset + m->size : end;
	}
	if (type->is_packed)
		align = 1;
	type->align = (uint32_t)align;
	type->size = (end + align - 1) / align * align;
}

static uint32_t json_new_record(struct json_types *j, const struct json_record *r)
{
	struct type *type = calloc(1, sizeof(*type));
	char name[1100];

	if (!type)
		return 0;
	snprintf(name, sizeof(name), "%s %.1000s", r->is_union ? "union" : "struct", r->name);
	type->kind = r->is_union ? TYPE_UNION : TYPE_STRUCT;
	type->name = types_keep(j->t, name);
	if (type->name && json_read_members(j, json_object_get(r->value, "members"), type) == 0) {
		json_measure(j, type);
		if (types_make_leaves(j->t, type) == 0)
			return die_enter(j->t, type);
	}
	free(type->members);
	free(type->leaves);
	free(type);
	j->t->no_memory = true;
	return 0;
}

/* A record that contains itself, which only a corrupt file has, is cut there. */
static uint32_t json_build_record(struct json_types *j, struct json_record *r)
{
	if (r->state == JSON_IN_WORK || j->depth == TYPE_DEPTH_MAX)
		return 0;
	if (r->state == JSON_WAITS) {
		r->state = JSON_IN_WORK;
		j->depth++;
		r->number = json_new_record(j, r);
		j->depth--;
		r->state = JSON_DONE;
	}
	return r->number;
}

static int json_list_records(struct json_types *j, const json_t *list, const char *key)
{
	bool is_union = !strcmp(key, "unions");
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *value = json_array_get(list, i);
		const json_t *id = json_object_get(value, "id");
		const char *name = json_string_value(json_object_get(value, "name"));
		struct json_record *r = &j->records[j->nr];

		if (!name || !json_is_array(json_object_get(value, "members")))
			return json_types_refuse(j, key, i, "has no name or no members");
		*r = (struct json_record){ .value = value,
					   .name = json_without(name, "struct "),
					   .is_union = is_union };
		j->nr++;
		if (json_is_integer(id) &&
		    u64map_put(&j->by_id, (uint64_t)json_integer_value(id), j->nr) < 0)
			return json_no_memory(j);
	}
	return 0;
}

static int json_build_all(struct json_types *j)
{
	size_t i;

	for (i = 0; i < j->nr; i++) {
		uint32_t number = json_build_record(j, &j->records[i]);

		if (number && json_enter_name(j->t, "struct ", j->records[i].name, number) < 0)
			return json_no_memory(j);
	}
	return j->t->no_memory ? json_no_memory(j) : 0;
}

static int json_read_typedefs(struct json_types *j, const json_t *list)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *value = json_array_get(list, i);
		const char *alias = json_string_value(json_object_get(value, "type"));
		const char *means = json_string_value(json_object_get(value, "def"));
		char folded[1024];
		uint32_t number;

		if (!alias || !means)
			return json_types_refuse(j, "typedefs", i, "has no type or no def");
		types_fold_name(json_without(means, "struct "), folded, sizeof(folded));
		number = types_json_find(j->t, folded, means != json_without(means, "struct "));
		if (number && json_enter_name(j->t, "", alias, number) < 0)
			return json_no_memory(j);
	}
	return 0;
}

/* Check the form; the records of structs and unions are counted in *@count. */
static int json_check_root(struct json_types *j, const json_t *root, size_t *count)
{
	const json_t *version = json_object_get(root, "version");
	const json_t *structs = json_object_get(root, "structs");
	const json_t *unions = json_object_get(root, "unions");
	size_t nr = json_array_size(structs) + json_array_size(unions);

	if (!json_is_integer(version) || json_integer_value(version) != JSON_VERSION || !nr ||
	    nr > TYPES_MAX) {
		err_set(j->err, -EINVAL, "cannot read '%s': it %s", j->path,
			!json_is_integer(version)                     ? "has no version"
			: json_integer_value(version) != JSON_VERSION ? "has a version other than 4"
			: nr                                          ? "has too many structs"
								      : "has no structs");
		err_hint(j->err, "dwarf2json of the Cacheray suite writes such files (version %d)",
			 JSON_VERSION);
		return -EINVAL;
	}
	*count = nr;
	return 0;
}

static int json_read_root(struct json_types *j, const json_t *root)
{
	int ret = json_list_records(j, json_object_get(root, "structs"), "structs");

	if (ret == 0)
		ret = json_list_records(j, json_object_get(root, "unions"), "unions");
	if (ret == 0)
		ret = json_build_all(j);
	return ret == 0 ? json_read_typedefs(j, json_object_get(root, "typedefs")) : ret;
}

int types_parse_json(struct types *t, const char *text, size_t size, const char *path,
		     struct err *err)
{
	struct json_types j = { .t = t, .path = path, .err = err };
	json_error_t why;
	size_t nr = 0;
	int ret;
	json_t *root = json_parse(text, size, 0, &why, &ret);

	if (ret == -ENOMEM)
		return json_no_memory(&j);
	if (!root) {
		err_set(err, -EINVAL, "cannot read '%s': line %d, column %d: %s", path, why.line,
			why.column, why.text);
		return err->code;
	}
	ret = json_check_root(&j, root, &nr);
	if (ret == 0) {
		j.records = calloc(nr, sizeof(*j.records));
		ret = j.records ? json_read_root(&j, root) : json_no_memory(&j);
	}
	json_decref(root);
	free(j.records);
	u64map_release(&j.by_id);
	return ret;
}
