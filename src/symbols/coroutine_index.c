/* SPDX-License-Identifier: MIT */
/* coroutine_index.c - the coroutine functions of a module as an entry of the cache. */
#include "symbols/coroutine_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/coroutine_layout.h"

#define INDEX_FORMAT    2u
#define INDEX_SYMBOLS   (1u << 20)
#define INDEX_FIELDS    4096u
#define INDEX_POINTS    4096u
#define INDEX_TEXT_MAX  (1u << 16)
#define INDEX_FRAME_MAX (1u << 25)

/* Sizes of what is encoded below. */
bool coro_index_is_whole(void)
{
	return sizeof(struct coro_type) == 112 && sizeof(struct coro_field) == 56 &&
	       sizeof(struct coro_point) == 48;
}

/* ---- write ----------------------------------------------------------------------- */

/* NULL is another text than "". */
static bool index_put_text(struct bytes *out, const char *text)
{
	size_t size = text ? strlen(text) : 0;

	bytes_add_varint(out, text ? size + 1 : 0);
	if (size)
		bytes_add(out, text, size + 1);
	else if (text)
		bytes_add(out, "", 1);
	return size < INDEX_TEXT_MAX;
}

static bool index_put_field(struct bytes *out, const struct coro_field *f)
{
	uint8_t i;

	bytes_add_varint(out, f->offset);
	bytes_add_varint(out, f->size);
	bytes_add_varint(out, (uint64_t)f->kind);
	bytes_add_varint(out, (uint64_t)f->in_promise | (uint64_t)f->is_signed << 1 |
				      (uint64_t)f->is_reference << 2);
	bytes_add_varint(out, f->nr_handles);
	for (i = 0; i < f->nr_handles; i++)
		bytes_add_varint(out, f->handles[i]);
	return f->path && f->type && index_put_text(out, f->path) && index_put_text(out, f->type) &&
	       index_put_text(out, f->owner) && index_put_text(out, f->root_type);
}

/* The code is near the function, and may be before it. */
static bool index_put_point(struct bytes *out, const struct coro_point *p, uint64_t resume)
{
	uint64_t away = p->addr - resume;

	bytes_add_varint(out, p->index);
	bytes_add_varint(out, p->addr ? (away << 1 ^ -(away >> 63)) + 1 : 0);
	bytes_add_varint(out, p->line);
	bytes_add_varint(out, p->is_initial);
	return index_put_text(out, p->file) && index_put_text(out, p->awaits);
}

static bool index_put_layout(struct bytes *out, const struct coro_type *t)
{
	size_t i;
	bool ok = t->nr_fields <= INDEX_FIELDS && t->nr_points <= INDEX_POINTS;

	bytes_add_varint(out, (uint64_t)t->has_layout | (uint64_t)t->has_index << 1 |
				      (uint64_t)t->is_gcc << 2 | (uint64_t)t->has_promise << 3 |
				      (uint64_t)t->starts_suspended << 4 |
				      (uint64_t)t->starts_running << 5);
	bytes_add_varint(out, t->size);
	bytes_add_varint(out, t->index_offset);
	bytes_add_varint(out, t->index_size);
	bytes_add_varint(out, t->promise_offset);
	bytes_add_varint(out, t->promise_size);
	bytes_add_varint(out, t->line);
	bytes_add_varint(out, t->last_line);
	ok = index_put_text(out, t->file) && ok;
	bytes_add_varint(out, t->nr_fields);
	for (i = 0; ok && i < t->nr_fields; i++)
		ok = index_put_field(out, &t->fields[i]);
	bytes_add_varint(out, t->nr_points);
	for (i = 0; ok && i < t->nr_points; i++)
		ok = index_put_point(out, &t->points[i], t->resume);
	return ok;
}

static bool index_put_symbol(struct bytes *out, const struct coro_index_symbol *s)
{
	bool ok = index_put_text(out, s->base);

	bytes_add_varint(out, s->addr);
	bytes_add_varint(out, s->size);
	bytes_add_varint(out, (uint64_t)s->is_resume | (uint64_t)s->is_loaded << 1);
	if (s->is_resume)
		ok = index_put_text(out, s->function) && ok;
	if (s->is_loaded)
		ok = index_put_layout(out, s->type) && ok;
	return ok;
}

static bool index_put_companions(struct bytes *out, const struct module_companions *list)
{
	size_t i;
	bool ok = true;

	bytes_add_varint(out, list->nr);
	for (i = 0; ok && i < list->nr; i++) {
		ok = index_put_text(out, list->at[i].path);
		bytes_add_varint(out, list->at[i].size);
		bytes_add_varint(out, (uint64_t)list->at[i].mtime_s);
		bytes_add_varint(out, list->at[i].mtime_ns);
	}
	return ok;
}

