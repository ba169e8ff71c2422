/* SPDX-License-Identifier: MIT */
/* copy_rows.c - rows in the formats of bulk loaders. */
#include "export/copy_rows.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/fmt.h"

/* ---- text: fields separated by tabs, special characters escaped ------------------- */

char *copy_event_text(char *p, const struct trace_event *ev)
{
	p = fmt_u64(p, ev->probe_id);
	*p++ = '\t';
	p = fmt_u64(p, ev->tid);
	*p++ = '\t';
	*p++ = '0';
	*p++ = 'x';
	p = fmt_hex16(p, ev->addr);
	*p++ = '\t';
	p = fmt_u64(p, ev->seq);
	*p++ = '\t';
	*p++ = ev->is_active ? '1' : '0';
	*p++ = '\t';
	p = fmt_u64(p, ev->ts);
	*p++ = '\n';
	return p;
}

static bool copy_put_escaped(struct bytes *b, const char *text, size_t size)
{
	char *start = bytes_room(b, 2 * size), *p = start;
	size_t i;

	if (!start)
		return false;
	for (i = 0; i < size; i++) {
		static const char special[] = "\\\t\n\r", letter[] = "\\tnr";
		const char *at = text[i] ? strchr(special, text[i]) : NULL;

		if (at)
			*p++ = '\\';
		*p++ = at ? letter[at - special] : text[i];
	}
	b->size += (size_t)(p - start);
	return true;
}

static bool copy_put_number(struct bytes *b, uint64_t u)
{
	char *p = bytes_room(b, FMT_U64_MAX);

	if (!p)
		return false;
	b->size += (size_t)(fmt_u64(p, u) - p);
	return true;
}

bool copy_row_text(struct bytes *b, enum table_id id, const struct cell *cells)
{
	const struct table *t = &tables[id];
	size_t i;

	for (i = 0; i < t->nr_columns; i++) {
		const struct cell *c = &cells[i];
		bool good = !i || bytes_put(b, "\t", 1);

		if (c->is_null)
			good &= bytes_put(b, "\\N", 2);
		else if (t->columns[i].type == COLUMN_TEXT)
			good &= copy_put_escaped(b, c->text, c->size);
		else
			good &= copy_put_number(b, c->u);
		if (!good)
			return false;
	}
	return bytes_put(b, "\n", 1);
}

/* ---- binary -------------------------------------------------------------- */

const char copy_binary_head[19] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0";
const char copy_binary_tail[2] = "\377\377";

static char *put_i16(char *p, unsigned v)
{
	uint16_t big = htons((uint16_t)v);

	memcpy(p, &big, sizeof(big));
	return p + sizeof(big);
}

static char *put_i32(char *p, uint32_t v)
{
	uint32_t big = htonl(v);

	memcpy(p, &big, sizeof(big));
	return p + sizeof(big);
}

/*
 * NUMERIC: digits of base 10000, the weight of the first, the sign, digits after the decimal
 * point.
 */
#define NUMERIC_MAX (4 + 8 + 5 * 2)

static char *put_numeric(char *p, uint64_t v)
{
	unsigned digits[5], nr = 0, i;
	char *start = p;

	for (; v; v /= 10000)
		digits[nr++] = (unsigned)(v % 10000);
	p = put_i16(p + 4, nr);
	p = put_i16(p, nr ? nr - 1 : 0);
	p = put_i32(p, 0);
	for (i = nr; i > 0; i--)
		p = put_i16(p, digits[i - 1]);
	put_i32(start, (uint32_t)(p - start - 4));
	return p;
}

char *copy_event_binary(char *p, const struct trace_event *ev)
{
	p = put_i16(p, 6);
	p = put_numeric(p, ev->probe_id);
	p = put_numeric(p, ev->tid);
	p = put_i32(p, 18);
	*p++ = '0';
	*p++ = 'x';
	p = fmt_hex16(p, ev->addr);
	p = put_numeric(p, ev->seq);
	p = put_i32(p, 1);
	*p++ = ev->is_active;
	return put_numeric(p, ev->ts);
}

static bool copy_put_cell(struct bytes *b, enum column_type type, const struct cell *c)
{
	char *p = bytes_room(b, NUMERIC_MAX);

	if (!p)
		return false;
	if (c->is_null) {
		b->size += (size_t)(put_i32(p, UINT32_MAX) - p);
		return true;
	}
	if (type != COLUMN_TEXT) {
		b->size += (size_t)(put_numeric(p, c->u) - p);
		return true;
	}
	b->size += (size_t)(put_i32(p, (uint32_t)c->size) - p);
	return bytes_put(b, c->text, c->size);
}

bool copy_row_binary(struct bytes *b, enum table_id id, const struct cell *cells)
{
	const struct table *t = &tables[id];
	char *p = bytes_room(b, 2);
	size_t i;

	if (!p)
		return false;
	b->size += (size_t)(put_i16(p, (unsigned)t->nr_columns) - p);
	for (i = 0; i < t->nr_columns; i++) {
		if (!copy_put_cell(b, t->columns[i].type, &cells[i]))
			return false;
	}
	return true;
}
