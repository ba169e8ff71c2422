/* SPDX-License-Identifier: MIT */
/*
 * rows.h - what a trace tells beside its transitions, as rows of the tables of tables.h.
 *
 * Feed it the items in the order in which trace_next() gives them.  Sites and details become
 * rows at once; a coroutine does when it is gone, or in the end: memory is per coroutine that
 * is there.
 */
#ifndef EXPORT_ROWS_H
#define EXPORT_ROWS_H

#include "export/tables.h"
#include "trace/item.h"

struct rows;

/* Takes a row of @table, one cell per column.  0 or a negative errno with words. */
typedef int rows_put(void *to, enum table_id table, const struct cell *cells, struct err *err);

/* NULL without memory. */
struct rows *rows_new(rows_put *put, void *to);

/*
 * Text of the program that a spreadsheet would take for a formula gets an apostrophe in front
 * (base/text.h): for files that spreadsheets open.
 */
void rows_guard_formulas(struct rows *rows);

int rows_item(struct rows *rows, const struct trace_item *item, struct err *err);

/* After the last item: those that are still there. */
int rows_finish(struct rows *rows, struct err *err);

/* Rows so far. */
uint64_t rows_count(const struct rows *rows);

/* Accepts NULL. */
void rows_free(struct rows *rows);

#endif