bool coro_index_put(const struct coro_index *index, const char *build_id, struct bytes *out)
{
	size_t i;
	bool ok = index->nr <= INDEX_SYMBOLS && coro_index_is_whole();

	bytes_add_varint(out, INDEX_FORMAT);
	ok = index_put_text(out, index_cache_version()) && ok;
	ok = index_put_text(out, build_id) && ok;
	ok = index_put_companions(out, &index->companions) && ok;
	bytes_add_varint(out, index->flags);
	bytes_add_varint(out, index->nr);
	for (i = 0; ok && i < index->nr; i++)
		ok = index_put_symbol(out, &index->symbols[i]);
	return ok && !out->error;
}

/* ---- read -------------------------------------------------------------------------- */

struct index_cursor {
	const unsigned char *at, *end;
	bool is_bad;
};

/* At most @max; more makes the entry bad. */
static uint64_t index_take_number(struct index_cursor *c, uint64_t max)
{
	uint64_t value = 0;
	unsigned shift = 0;

	while (c->at < c->end && shift < 64) {
		unsigned char byte = *c->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			c->is_bad = c->is_bad || value > max;
			return c->is_bad ? 0 : value;
		}
		shift += 7;
	}
	c->is_bad = true;
	return 0;
}

/* In the content; NULL: none, or bad. */
static const char *index_take_text(struct index_cursor *c)
{
	uint64_t size = index_take_number(c, INDEX_TEXT_MAX);
	const unsigned char *text = c->at;

	if (!size || c->is_bad)
		return NULL;
	if (size > (uint64_t)(c->end - c->at) || text[size - 1] || memchr(text, 0, size - 1)) {
		c->is_bad = true;
		return NULL;
	}
	c->at += size;
	return (const char *)text;
}

static char *index_take_copy(struct index_cursor *c)
{
	const char *text = index_take_text(c);
	char *copy = text ? strdup(text) : NULL;

	c->is_bad = c->is_bad || (text && !copy);
	return copy;
}

static void index_take_field(struct index_cursor *c, struct coro_field *f)
{
	uint64_t flags;
	uint8_t i;

	f->offset = (uint32_t)index_take_number(c, UINT32_MAX);
	f->size = (uint32_t)index_take_number(c, 64);
	f->kind = (enum coro_field_kind)index_take_number(c, CORO_FIELD_HANDLE);
	flags = index_take_number(c, 7);
	f->in_promise = flags & 1;
	f->is_signed = flags & 2;
	f->is_reference = flags & 4;
	f->nr_handles = (uint8_t)index_take_number(c, CORO_FIELD_HANDLES);
	for (i = 0; i < f->nr_handles; i++)
		f->handles[i] = (uint16_t)index_take_number(c, UINT16_MAX);
	f->path = index_take_copy(c);
	f->type = index_take_copy(c);
	f->owner = index_take_copy(c);
	f->root_type = index_take_copy(c);
	c->is_bad = c->is_bad || !f->path || !f->type;
}

static void index_take_point(struct index_cursor *c, struct coro_point *p)
{
	p->index = index_take_number(c, UINT64_MAX);
	p->addr = index_take_number(c, UINT64_MAX); /* see coro_index_settle() */
	p->line = (uint32_t)index_take_number(c, UINT32_MAX);
	p->is_initial = index_take_number(c, 1);
	p->file = index_take_copy(c);
	p->awaits = index_take_copy(c);
}

void coro_index_settle(struct coro_type *type)
{
	size_t i;

	for (i = 0; i < type->nr_points; i++) {
		uint64_t away = type->points[i].addr;

		if (away)
			type->points[i].addr = type->resume + ((away - 1) >> 1 ^ -((away - 1) & 1));
	}
}

static void index_take_lists(struct index_cursor *c, struct coro_type *t)
{
	uint64_t nr = index_take_number(c, INDEX_FIELDS);

	if (nr && !c->is_bad)
		t->fields = calloc(nr, sizeof(*t->fields));
	c->is_bad = c->is_bad || (nr && !t->fields);
	while (!c->is_bad && t->nr_fields < nr)
		index_take_field(c, &t->fields[t->nr_fields++]);
	nr = index_take_number(c, INDEX_POINTS);
	if (nr && !c->is_bad)
		t->points = calloc(nr, sizeof(*t->points));
	c->is_bad = c->is_bad || (nr && !t->points);
	while (!c->is_bad && t->nr_points < nr)
		index_take_point(c, &t->points[t->nr_points++]);
}

