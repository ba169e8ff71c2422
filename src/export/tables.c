/* SPDX-License-Identifier: MIT */
/* tables.c - the tables of an export, the same in every database. */
#include "export/tables.h"

#include <stdlib.h>
#include <string.h>

#define NR(array) (sizeof(array) / sizeof((array)[0]))

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
	[TABLE_EVENTS] = { "", event_columns, NR(event_columns), event_indexes },
	[TABLE_DETAILS] = { "_details", detail_columns, NR(detail_columns), detail_indexes },
	[TABLE_COROUTINES] = { "_coroutines", coroutine_columns, NR(coroutine_columns),
			       coroutine_indexes },
	[TABLE_SITES] = { "_sites", site_columns, NR(site_columns), site_indexes },
};

/* ---- names --------------------------------------------------------------- */

char *table_name(const char *events, enum table_id id)
{
	char *name;

	return asprintf(&name, "%s%s", events, tables[id].suffix) < 0 ? NULL : name;
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

void table_put_name(FILE *out, enum dialect dialect, const char *name)
{
	if (dialect == DIALECT_POSTGRESQL)
		fputs("public.", out);
	table_put_quoted(out, dialect, name);
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
	static const char *const names[][5] = {
		[DIALECT_SQLITE] = { "TEXT", "INTEGER", "TEXT", "INTEGER", "TEXT" },
		[DIALECT_MYSQL] = { "DECIMAL(20,0)", "DECIMAL(20,0)", "VARCHAR(18)", "BOOLEAN",
				    "TEXT" },
		[DIALECT_POSTGRESQL] = { "NUMERIC(20,0)", "NUMERIC(20,0)", "VARCHAR(18)", "BOOLEAN",
					 "TEXT" },
	};

	return names[dialect][type];
}

void table_put_columns(FILE *out, enum table_id id)
{
	size_t i;

	for (i = 0; i < tables[id].nr_columns; i++)
		fprintf(out, "%s%s", i ? ", " : "", tables[id].columns[i].name);
}

/* MySQL has no CREATE INDEX IF NOT EXISTS. */
static void put_keys(FILE *out, const char *name, const char *const *indexes)
{
	for (; *indexes; indexes++) {
		fputs(",\n  KEY ", out);
		put_index_name(out, DIALECT_MYSQL, name, *indexes);
		fprintf(out, " (%s)", *indexes);
	}
}

void table_put_create(FILE *out, enum dialect dialect, const char *name, enum table_id id,
		      bool with_keys)
{
	static const char *const ids[] = {
		[DIALECT_SQLITE] = "INTEGER PRIMARY KEY AUTOINCREMENT",
		[DIALECT_MYSQL] = "BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY",
		[DIALECT_POSTGRESQL] = "BIGSERIAL PRIMARY KEY",
	};
	const struct table *t = &tables[id];
	size_t i;

	fputs("CREATE TABLE IF NOT EXISTS ", out);
	table_put_name(out, dialect, name);
	fprintf(out, " (\n  id %s", ids[dialect]);
	for (i = 0; i < t->nr_columns; i++)
		fprintf(out, ",\n  %s %s%s", t->columns[i].name,
			table_type_name(dialect, t->columns[i].type),
			t->columns[i].may_be_null ? "" : " NOT NULL");
	if (with_keys)
		put_keys(out, name, t->indexes);
	fputs("\n)", out);
	if (dialect == DIALECT_MYSQL)
		fputs(" ENGINE=InnoDB DEFAULT CHARSET=utf8mb4", out);
}

/* ---- indexes ------------------------------------------------------------- */

void table_put_index(FILE *out, enum dialect dialect, const char *name, const char *columns)
{
	fprintf(out, "CREATE INDEX %s", dialect == DIALECT_MYSQL ? "" : "IF NOT EXISTS ");
	put_index_name(out, dialect, name, columns);
	fputs(" ON ", out);
	table_put_name(out, dialect, name);
	fprintf(out, " (%s)", columns);
}

void table_put_add_index(FILE *out, const char *name, const char *columns)
{
	fputs("ADD INDEX ", out);
	put_index_name(out, DIALECT_MYSQL, name, columns);
	fprintf(out, " (%s)", columns);
}

void tables_put_schema(FILE *out, enum dialect dialect, const char *events, bool full)
{
	size_t t, i;

	for (t = 0; t < tables_count(full); t++) {
		char *name = table_name(events, (enum table_id)t);

		if (!name)
			return;
		table_put_create(out, dialect, name, (enum table_id)t, dialect == DIALECT_MYSQL);
		fputs(";\n", out);
		for (i = 0; dialect != DIALECT_MYSQL && tables[t].indexes[i]; i++) {
			table_put_index(out, dialect, name, tables[t].indexes[i]);
			fputs(";\n", out);
		}
		free(name);
	}
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
