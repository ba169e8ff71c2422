/* SPDX-License-Identifier: MIT */
/* tables.c - the tables of an export, the same in every database. */
#include "export/tables.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS(array) .columns = (array), .nr_columns = sizeof(array) / sizeof((array)[0])

static const struct column event_columns[] = {
	{ "probe_id", COLUMN_ID, false },    { "tid", COLUMN_U64, false },
	{ "addr", COLUMN_ADDR, false },      { "seq", COLUMN_U64, false },
	{ "is_active", COLUMN_BOOL, false }, { "ts", COLUMN_U64, false },
};

static const struct column detail_columns[] = {
	{ "run", COLUMN_U64, false },    { "probe_id", COLUMN_ID, false },
	{ "ts", COLUMN_U64, false },     { "kind", COLUMN_TEXT, false },
	{ "tid", COLUMN_U64, false },    { "seq", COLUMN_U64, true },
	{ "station", COLUMN_U64, true }, { "site", COLUMN_U64, true },
	{ "reason", COLUMN_TEXT, true }, { "resource", COLUMN_ID, true },
	{ "peer", COLUMN_ID, true },     { "flags", COLUMN_TEXT, true },
};

static const struct column coroutine_columns[] = {
	{ "run", COLUMN_U64, false },     { "probe_id", COLUMN_ID, false },
	{ "station", COLUMN_U64, true },  { "pid", COLUMN_U64, true },
	{ "name", COLUMN_TEXT, true },    { "parent", COLUMN_ID, true },
	{ "birth_ts", COLUMN_U64, true }, { "birth_site", COLUMN_U64, true },
	{ "end_ts", COLUMN_U64, true },   { "destroy_ts", COLUMN_U64, true },
	{ "state", COLUMN_TEXT, true },   { "since_ts", COLUMN_U64, true },
	{ "site", COLUMN_U64, true },     { "reason", COLUMN_TEXT, true },
	{ "resource", COLUMN_ID, true },  { "written", COLUMN_U64, true },
	{ "lost", COLUMN_U64, true },
};

static const struct column site_columns[] = {
	{ "run", COLUMN_U64, false },       { "site", COLUMN_U64, false },
	{ "file", COLUMN_TEXT, false },     { "line", COLUMN_U64, false },
	{ "function", COLUMN_TEXT, false },
};

static const char *const event_indexes[] = { "probe_id, seq", "tid, ts", "ts", NULL };
static const char *const detail_indexes[] = { "probe_id, ts", "ts", NULL };
static const char *const coroutine_indexes[] = { "probe_id", NULL };
static const char *const site_indexes[] = { "site", NULL };

const struct table tables[NR_TABLES] = {
	[TABLE_EVENTS] = { .suffix = "", COLUMNS(event_columns), .indexes = event_indexes },
	[TABLE_DETAILS] = { .suffix = "_details",
			    COLUMNS(detail_columns),
			    .indexes = detail_indexes },
	[TABLE_COROUTINES] = { .suffix = "_coroutines",
			       COLUMNS(coroutine_columns),
			       .indexes = coroutine_indexes },
	[TABLE_SITES] = { .suffix = "_sites", COLUMNS(site_columns), .indexes = site_indexes },
};

/* ---- names --------------------------------------------------------------- */

struct table *tables_make(const char *events, size_t nr)
{
	struct table *made = calloc(nr, sizeof(*made));
	size_t t;

	for (t = 0; made && t < nr; t++) {
		made[t] = tables[t];
		if (asprintf(&made[t].name, "%s%s", events ? events : TABLES_EVENTS,
			     tables[t].suffix) < 0) {
			tables_free(made, t);
			return NULL;
		}
	}
	return made;
}

void tables_free(struct table *made, size_t nr)
{
	size_t t;

	for (t = 0; made && t < nr; t++)
		free(made[t].name);
	free(made);
}

void table_put_quoted(FILE *out, enum dialect dialect, const char *name)
{
	char quote = dialect == DIALECT_MYSQL ? '`' : '"';

	putc(quote, out);
	for (; *name; name++) {
		if (*name == quote)
			putc(quote, out);
		putc(*name, out);
	}
	putc(quote, out);
}

static bool needs_no_quotes(enum dialect dialect, const struct table *t)
{
	return t->is_plain && dialect == DIALECT_SQLITE;
}

void table_put_name(FILE *out, enum dialect dialect, const struct table *t)
{
	if (dialect == DIALECT_POSTGRESQL)
		fputs("public.", out);
	if (needs_no_quotes(dialect, t))
		fputs(t->name, out);
	else
		table_put_quoted(out, dialect, t->name);
}

/*
 * "idx_TABLE_probe_id_seq".  In PostgreSQL and SQLite indexes and tables share one namespace,
 * so the name of the table is part of it; a long name is shortened to its beginning and its
 * length.
 */
static void put_index_name(FILE *out, enum dialect dialect, const char *name, const char *columns)
{
	char text[160], *c, *to;
	size_t len = strlen(name);

	if (len > 30)
		snprintf(text, sizeof(text), "idx_%.28s%zu_%s", name, len, columns);
	else
		snprintf(text, sizeof(text), "idx_%s_%s", name, columns);
	/* Bytes of UTF-8 are replaced: the cut may split a character. */
	for (c = to = text; *c; c++) {
		if (*c != ' ')
			*to++ = *c == ',' || *c & 0x80 ? '_' : *c;
	}
	*to = '\0';
	table_put_quoted(out, dialect, text);
}

