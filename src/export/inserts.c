/* SPDX-License-Identifier: MIT */
/* inserts.c - rows as multi-row INSERT statements. */
#include "export/inserts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"

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
	char *start = bytes_room(b, 2 * size + 2), *p = start;
	size_t i;

	if (!start)
		return false;
	*p++ = '\'';
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

static bool inserts_put_cell(struct inserts *in, struct bytes *b, enum column_type type,
			     const struct cell *c)
{
	if (c->is_null)
		return inserts_put_word(b, "NULL");
	if (type == COLUMN_TEXT)
		return inserts_put_text(in, b, c->text, c->size);
	if (type == COLUMN_ADDR)
		return put_address(b, c->u);
	return inserts_put_number(in, b, type, c->u);
}

static bool inserts_begin(struct inserts *in, enum table_id id)
{
	struct bytes *b = &in->statements[id];
	struct sql sql;
	char *text;
	bool good;

	if (b->size)
		return inserts_put_word(b, ",\n");
	if (sql_begin(&sql)) {
		fputs("INSERT INTO ", sql.out);
		table_put_name(sql.out, in->dialect, in->names[id]);
		fputs(" (", sql.out);
		table_put_columns(sql.out, id);
		fputs(") VALUES\n", sql.out);
	}
	text = sql_end(&sql);
	good = text && inserts_put_word(b, text);
	free(text);
	return good;
}

static int send_one(struct inserts *in, enum table_id id, struct err *err)
{
	struct bytes *b = &in->statements[id];
	int rc = b->size ? in->send(in->to, (const char *)b->data, b->size, err) : 0;

	b->size = 0;
	return rc;
}

int inserts_row(struct inserts *in, enum table_id id, const struct cell *cells, struct err *err)
{
	struct bytes *b = &in->statements[id];
	bool good = inserts_begin(in, id) && inserts_put_word(b, "(");
	size_t i;

	for (i = 0; good && i < tables[id].nr_columns; i++)
		good = (!i || inserts_put_word(b, ",")) &&
		       inserts_put_cell(in, b, tables[id].columns[i].type, &cells[i]);
	if (!good || !inserts_put_word(b, ")"))
		return inserts_no_memory(err);
	return b->size >= STATEMENT_SIZE ? send_one(in, id, err) : 0;
}

int inserts_event(struct inserts *in, const struct trace_event *ev, struct err *err)
{
	struct cell cells[] = {
		{ .u = ev->probe_id }, { .u = ev->tid },       { .u = ev->addr },
		{ .u = ev->seq },      { .u = ev->is_active }, { .u = ev->ts },
	};

	return inserts_row(in, TABLE_EVENTS, cells, err);
}

int inserts_flush(struct inserts *in, struct err *err)
{
	size_t t;
	int rc = 0;

	for (t = 0; !rc && t < NR_TABLES; t++)
		rc = send_one(in, (enum table_id)t, err);
	return rc;
}

void inserts_release(struct inserts *in)
{
	size_t t;

	for (t = 0; t < NR_TABLES; t++)
		bytes_release(&in->statements[t]);
}
