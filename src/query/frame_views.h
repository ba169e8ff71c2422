/* SPDX-License-Identifier: MIT */
/*
 * frame_views.h - the frames of a trace (`run --frames`) by type: frame_TYPE, a view of the table
 * frames with a column per field.
 */
#ifndef QUERY_FRAME_VIEWS_H
#define QUERY_FRAME_VIEWS_H

#include <sqlite3.h>

#include "query/query_table.h"

/* Called for each frame when the query is opened.  0 or -ENOMEM. */
int frame_views_take(struct query *q, const struct trace_frame *frame);

/* Creates the views, unless a recording has a table of that name.  A code of SQLite. */
int frame_views_create(sqlite3 *db, struct query *q);

/* Call @show for every column of every view. */
void frame_views_describe(const struct query *q, query_show_column *show, void *to);

/* Accepts NULL. */
void frame_views_release(struct frame_views *views);

#endif
