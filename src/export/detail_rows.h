/* SPDX-License-Identifier: MIT */
/*
 * detail_rows.h - everything in a trace except the transitions, as rows of the tables of tables.h.
 *
 * Pass the items in the order in which trace_next() returns them.  Sites and details become
 * rows at once; a coroutine becomes a row when it is destroyed, or at the end: memory is per
 * live coroutine.
 */
#ifndef EXPORT_DETAIL_ROWS_H
#define EXPORT_DETAIL_ROWS_H

#include "export/tables.h"
#include "trace/item.h"

struct rows;

/*
 * Takes a row of @table, one cell per column.  Returns 0, or a negative errno with a message in
 * @err.
 */
typedef int rows_put(void *to, enum table_id table, const struct cell *cells, struct err *err);

/* Returns NULL if memory ran out. */
struct rows *rows_new(rows_put *put, void *to);

int rows_item(struct rows *rows, const struct trace_item *item, struct err *err);

/* After the last item: writes the rows of the coroutines that still exist. */
int rows_finish(struct rows *rows, struct err *err);

/* "destroyed,cancelled": the flags of an event as in the column of that name; NULL: none. */
const char *rows_flags_text(const struct trace_event *ev);

/* Identifies the run in every row: its start; of a trace without one, the time of the export. */
uint64_t rows_run(const struct rows *rows);

/* Number of rows so far. */
uint64_t rows_count(const struct rows *rows);

/* Accepts NULL. */
void rows_free(struct rows *rows);

#endif
