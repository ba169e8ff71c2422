/* SPDX-License-Identifier: MIT */
/*
 * tables.h - the tables of an export, the same in every database.
 *
 * The first has exactly the columns of the existing coroTracer: queries of users rely on them.
 * The others belong to corotracer and are created only on request (--full); docs/export.md
 * explains them.
 */
#ifndef EXPORT_TABLES_H
#define EXPORT_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

#define TABLES_DATABASE "coro_tracer"
#define TABLES_EVENTS   "coro_trace_events"

enum dialect { DIALECT_SQLITE, DIALECT_MYSQL, DIALECT_POSTGRESQL };

enum table_id { TABLE_EVENTS, TABLE_DETAILS, TABLE_COROUTINES, TABLE_SITES, NR_TABLES };

enum column_type {
	COLUMN_ID,   /* any 64 bits, exact everywhere: text where integers are signed */
	COLUMN_U64,  /* a count or a time */
	COLUMN_ADDR, /* "0x" and sixteen digits */
	COLUMN_BOOL,
	COLUMN_TEXT,
};

struct column {
	const char *name;
	enum column_type type;
	bool may_be_null;
};

#define TABLE_COLUMNS_MAX 20

struct table {
	const char *suffix; /* appended to the name of the first */
	const struct column *columns;
	size_t nr_columns;
	const char *const *indexes; /* their columns, "probe_id, seq"; ends with NULL */
};

extern const struct table tables[NR_TABLES];

/* One value of a row, of the type of its column, or NULL. */
struct cell {
	bool is_null;
	uint64_t u;       /* numbers and booleans */
	const char *text; /* UTF-8 without NUL */
	size_t size;
};

/* Number of tables: one, or all. */
static inline size_t tables_count(bool full)
{
	return full ? NR_TABLES : 1;
}

/* "coro_trace_events_sites"; the caller frees it; NULL: no memory. */
char *table_name(const char *events, enum table_id id);

/* Writes @name as an identifier, with any character in it quoted. */
void table_put_quoted(FILE *out, enum dialect dialect, const char *name);
/* The same, with the schema where there is one. */
void table_put_name(FILE *out, enum dialect dialect, const char *name);

/* "probe_id, tid, ...". */
void table_put_columns(FILE *out, enum table_id id);

/*
 * "CREATE TABLE ..." without a semicolon.  @name is the name of the table; @with_keys: for
 * MySQL.
 */
void table_put_create(FILE *out, enum dialect dialect, const char *name, enum table_id id,
		      bool with_keys);

/* The same for an index of it, over @columns. */
void table_put_index(FILE *out, enum dialect dialect, const char *name, const char *columns);

/* MySQL creates several at once: "ADD INDEX ...", after ALTER TABLE. */
void table_put_add_index(FILE *out, const char *name, const char *columns);

/* Name of the column type in the database. */
const char *table_type_name(enum dialect dialect, enum column_type type);

/* The complete schema, as `export schema` prints it. */
void tables_put_schema(FILE *out, enum dialect dialect, const char *events, bool full);

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