/* ---- columns ------------------------------------------------------------- */

const char *table_type_name(enum dialect dialect, enum column_type type)
{
	static const char *const names[][7] = {
		[DIALECT_SQLITE] = { "TEXT", "INTEGER", "TEXT", "INTEGER", "TEXT", "INTEGER",
				     "REAL" },
		[DIALECT_MYSQL] = { "DECIMAL(20,0)", "DECIMAL(20,0)", "VARCHAR(18)", "BOOLEAN",
				    "TEXT", "BIGINT", "DOUBLE" },
		[DIALECT_POSTGRESQL] = { "NUMERIC(20,0)", "NUMERIC(20,0)", "VARCHAR(18)", "BOOLEAN",
					 "TEXT", "BIGINT", "DOUBLE PRECISION" },
	};

	return names[dialect][type];
}

/* Names of a trace's columns need no quotes, and the schema is for people to read. */
static void put_column_name(FILE *out, enum dialect dialect, const struct table *t, size_t i)
{
	if (t->has_no_id && !needs_no_quotes(dialect, t))
		table_put_quoted(out, dialect, t->columns[i].name);
	else
		fputs(t->columns[i].name, out);
}

void table_put_columns(FILE *out, enum dialect dialect, const struct table *t)
{
	size_t i;

	for (i = 0; i < t->nr_columns; i++) {
		fputs(i ? ", " : "", out);
		put_column_name(out, dialect, t, i);
	}
}

void table_put_insert(FILE *out, enum dialect dialect, const struct table *t)
{
	fputs("INSERT INTO ", out);
	table_put_name(out, dialect, t);
	fputs(" (", out);
	table_put_columns(out, dialect, t);
	fputs(") ", out);
}

/* MySQL has no CREATE INDEX IF NOT EXISTS. */
static void put_keys(FILE *out, const struct table *t)
{
	const char *const *columns;

	for (columns = t->indexes; *columns; columns++) {
		fputs(",\n  KEY ", out);
		put_index_name(out, DIALECT_MYSQL, t->name, *columns);
		fprintf(out, " (%s)", *columns);
	}
}

void table_put_create(FILE *out, enum dialect dialect, const struct table *t, bool with_keys)
{
	static const char *const ids[] = {
		[DIALECT_SQLITE] = "INTEGER PRIMARY KEY AUTOINCREMENT",
		[DIALECT_MYSQL] = "BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY",
		[DIALECT_POSTGRESQL] = "BIGSERIAL PRIMARY KEY",
	};
	const char *separator = t->has_no_id ? ", " : ",\n  ";
	size_t i;

	fputs("CREATE TABLE IF NOT EXISTS ", out);
	table_put_name(out, dialect, t);
	fputs(" (", out);
	if (!t->has_no_id)
		fprintf(out, "\n  id %s", ids[dialect]);
	for (i = 0; i < t->nr_columns; i++) {
		fputs(i || !t->has_no_id ? separator : "", out);
		put_column_name(out, dialect, t, i);
		fprintf(out, " %s%s", table_type_name(dialect, t->columns[i].type),
			t->columns[i].may_be_null ? "" : " NOT NULL");
	}
	if (with_keys)
		put_keys(out, t);
	fputs(t->has_no_id ? ")" : "\n)", out);
	if (dialect == DIALECT_MYSQL)
		fputs(" ENGINE=InnoDB DEFAULT CHARSET=utf8mb4", out);
}

/* ---- indexes ------------------------------------------------------------- */

void table_put_index(FILE *out, enum dialect dialect, const struct table *t, const char *columns)
{
	fprintf(out, "CREATE INDEX %s", dialect == DIALECT_MYSQL ? "" : "IF NOT EXISTS ");
	put_index_name(out, dialect, t->name, columns);
	fputs(" ON ", out);
	table_put_name(out, dialect, t);
	fprintf(out, " (%s)", columns);
}

void table_put_add_index(FILE *out, const struct table *t, const char *columns)
{
	fputs("ADD INDEX ", out);
	put_index_name(out, DIALECT_MYSQL, t->name, columns);
	fprintf(out, " (%s)", columns);
}

void tables_put_schema(FILE *out, enum dialect dialect, const char *events, bool full)
{
	size_t t, i, nr = tables_count(full);
	struct table *made = tables_make(events, nr);

	for (t = 0; made && t < nr; t++) {
		table_put_create(out, dialect, &made[t], dialect == DIALECT_MYSQL);
		fputs(";\n", out);
		for (i = 0; dialect != DIALECT_MYSQL && made[t].indexes[i]; i++) {
			table_put_index(out, dialect, &made[t], made[t].indexes[i]);
			fputs(";\n", out);
		}
	}
	tables_free(made, nr);
}

/* ---- texts --------------------------------------------------------------- */

FILE *sql_begin(struct sql *sql)
{
	sql->text = NULL;
	sql->out = open_memstream(&sql->text, &sql->size);
	return sql->out;
}

char *sql_end(struct sql *sql)
{
	bool failed;

	if (!sql->out)
		return NULL;
	failed = ferror(sql->out);
	if (fclose(sql->out) == 0 && !failed)
		return sql->text;
	free(sql->text);
	return NULL;
}
