/* SPDX-License-Identifier: MIT */
/* column_encoder.c - tables stored by column. */
#include "view/column_encoder.h"

#include <errno.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "columns are written as they lie in memory");

static const struct {
	const char *name;
	size_t size; /* 0: variable */
} types[] = {
	[COLUMN_U8] = { "u8", 1 },   [COLUMN_U16] = { "u16", 2 }, [COLUMN_U32] = { "u32", 4 },
	[COLUMN_F64] = { "f64", 8 }, [COLUMN_V] = { "v", 0 },     [COLUMN_DV] = { "dv", 0 },
};

void columns_begin(struct view_columns *c)
{
	*c = (struct view_columns){ 0 };
	jw_init_buffer(&c->header);
	jw_object_begin(&c->header);
}

/* Reserve space for a column, aligned to eight bytes; NULL after a failure. */
static unsigned char *columns_place(struct view_columns *c, const char *name,
				    enum view_column_type type, size_t count, size_t bytes)
{
	size_t pad = (8 - c->body.size % 8) % 8;
	unsigned char *at = bytes_more(&c->body, pad);

	if (c->nr == COLUMNS_MAX && !c->body.error)
		c->body.error = -E2BIG;
	if (c->body.error)
		return NULL;
	memset(at, 0, pad);
	c->all[c->nr++] = (struct view_column){ name, type, c->body.size, bytes, count };
	return bytes_more(&c->body, bytes);
}

size_t columns_add(struct view_columns *c, const char *name, enum view_column_type type,
		   size_t count)
{
	size_t bytes = count * types[type].size;
	unsigned char *at = columns_place(c, name, type, count, bytes);

	if (at)
		memset(at, 0, bytes);
	return c->nr - 1;
}

void columns_set(struct view_columns *c, size_t column, size_t row, double value)
{
	const struct view_column *to = &c->all[column];
	unsigned char *at = c->body.data + to->offset + row * types[to->type].size;
	uint32_t number;

	if (c->body.error)
		return;
	if (to->type == COLUMN_F64) {
		memcpy(at, &value, sizeof(value));
		return;
	}
	number = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
	memcpy(at, &number, types[to->type].size);
}

void columns_add_bytes(struct view_columns *c, const char *name, enum view_column_type type,
		       const struct bytes *bytes, size_t count)
{
	unsigned char *at = columns_place(c, name, type, count, bytes->size);

	if (bytes->error)
		c->body.error = bytes->error;
	else if (at && bytes->size)
		memcpy(at, bytes->data, bytes->size);
}

static void columns_put_columns(struct view_columns *c)
{
	struct json_writer *j = &c->header;
	size_t i;

	jw_key(j, "columns");
	jw_array_begin(j);
	for (i = 0; i < c->nr; i++) {
		jw_object_begin(j);
		jw_field_string(j, "name", c->all[i].name);
		jw_field_string(j, "type", types[c->all[i].type].name);
		jw_field_u64(j, "offset", c->all[i].offset);
		jw_field_u64(j, "count", c->all[i].count);
		jw_field_u64(j, "bytes", c->all[i].bytes);
		jw_object_end(j);
	}
	jw_array_end(j);
	jw_object_end(j);
}

int columns_end(struct view_columns *c, size_t rows, struct bytes *out)
{
	size_t size, pad;
	const char *text;
	uint32_t whole;
	int rc;

	jw_field_u64(&c->header, "rows", rows);
	columns_put_columns(c);
	text = jw_text(&c->header, &size);
	if (text) {
		pad = (8 - (4 + size) % 8) % 8;
		whole = (uint32_t)(size + pad);
		bytes_add(out, &whole, sizeof(whole));
		bytes_add(out, text, size);
		bytes_add(out, "        ", pad);
		bytes_add(out, c->body.data, c->body.size);
	}
	rc = c->body.error ? c->body.error : out->error;
	bytes_release(&c->body);
	jw_release(&c->header);
	return rc ? rc : text ? 0 : -ENOMEM;
}
