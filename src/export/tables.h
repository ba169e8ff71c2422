/* SPDX-License-Identifier: MIT */
/*
 * tables.h - the tables of an export, the same in every database.
 *
 * The first is that of the existing tool, to the column: users' queries rely on it.  The
 * others are ours, and only made when asked for (--full); docs/export.md explains them.
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
	const char *suffix; /* behind the name of the first */
	const struct column *columns;
	size_t nr_columns;
	const char *const *indexes; /* their columns, "probe_id, seq"; ends with NULL */
};

extern const struct table tables[NR_TABLES];

/* One value of a row; of the column's type, or nothing. */
struct cell {
	bool is_null;
	uint64_t u;       /* numbers and truths */
	const char *text; /* UTF-8 without NUL */
	size_t size;
};

/* How many of the tables there are: the first, or all. */
static inline size_t tables_count(bool full)
{
	return full ? NR_TABLES : 1;
}

/* "coro_trace_events_sites", to be freed; NULL without memory. */
char *table_name(const char *events, enum table_id id);

/* @name as an identifier, whatever is in it. */
void table_put_quoted(FILE *out, enum dialect dialect, const char *name);
/* The same, with the schema where there is one. */
void table_put_name(FILE *out, enum dialect dialect, const char *name);

/* "probe_id, tid, ...". */
void table_put_columns(FILE *out, enum table_id id);

/* "CREATE TABLE ..." without a semicolon.  @name is the table's own; @with_keys: of MySQL. */
void table_put_create(FILE *out, enum dialect dialect, const char *name, enum table_id id,
		      bool with_keys);

/* The same for an index of it, over @columns. */
void table_put_index(FILE *out, enum dialect dialect, const char *name, const char *columns);

/* MySQL makes several at once: "ADD INDEX ...", behind ALTER TABLE. */
void table_put_add_index(FILE *out, const char *name, const char *columns);

/* What the database calls the type of a column. */
const char *table_type_name(enum dialect dialect, enum column_type type);

/* Everything, for people to read: what `export schema` prints. */
void tables_put_schema(FILE *out, enum dialect dialect, const char *events, bool full);

/* A text that is made by the functions above; NULL without memory, else to be freed. */
struct sql {
	FILE *out;
	char *text;
	size_t size;
};
FILE *sql_begin(struct sql *sql);
char *sql_end(struct sql *sql);

#endif
