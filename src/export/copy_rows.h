/* SPDX-License-Identifier: MIT */
/*
 * copy_rows.h - rows as databases load them: PostgreSQL's binary COPY, and lines of text that
 * both its COPY and LOAD DATA of MySQL take.
 */
#ifndef EXPORT_COPY_ROWS_H
#define EXPORT_COPY_ROWS_H

#include "base/bytes.h"
#include "export/tables.h"
#include "trace/event.h"

/* No event takes more, in either form. */
#define COPY_EVENT_MAX 160

/* The event as a row of the first table, at @p.  Returns the end; slack as fmt.h has it. */
char *copy_event_text(char *p, const struct trace_event *ev);
char *copy_event_binary(char *p, const struct trace_event *ev);

/* A row of any table.  False without memory. */
bool copy_row_text(struct bytes *b, enum table_id id, const struct cell *cells);
bool copy_row_binary(struct bytes *b, enum table_id id, const struct cell *cells);

/* Before the first row and behind the last of a binary COPY. */
extern const char copy_binary_head[19];
extern const char copy_binary_tail[2];

#endif