static void index_take_layout(struct index_cursor *c, struct coro_type *t)
{
	uint64_t flags = index_take_number(c, 63);

	t->has_layout = flags & 1;
	t->has_index = flags & 2;
	t->is_gcc = flags & 4;
	t->has_promise = flags & 8;
	t->starts_suspended = flags & 16;
	t->starts_running = flags & 32;
	t->size = (uint32_t)index_take_number(c, INDEX_FRAME_MAX);
	t->index_offset = (uint32_t)index_take_number(c, INDEX_FRAME_MAX);
	t->index_size = (uint32_t)index_take_number(c, INDEX_FRAME_MAX);
	t->promise_offset = (uint32_t)index_take_number(c, INDEX_FRAME_MAX);
	t->promise_size = (uint32_t)index_take_number(c, INDEX_FRAME_MAX);
	t->line = (uint32_t)index_take_number(c, UINT32_MAX);
	t->last_line = (uint32_t)index_take_number(c, UINT32_MAX);
	t->file = index_take_copy(c);
	index_take_lists(c, t);
	if (t->has_index && (!t->index_size || t->index_size > 8))
		c->is_bad = true;
	if (t->has_index && t->has_layout &&
	    (t->index_size > t->size || t->index_offset > t->size - t->index_size))
		c->is_bad = true;
}

static void index_take_symbol(struct index_cursor *c, struct coro_index_symbol *s)
{
	uint64_t flags;

	s->base = index_take_text(c);
	s->addr = index_take_number(c, UINT64_MAX);
	s->size = index_take_number(c, UINT64_MAX);
	flags = index_take_number(c, 3);
	s->is_resume = flags & 1;
	s->is_loaded = flags & 2;
	if (s->is_resume)
		s->function = index_take_text(c);
	if (!s->base || (s->is_resume && !s->function) || (s->is_loaded && !s->is_resume))
		c->is_bad = true;
	if (c->is_bad || !s->is_loaded)
		return;
	s->type = calloc(1, sizeof(*s->type));
	if (s->type)
		index_take_layout(c, s->type);
	else
		c->is_bad = true;
}

static void index_take_companions(struct index_cursor *c, struct module_companions *list)
{
	uint64_t nr = index_take_number(c, MODULE_COMPANIONS_MAX), i;

	for (i = 0; !c->is_bad && i < nr; i++) {
		struct module_companion one = { .path = index_take_text(c) };

		one.size = index_take_number(c, UINT64_MAX);
		one.mtime_s = (int64_t)index_take_number(c, UINT64_MAX);
		one.mtime_ns = (uint32_t)index_take_number(c, 999999999);
		if (!one.path || (!c->is_bad && !module_companion_add(list, &one)))
			c->is_bad = true;
	}
}

static const char *index_take_body(struct coro_index *index, struct index_cursor *c)
{
	uint64_t nr, i;

	index_take_companions(c, &index->companions);
	index->flags = (uint32_t)index_take_number(c, CORO_INDEX_STRIPPED | CORO_INDEX_NO_TOKIO);
	nr = index_take_number(c, INDEX_SYMBOLS);
	for (i = 0; !c->is_bad && i < nr; i++) {
		struct coro_index_symbol s = { 0 };

		index_take_symbol(c, &s);
		if (coro_index_add(index, &s) < 0) {
			if (s.type)
				coro_layout_release(s.type);
			free(s.type);
			c->is_bad = true;
		}
	}
	return c->is_bad || c->at != c->end ? "it is damaged" : NULL;
}

const char *coro_index_take(struct coro_index *index, struct bytes *content, const char *build_id)
{
	struct index_cursor c;
	const char *version, *id;

	index->text = *content;
	*content = (struct bytes){ 0 };
	c = (struct index_cursor){ index->text.data, index->text.data + index->text.size, false };
	if (index_take_number(&c, UINT64_MAX) != INDEX_FORMAT || !coro_index_is_whole())
		return "";
	version = index_take_text(&c);
	id = index_take_text(&c);
	if (!version || !id)
		return "it is damaged";
	if (strcmp(version, index_cache_version()) != 0)
		return "";
	if (strcmp(id, build_id) != 0)
		return "it belongs to another program";
	return index_take_body(index, &c);
}

/* ---- the rest ------------------------------------------------------------------------ */

int coro_index_add(struct coro_index *index, const struct coro_index_symbol *symbol)
{
	if (index->nr == index->room) {
		size_t room = index->room ? index->room * 2 : 64;
		struct coro_index_symbol *more = reallocarray(index->symbols, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		index->symbols = more;
		index->room = room;
	}
	index->symbols[index->nr++] = *symbol;
	return 0;
}

void coro_index_release(struct coro_index *index)
{
	size_t i;

	for (i = 0; index->text.data && i < index->nr; i++) {
		if (index->symbols[i].type)
			coro_layout_release(index->symbols[i].type);
		free(index->symbols[i].type);
	}
	free(index->symbols);
	module_companions_release(&index->companions);
	bytes_release(&index->text);
	*index = (struct coro_index){ 0 };
}
