/* SPDX-License-Identifier: MIT */
/*
 * fleet_ask_table.h - the result of a question: a table as ClickHouse sends it.
 *
 * The format is TabSeparatedWithNamesAndTypes: a line of names, a line of types, then the rows.
 */
#ifndef FLEET_ASK_TABLE_H
#define FLEET_ASK_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum ask_kind {
	ASK_TEXT,
	ASK_COUNT, /* integer without a sign */
	ASK_INTEGER,
	ASK_REAL,
	ASK_LIST, /* of texts or numbers */
};

struct ask_column {
	const char *name, *type;
	enum ask_kind kind;
};

/* All zero: empty. */
struct ask_table {
	char *memory; /* every text is in here */
	struct ask_column *columns;
	size_t nr_columns;
	const char **cells; /* row by row, without the escapes; a list keeps them */
	size_t nr_rows, room;
};

/*
 * Parse @text of @size bytes, which the table copies. -EBADMSG: it is not such a table; -ENOMEM.
 * After a failure the table is empty.
 */
int ask_table_parse(struct ask_table *t, const char *text, size_t size, struct err *err);

/* The cell in @row under @name; NULL: there is no such column. */
const char *ask_table_cell(const struct ask_table *t, size_t row, const char *name);

/* As an integer; 0 if there is no such column. */
unsigned long long ask_table_number(const struct ask_table *t, size_t row, const char *name);

/*
 * The next element of a list: writes it, without quotes and escapes, into @buf of @size bytes and
 * returns the rest of the list; NULL: there are no more.  Begin with the cell.
 */
const char *ask_table_element(const char *list, char *buf, size_t size);

void ask_table_release(struct ask_table *t);

#endif
