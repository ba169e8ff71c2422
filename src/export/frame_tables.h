/* SPDX-License-Identifier: MIT */
/*
 * frame_tables.h - the frames of a recording as rows of tables: one table per frame type, with the
 * columns of frames/file/frame_columns.h.
 *
 * In a database there is also a table "recording" with the data of the header.  Names there are
 * made unique, for databases ignore case and reserve some, and cut to what a server accepts.
 */
#ifndef EXPORT_FRAME_TABLES_H
#define EXPORT_FRAME_TABLES_H

#include "base/bytes.h"
#include "export/sink.h"

struct frame_tables {
	struct table *tables;
	size_t nr;
	size_t first;       /* number of the table of frame type 0 */
	struct cell *cells; /* of one row, for the widest table */
	bool needs_utf8, is_database;
	struct bytes texts; /* of the row that is being created, if it needs to be UTF-8 */
};

/* @prefix NULL: none.  The caller calls frame_tables_release() in every case. */
int frame_tables_make(struct frame_tables *t, const struct recfile *f, const struct row_plan *plans,
		      const struct sink *sink, const char *prefix, struct err *err);
void frame_tables_release(struct frame_tables *t);

/* Pass the data of the header to the sink, if there is a table for it. */
int frame_tables_put_header(struct frame_tables *t, const struct sink *sink, struct sink_job *job,
			    struct err *err);

/*
 * The row of a frame; valid until the next call.  NULL: no memory.  In a database a float is the
 * double that it equals, not the shorter decimal that text formats write.
 */
const struct cell *frame_tables_row(struct frame_tables *t, const struct frame_shown *frame);

#endif
