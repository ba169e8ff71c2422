/* SPDX-License-Identifier: MIT */
/*
 * query.h - SQL on a trace and on a recording of frames.
 *
 *	struct query *q = query_open(&options, &err);
 *
 *	if (!q || query_run(q, "SELECT count(*) FROM events", &output, &err) < 0)
 *		...
 *	query_close(q);
 *
 * SQLite runs the statement; the tables are virtual.  Nothing is imported: a table reads the trace
 * when the statement asks for its rows, with the conditions on time, coroutine, site and kind
 *passed to the reader as a filter (trace/trace_filter.h).  A compact trace then unpacks only the
 *blocks that may have such events.  docs/query.md has the tables.
 *
 * The statement can only read: no file is opened on its behalf, and no extension is loaded.
 */
#ifndef QUERY_QUERY_H
#define QUERY_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cell.h"
#include "base/err.h"
#include "frames/file/recording_reader.h"
#include "trace/trace_reader.h"

struct query;

struct query_options {
	const char *trace;     /* a file or a directory; NULL: none */
	const char *recording; /* of frames; NULL: none */
	bool may_grow;         /* the trace may still be written: read what is there so far */
};

/* What was read so far, by all scans of all tables. */
struct query_stats {
	uint64_t scans;
	uint64_t bytes;       /* read; as far as the format counts them */
	uint64_t blocks;      /* of a compact trace */
	uint64_t blocks_read; /* unpacked, summed over the scans */
	bool has_blocks;      /* the trace is compact */
	/* Of the scan with the worst verdict among those that reached the end of the trace. */
	bool has_verdict;
	struct trace_stats trace; /* without the path of the sidecar */
	bool has_recording;       /* a scan reached the end of the recording */
	struct recfile_stats recording;
};

/* Receives the result. */
struct query_output {
	void *to;
	/* Once, before the rows. */
	int (*begin)(void *to, const char *const *names, size_t nr, struct err *err);
	/* The cells are valid during the call: null, signed, double or text. */
	int (*row)(void *to, const struct cell *cells, size_t nr, struct err *err);
};

/* NULL with a message in @err. */
struct query *query_open(const struct query_options *options, struct err *err);

/*
 * Run one statement.  0, or a negative errno with a message in @err.  *@position: where in @sql the
 * error is, in bytes; -1: not known.
 */
int query_run(struct query *q, const char *sql, const struct query_output *output, int *position,
	      struct err *err);

/* Call @column for every column of every table, in order. */
typedef void query_show_column(void *to, const char *table, const char *column, const char *type);
void query_describe(const struct query *q, query_show_column *show, void *to);

/* Valid until the close. */
const struct query_stats *query_stats_of(const struct query *q);

/* Accepts NULL. */
void query_close(struct query *q);

#endif
