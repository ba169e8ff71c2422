/* SPDX-License-Identifier: MIT */
/*
 * event_table.h - a batch of events as a virtual table of SQLite.
 *
 * An INSERT of one row costs SQLite more than the row: values are bound and copied, and the
 * sequence of ids is read and written again.  "INSERT INTO t SELECT * FROM batch" does that
 * once per batch.
 */
#ifndef EXPORT_EVENT_TABLE_H
#define EXPORT_EVENT_TABLE_H

#include <sqlite3.h>

#include "trace/event.h"

#define EVENT_TABLE_NAME  "corotracer_batch"
#define EVENT_TABLE_BATCH 4096

struct event_row {
	uint64_t probe_id, tid, addr, seq, ts;
	bool is_active;
};

struct event_batch {
	size_t nr;
	uint64_t large; /* numbers so far that do not fit in INTEGER */
	struct event_row rows[EVENT_TABLE_BATCH];
};

/*
 * SELECT * FROM corotracer_batch returns the current rows of @batch.  Returns an SQLite error
 * code.
 */
int event_table_register(sqlite3 *db, struct event_batch *batch);

/*
 * Numbers above 2^63-1 are stored as a blob of digits: SQLite would convert text in an integer
 * column to floating point, which cannot represent 2^64-1.
 */
static inline bool sqlite_number_is_large(uint64_t u)
{
	return u > INT64_MAX;
}

#endif
