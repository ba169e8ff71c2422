/* SPDX-License-Identifier: MIT */
/* query_output.h - the result of a query as a table, CSV or JSON. */
#ifndef TOOL_QUERY_OUTPUT_H
#define TOOL_QUERY_OUTPUT_H

#include "base/json_writer.h"
#include "query/query.h"
#include "query/row_store.h"

enum query_form { QUERY_TABLE, QUERY_CSV, QUERY_JSON };

struct query_print {
	enum query_form form;
	bool exact_text; /* CSV: no apostrophe before text that looks like a formula */
	/* Private. */
	size_t nr_columns, nr_rows;
	char **names;
	struct json_writer json;
	struct bytes line; /* of CSV, or one cell */
	/* Table: the first rows, which decide how wide the columns are. */
	struct row_store first;
	struct cell *cells;
	int *widths;
	bool *is_number, *has_text;
	bool has_widths;
	int terminal_width; /* 0: no terminal */
	bool is_record;     /* a line per cell: the table is wider than the terminal */
	size_t nr_records;
};

/* @p is all zero but for the options.  The result goes to standard output. */
struct query_output query_print_begin(struct query_print *p);

/* After the last row: prints the rest; JSON continues with the caller's members. */
void query_print_rows_end(struct query_print *p);

/* 0 or a negative errno of the first failed write. */
int query_print_end(struct query_print *p);

#endif
