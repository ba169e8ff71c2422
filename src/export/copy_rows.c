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

static bool copy_put_number(struct bytes *b, const struct cell *c)
{
	char *p = bytes_room(b, cell_format_max(c));

	if (!p)
		return false;
	b->size += (size_t)(cell_format(p, c, CELL_CSV, false) - p);
	return true;
}

static bool copy_put_value(struct bytes *b, enum dialect dialect, const struct cell *c)
{
	if (c->kind == CELL_NULL ||
	    (c->kind == CELL_DOUBLE && dialect == DIALECT_MYSQL && !cell_is_finite(c)))
		return bytes_put(b, "\\N", 2);
	if (c->kind == CELL_TEXT)
		return copy_put_escaped(b, c->text, c->size);
	if (c->kind == CELL_BOOL)
		return bytes_put(b, c->u ? "1" : "0", 1);
	return copy_put_number(b, c);
}

bool copy_row_text(struct bytes *b, enum dialect dialect, const struct table *t,
		   const struct cell *cells)
{
	size_t i;

	for (i = 0; i < t->nr_columns; i++) {
		if ((i && !bytes_put(b, "\t", 1)) || !copy_put_value(b, dialect, &cells[i]))
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

static char *put_i64(char *p, uint64_t v)
{
	p = put_i32(p, sizeof(v));
	p = put_i32(p, (uint32_t)(v >> 32));
	return put_i32(p, (uint32_t)v);
}

static char *put_real(char *p, double d)
{
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	return put_i64(p, bits);
}

static char *put_bool(char *p, bool value)
{
	p = put_i32(p, 1);
	*p++ = value;
	return p;
}

/* A value of a text column; an enum without a name for its value is a number. */
static bool copy_put_text(struct bytes *b, const struct cell *c)
{
	char digits[64 + FMT_SLACK], *p = bytes_room(b, 4);
	const char *text = c->kind == CELL_TEXT ? c->text : digits;
	size_t size = c->kind == CELL_TEXT
			      ? c->size
			      : (size_t)(cell_format(digits, c, CELL_CSV, false) - digits);

	if (!p)
		return false;
	b->size += (size_t)(put_i32(p, (uint32_t)size) - p);
	return bytes_put(b, text, size);
}

static bool copy_put_cell(struct bytes *b, enum column_type type, const struct cell *c)
{
	char *p = bytes_room(b, NUMERIC_MAX), *end;

	if (!p)
		return false;
	if (c->kind == CELL_NULL)
		end = put_i32(p, UINT32_MAX);
	else if (type == COLUMN_TEXT)
		return copy_put_text(b, c);
	else if (type == COLUMN_I64)
		end = put_i64(p, c->u);
	else if (type == COLUMN_REAL)
		end = put_real(p, c->d);
	else if (type == COLUMN_BOOL)
		end = put_bool(p, c->u != 0);
	else
		end = put_numeric(p, c->u);
	b->size += (size_t)(end - p);
	return true;
}

bool copy_row_binary(struct bytes *b, const struct table *t, const struct cell *cells)
{
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
