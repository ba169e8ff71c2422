/* SPDX-License-Identifier: MIT */
/* tables.c - the tables of an export, the same in every database. */
#include "export/tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/schema.h"
#include "base/io.h"

/* Those of the existing coroTracer. */
static const struct column event_columns[] = {
	{ "probe_id", COLUMN_ID, false },    { "tid", COLUMN_U64, false },
	{ "addr", COLUMN_ADDR, false },      { "seq", COLUMN_U64, false },
	{ "is_active", COLUMN_BOOL, false }, { "ts", COLUMN_U64, false },
};

static const char *const event_indexes[] = { "probe_id, seq", "tid, ts", "ts", NULL };
static const char *const detail_indexes[] = { "probe_id, ts", "ts", NULL };
static const char *const coroutine_indexes[] = { "probe_id", NULL };
static const char *const site_indexes[] = { "site", NULL };
static const char *const switch_indexes[] = { "tid, from_ts", NULL };
static const char *const frame_indexes[] = { "probe_id, ts", "ts", NULL };

static const struct {
	const char *suffix;
	enum trace_item_type type;
	const char *const *indexes;
} trace_tables[NR_TABLES] = {
	[TABLE_EVENTS] = { "", TRACE_ITEM_EVENT, event_indexes },
	[TABLE_DETAILS] = { "_details", TRACE_ITEM_EVENT, detail_indexes },
	[TABLE_COROUTINES] = { "_coroutines", TRACE_ITEM_COROUTINE, coroutine_indexes },
	[TABLE_SITES] = { "_sites", TRACE_ITEM_SITE, site_indexes },
	[TABLE_SWITCHES] = { "_switches", TRACE_ITEM_SWITCH, switch_indexes },
	[TABLE_FRAMES] = { "_frames", TRACE_ITEM_FRAME, frame_indexes },
};

/* ---- the columns of a trace ----------------------------------------------- */

static enum column_type tables_column_type(const struct schema_field *f)
{
	switch ((enum schema_type)f->type) {
	case SCHEMA_ID:
		return COLUMN_ID;
	case SCHEMA_ADDR:
		return COLUMN_ADDR;
	case SCHEMA_U64:
	case SCHEMA_U32:
	case SCHEMA_INT:
		return COLUMN_U64;
	case SCHEMA_BOOL:
		return COLUMN_BOOL;
	default:
		return COLUMN_TEXT;
	}
}

/* The first column is the run; a field has the number of its column. */
static void tables_set_columns(struct table *t, enum trace_item_type type, struct column *columns)
{
	size_t i;

	columns[0] = (struct column){ "run", COLUMN_U64, false };
	t->columns = columns;
	t->nr_columns = 1;
	for (i = 0; i < schema[type].nr; i++) {
		const struct schema_field *f = &schema[type].fields[i];

		if (!f->column)
			continue;
		columns[f->column] = (struct column){
			.name = f->column_name ? f->column_name : f->key,
			.type = tables_column_type(f),
			.may_be_null = schema_column_may_be_null(f),
		};
		t->nr_columns++;
	}
}

/* ---- names --------------------------------------------------------------- */

/* The columns are in the same piece of memory, behind the tables. */
struct table *tables_make(const char *events, size_t nr)
{
	struct table *made = calloc(nr, sizeof(struct table) +
						TABLE_COLUMNS_MAX * sizeof(struct column));
	struct column *columns = (struct column *)(made + nr);
	size_t t;

	for (t = 0; made && t < nr; t++, columns += TABLE_COLUMNS_MAX) {
		made[t].suffix = trace_tables[t].suffix;
		made[t].indexes = trace_tables[t].indexes;
		if (t == TABLE_EVENTS) {
			made[t].columns = event_columns;
			made[t].nr_columns = sizeof(event_columns) / sizeof(event_columns[0]);
		} else {
			tables_set_columns(&made[t], trace_tables[t].type, columns);
		}
		if (asprintf(&made[t].name, "%s%s", events ? events : TABLES_EVENTS,
			     trace_tables[t].suffix) < 0) {
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

int tables_put_schema(FILE *out, enum dialect dialect, const char *events, bool full)
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
	return made ? 0 : -ENOMEM;
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
	return sql->out && io_end_memory(sql->out, &sql->text) == 0 ? sql->text : NULL;
}
