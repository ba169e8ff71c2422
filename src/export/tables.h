/* SPDX-License-Identifier: MIT */
/*
 * tables.h - the tables of an export: names, typed columns, and their SQL in every database.
 *
 * Those of a trace follow from its schema (trace/schema.h), but for the first.  The first has
 * exactly the columns of the existing coroTracer: queries of users rely on them.  The others belong
 * to corotracer and are created only on request
 * (--full); docs/export.md explains them.  Those of a recording follow from its frame types
 * (frame_tables.h).
 */
#ifndef EXPORT_TABLES_H
#define EXPORT_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cell.h"
#include "base/err.h"

#define TABLES_DATABASE "coro_tracer"
#define TABLES_EVENTS   "coro_trace_events"

enum dialect { DIALECT_SQLITE, DIALECT_MYSQL, DIALECT_POSTGRESQL };

enum table_id {
	TABLE_EVENTS,
	TABLE_DETAILS,
	TABLE_COROUTINES,
	TABLE_SITES,
	TABLE_SWITCHES,
	TABLE_FRAMES,
	NR_TABLES
};

enum column_type {
	COLUMN_ID,   /* any 64 bits, exact everywhere: text where integers are signed */
	COLUMN_U64,  /* a count or a time */
	COLUMN_ADDR, /* "0x" and sixteen digits */
	COLUMN_BOOL,
	COLUMN_TEXT,
	COLUMN_I64,
	COLUMN_REAL,
};

struct column {
	const char *name;
	enum column_type type;
	bool may_be_null;
};

#define TABLE_COLUMNS_MAX 20

struct table {
	const char *suffix; /* of a trace: appended to the name of the first */
	const struct column *columns;
	size_t nr_columns;
	const char *const *indexes; /* their columns, "probe_id, seq"; ends with NULL */
	bool has_no_id;             /* no column "id" that numbers the rows; names need quotes */
	bool is_plain;              /* but SQLite needs none for them */
	char *name;
};

/* Number of tables: one, or all. */
static inline size_t tables_count(bool full)
{
	return full ? NR_TABLES : 1;
}

/*
 * The first @nr tables of a trace, as "coro_trace_events", "coro_trace_events_sites", ...; @events
 * NULL: the default.  The caller frees them with tables_free().  NULL: no memory.
 */
struct table *tables_make(const char *events, size_t nr);
void tables_free(struct table *made, size_t nr);

/* Writes @name as an identifier, with any character in it quoted. */
void table_put_quoted(FILE *out, enum dialect dialect, const char *name);
/* The name of the table, with the schema where there is one. */
void table_put_name(FILE *out, enum dialect dialect, const struct table *t);

/* "probe_id, tid, ...". */
void table_put_columns(FILE *out, enum dialect dialect, const struct table *t);

/* "INSERT INTO name (probe_id, tid, ...) ". */
void table_put_insert(FILE *out, enum dialect dialect, const struct table *t);

/* "CREATE TABLE ..." without a semicolon.  @with_keys: for MySQL. */
void table_put_create(FILE *out, enum dialect dialect, const struct table *t, bool with_keys);

/* The same for an index of it, over @columns. */
void table_put_index(FILE *out, enum dialect dialect, const struct table *t, const char *columns);

/* MySQL creates several at once: "ADD INDEX ...", after ALTER TABLE. */
void table_put_add_index(FILE *out, const struct table *t, const char *columns);

/* Name of the column type in the database. */
const char *table_type_name(enum dialect dialect, enum column_type type);

/* The complete schema, as `export schema` prints it. */
int tables_put_schema(FILE *out, enum dialect dialect, const char *events, bool full);

/*
 * Collects a statement from the functions above.  sql_end() returns the text, which the caller
 * frees; NULL: no memory.
 */
struct sql {
	FILE *out;
	char *text;
	size_t size;
};
FILE *sql_begin(struct sql *sql);
char *sql_end(struct sql *sql);

#endif
