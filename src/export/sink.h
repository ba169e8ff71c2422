/* SPDX-License-Identifier: MIT */
/*
 * sink.h - the targets of an export: one file per sink, one entry per sink in a table.
 *
 * To add a sink: write src/export/<name>.c with a `const struct sink sink_<name>` at its end,
 * declare it below, and add it to sinks[] in sinks.c and the file to CMakeLists.txt.
 *
 * The source is a trace or a recording of frames; the driver (export.h) reads it once.  A sink
 * implements what it has a use for:
 *
 *	trace       item(), in the order of trace/trace_reader.h; with --full also row(), for the
 *	            rows of the other tables (detail_rows.h)
 *	recording   row() for each frame, as cells of its table (frame_tables.h); or, for viewers,
 *	            frame() and mark() (frames_timeline.h); or, with takes_frames, item() for each
 *	            (frame_facts.h)
 *
 * The output of a sink is not visible before commit(): a file gets its name there
 * (base/output_file.h), a database commits its transaction.
 *
 *	open()    once; on failure it leaves nothing behind, and nothing else is called
 *	item(), row(), frame(), mark()
 *	          a failure ends the export
 *	commit()  after the last item; its failure fails the export.  Releases nothing.
 *	close()   always, also after a successful commit(): undoes what is not committed,
 *	          releases everything.  Reports nothing: the error is set already.
 *	drop()    may be NULL.  Called from another thread while one of the others hangs (a
 *	          server that does not answer): removes files that would stay behind.  The
 *	          process exits right after it, and servers roll back what was not committed.
 */
#ifndef EXPORT_SINK_H
#define EXPORT_SINK_H

#include "base/err.h"
#include "export/frames_timeline.h"
#include "export/tables.h"
#include "trace/item.h"
#include "trace/trace_reader.h"

/* Options of the user.  NULL, 0 and false: not given. */
struct export_options {
	const char *trace;          /* as for trace_reader_open(); "-" is standard input */
	struct trace_filter filter; /* of a trace: export only what passes */
	const char *output; /* a file, "-" for standard output; NULL: named after the trace */
	bool full;          /* also export data beyond the six columns of the existing coroTracer */
	bool quiet;         /* no progress */
	bool exact_text;    /* do not prefix text that looks like a formula */
	const char *frame;  /* of a recording: only frames of this type; NULL: all */
	bool crlf;          /* of a recording: CSV lines end with CR LF, as in RFC 4180 */

	/* Databases. */
	const char *cli; /* load through this command line client, not through a library */
	const char *host;
	unsigned port;
	const char *user, *password;
	const char *database, *table;
	const char *mysql_socket;
	const char *pg_maintenance_db, *pg_sslmode;
};

/* One export in progress. */
struct sink_job {
	const struct export_options *options;
	const char *output; /* name of the file, derived if none was given; NULL: no file */
	/* Problems of the trace, so far; final when commit() is called.  NULL: a recording, unless
	 * takes_frames is set. */
	const struct trace_stats *stats;
	const struct recfile *recording; /* NULL: a trace */
	const struct row_plan *plans;    /* of a recording, per frame type */
	const struct table *tables;      /* that row() refers to */
	size_t nr_tables;
	void *state; /* private to the sink */
	/* Counted by the sink, for the summary. */
	uint64_t rows;              /* events written */
	uint64_t left_out;          /* events that it could not represent */
	uint64_t bytes;             /* of its files; 0: not known */
	struct frame_counts counts; /* of viewers: how frames were drawn */
	char note[160]; /* one line for the user, e.g. how to open the output; may stay empty */
};

struct sink {
	const char *name;
	const char *alias;  /* another name; may be NULL */
	const char *about;  /* one line, lower case, no full stop */
	const char *suffix; /* replaces the suffix of the trace, e.g. ".csv"; NULL: no file */
	bool to_stdout;     /* may write to standard output */
	bool reads_all;     /* gets all items of a trace, and applies the filter itself */
	bool takes_frames;  /* gets those of a recording as items (frame_facts.h) */
	bool is_database;   /* names of tables and columns are made unique */
	unsigned name_max;  /* of a server: bytes of a name; its text must be UTF-8.  0: none */
	/* Used with options->cli; NULL: not supported. */
	const struct sink *client;
	/* Used for recordings; NULL: this sink, if it has row(). */
	const struct sink *frames;
	const char *library; /* missing in this build; then there are no functions */
	const char *package; /* the package with that library */

	int (*open)(struct sink_job *job, struct err *err);
	int (*item)(struct sink_job *job, const struct trace_item *item, struct err *err);
	int (*row)(struct sink_job *job, size_t table, const struct cell *cells, struct err *err);
	int (*frame)(struct sink_job *job, const struct frame_shown *frame, struct err *err);
	void (*mark)(struct sink_job *job, const struct recording_mark *mark);
	int (*commit)(struct sink_job *job, struct err *err);
	void (*close)(struct sink_job *job);
	void (*drop)(struct sink_job *job);
};

extern const struct sink sink_chrome;
extern const struct sink sink_compact;
extern const struct sink sink_csv;
extern const struct sink sink_ctf;
extern const struct sink sink_folded;
extern const struct sink sink_graphviz;
extern const struct sink sink_jsonl;
extern const struct sink sink_mysql;
extern const struct sink sink_parquet;
extern const struct sink sink_perfetto;
extern const struct sink sink_postgresql;
extern const struct sink sink_pprof;
extern const struct sink sink_speedscope;
extern const struct sink sink_sqlite;

extern const struct sink frames_jsonl; /* for recordings */

extern const struct sink *const sinks[]; /* ends with NULL */

/* By name or alias; NULL: not found. */
const struct sink *sink_find(const char *name);

#endif
