/* SPDX-License-Identifier: MIT */
/*
 * query_table.h - the tables of a query: their columns, and scans over their rows.
 *
 * A table has a function that begins a scan.  It gets what the statement wants: conditions that a
 * scan may use to read less.  SQLite checks every row itself, so a scan may return too much.
 */
#ifndef QUERY_QUERY_TABLE_H
#define QUERY_QUERY_TABLE_H

#include "base/cell.h"
#include "export/tables.h"
#include "query/query_trace.h"

/* Which condition on a column a scan can use. */
enum query_push {
	QUERY_PUSH_NONE,
	QUERY_PUSH_TIME, /* ranges */
	QUERY_PUSH_END,  /* ranges of the time at which an interval ends */
	QUERY_PUSH_COROUTINE,
	QUERY_PUSH_SITE,
	QUERY_PUSH_KIND,
	QUERY_PUSH_ACTIVE, /* 1: resume, 0: suspend */
};

/* Bit k: kind k. */
#define QUERY_ALL_KINDS ((1u << NR_TRACE_KINDS) - 1)

struct query_want {
	bool nothing; /* the conditions contradict each other */
	uint64_t from_ts, to_ts;
	uint64_t end_ts; /* the latest end of an interval */
	bool has_coroutine, has_site;
	uint64_t coroutine;
	uint32_t site;
	unsigned kinds;
	uint32_t used; /* bit c: column c is read; all from 31 on in bit 31 */
};

struct query_column {
	const char *name;
	enum column_type type;
	enum query_push push;
	bool is_hidden; /* SELECT * leaves it out */
	bool is_static; /* text that stays valid: SQLite makes no copy */
};

struct query_rows;

struct query_rows_ops {
	/* 1: the next row is there; 0: the end; or a negative errno. */
	int (*next)(struct query_rows *rows, struct err *err);
	/* The cell of a column, valid until the next row. */
	void (*cell)(struct query_rows *rows, size_t column, struct cell *cell);
	void (*close)(struct query_rows *rows);
	/*
	 * Skips rows that follow, and adds to @counts how many events of each kind they are: for a
	 * statement that reads only the column of kinds.  May be NULL, and may skip nothing.
	 */
	void (*count_kinds)(struct query_rows *rows, uint64_t counts[NR_TRACE_KINDS]);
};

/* First member of every scan. */
struct query_rows {
	const struct query_rows_ops *ops;
};

struct query_table {
	const char *name;
	const struct query_column *columns;
	size_t nr_columns;
	bool has_few_rows; /* and finds one by its coroutine or its site */
	unsigned number;   /* for the scan: item type or frame type */
	/* NULL with a message in @err. */
	struct query_rows *(*scan)(struct query *q, const struct query_table *t,
				   const struct query_want *want, struct err *err);
};

/* A growing list of tables. */
struct query_tables {
	struct query_table *list;
	size_t nr;
};

struct query {
	struct query_trace trace;
	struct query_frames *frames; /* NULL: no recording */
	struct query_facts *facts;
	struct coroutine_cache *coroutines; /* NULL: not needed yet */
	struct frame_views *views;          /* NULL: the trace has no frames */
	struct query_tables tables;
	struct query_stats stats;
	struct query_db *db;
	bool is_declaring; /* SQLite parses the declaration of one of these tables */
};

/* Adds a table, of which the list makes a copy.  False: no memory. */
bool query_tables_add(struct query *q, const struct query_table *table);

/* Each adds its tables. 0 or a negative errno with a message in @err. */
int event_rows_add(struct query *q, struct err *err);
int interval_rows_add(struct query *q, struct err *err);
int fact_rows_add(struct query *q, struct err *err);
int frame_rows_add(struct query *q, const char *path, struct err *err);

/* Accept NULL. */
void fact_rows_release(struct query_facts *facts);
void coroutine_rows_release(struct coroutine_cache *cache);
void frame_rows_release(struct query_frames *frames);

/* ---- cells ---------------------------------------------------------------- */

static inline struct cell query_null(void)
{
	return (struct cell){ .kind = CELL_NULL };
}

static inline struct cell query_word(const char *word)
{
	return word ? cell_text(word, __builtin_strlen(word)) : query_null();
}

static inline struct cell query_number(bool is_known, uint64_t number)
{
	return is_known ? cell_u64(number) : query_null();
}

/* The name of a reason, or its number if it is of a later version; @buf is for the number. */
struct cell query_reason(unsigned reason, char buf[16]);

#endif
