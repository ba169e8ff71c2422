/* SPDX-License-Identifier: MIT */
/*
 * copy_rows.h - rows in the formats of bulk loaders: the binary COPY of PostgreSQL, and text
 * lines that both its COPY and the LOAD DATA of MySQL accept.
 */
#ifndef EXPORT_COPY_ROWS_H
#define EXPORT_COPY_ROWS_H

#include "base/bytes.h"
#include "export/tables.h"
#include "trace/event.h"

/* Maximum size of an event in either format. */
#define COPY_EVENT_MAX 160

/*
 * Writes the event as a row of the first table at @p.  Returns the end; needs the slack of
 * fmt.h.
 */
char *copy_event_text(char *p, const struct trace_event *ev);
char *copy_event_binary(char *p, const struct trace_event *ev);

/* Appends a row of any table.  False: no memory.  MySQL has no infinities: they become NULL. */
bool copy_row_text(struct bytes *b, enum dialect dialect, const struct table *t,
		   const struct cell *cells);
bool copy_row_binary(struct bytes *b, const struct table *t, const struct cell *cells);

/* Header before the first row and trailer after the last row of a binary COPY. */
extern const char copy_binary_head[19];
extern const char copy_binary_tail[2];

#endif
