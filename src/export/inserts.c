/* SPDX-License-Identifier: MIT */
/* inserts.c - rows as multi-row INSERT statements. */
#include "export/inserts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/text.h"

/* Servers and clients accept a megabyte and more. */
#define STATEMENT_SIZE ((size_t)256 * 1024)

static int inserts_no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "no memory for a statement");
}

static bool inserts_put_word(struct bytes *b, const char *text)
{
	return bytes_put(b, text, strlen(text));
}

static bool inserts_put_number(struct inserts *in, struct bytes *b, enum column_type type,
			       uint64_t u)
{
	bool is_sqlite = in->dialect == DIALECT_SQLITE;
	bool as_blob = is_sqlite && type == COLUMN_U64 && u > INT64_MAX;
	bool quoted = as_blob || (is_sqlite && type == COLUMN_ID);
	char text[FMT_U64_MAX + FMT_SLACK];
	size_t size = (size_t)(fmt_u64(text, u) - text);

	in->large += as_blob;
	return (!as_blob || inserts_put_word(b, "CAST(")) &&
	       (!quoted || inserts_put_word(b, "'")) && bytes_put(b, text, size) &&
	       (!quoted || inserts_put_word(b, "'")) &&
	       (!as_blob || inserts_put_word(b, " AS BLOB)"));
}

/* Quotes are doubled; a backslash is special only in MySQL. */
static bool inserts_put_text(struct inserts *in, struct bytes *b, const char *text, size_t size)
{
	char *start = bytes_room(b, 2 * size + 4), *p = start;
	size_t i;

	if (!start)
		return false;
	*p++ = '\'';
	if (in->guard && text_is_formula(text, size)) {
		*p++ = '\'';
		*p++ = '\'';
	}
	for (i = 0; i < size; i++) {
		if (text[i] == '\'' || (text[i] == '\\' && in->dialect == DIALECT_MYSQL))
			*p++ = text[i];
		*p++ = text[i];
	}
	*p++ = '\'';
	b->size += (size_t)(p - start);
	return true;
}

static bool put_address(struct bytes *b, uint64_t addr)
{
	char *p = bytes_room(b, 20);

	if (!p)
		return false;
	p[0] = p[19] = '\'';
	p[1] = '0';
	p[2] = 'x';
	fmt_hex16(p + 3, addr);
	b->size += 20;
	return true;
}

/* Neither database has a literal for infinity; MySQL cannot store it. */
static bool inserts_put_real(struct inserts *in, struct bytes *b, const struct cell *c)
{
	char text[64 + FMT_SLACK];

	if (cell_is_finite(c))
		return bytes_put(b, text, (size_t)(cell_format(text, c, CELL_CSV, false) - text));
	if (isnan(c->d) || in->dialect == DIALECT_MYSQL)
		return inserts_put_word(b, "NULL");
	return inserts_put_word(b, c->d < 0 ? "-9e999" : "9e999");
}

static bool inserts_put_cell(struct inserts *in, struct bytes *b, enum column_type type,
			     const struct cell *c)
{
	switch (c->kind) {
	case CELL_NULL:
		return inserts_put_word(b, "NULL");
	case CELL_TEXT:
		return inserts_put_text(in, b, c->text, c->size);
	case CELL_DOUBLE:
		return inserts_put_real(in, b, c);
	case CELL_SIGNED:
		return (c->i >= 0 || inserts_put_word(b, "-")) &&
		       inserts_put_number(in, b, COLUMN_I64,
					  c->i < 0 ? -(uint64_t)c->i : (uint64_t)c->i);
	default:
		return type == COLUMN_ADDR ? put_address(b, c->u)
					   : inserts_put_number(in, b, type, c->u);
	}
}

static bool inserts_begin(struct inserts *in, size_t table)
{
	struct bytes *b = &in->statements[table];
	struct sql sql;
	char *text;
	bool good;

	if (b->size)
		return inserts_put_word(b, ",\n");
	if (sql_begin(&sql)) {
		table_put_insert(sql.out, in->dialect, &in->tables[table]);
		fputs("VALUES\n", sql.out);
	}
	text = sql_end(&sql);
	good = text && inserts_put_word(b, text);
	free(text);
	return good;
}

static int send_one(struct inserts *in, size_t table, struct err *err)
{
	struct bytes *b = &in->statements[table];
	int rc = b->size ? in->send(in->to, (const char *)b->data, b->size, err) : 0;

	b->size = 0;
	return rc;
}

int inserts_init(struct inserts *in)
{
	in->statements = calloc(in->nr_tables, sizeof(*in->statements));
	return in->statements ? 0 : -ENOMEM;
}

int inserts_row(struct inserts *in, size_t table, const struct cell *cells, struct err *err)
{
	struct bytes *b = &in->statements[table];
	bool good = inserts_begin(in, table) && inserts_put_word(b, "(");
	const struct table *t = &in->tables[table];
	size_t i;

	for (i = 0; good && i < t->nr_columns; i++)
		good = (!i || inserts_put_word(b, ",")) &&
		       inserts_put_cell(in, b, t->columns[i].type, &cells[i]);
	if (!good || !inserts_put_word(b, ")"))
		return inserts_no_memory(err);
	return b->size >= STATEMENT_SIZE ? send_one(in, table, err) : 0;
}

int inserts_event(struct inserts *in, const struct trace_event *ev, struct err *err)
{
	struct cell cells[] = {
		cell_u64(ev->probe_id), cell_u64(ev->tid),       cell_u64(ev->addr),
		cell_u64(ev->seq),      cell_u64(ev->is_active), cell_u64(ev->ts),
	};

	return inserts_row(in, TABLE_EVENTS, cells, err);
}

int inserts_flush(struct inserts *in, struct err *err)
{
	size_t t;
	int rc = 0;

	for (t = 0; !rc && t < in->nr_tables; t++)
		rc = send_one(in, t, err);
	return rc;
}

void inserts_release(struct inserts *in)
{
	size_t t;

	for (t = 0; in->statements && t < in->nr_tables; t++)
		bytes_release(&in->statements[t]);
	free(in->statements);
}
