/* SPDX-License-Identifier: MIT */
/*
 * sink.h - where a finished trace can go: one file per sink, one row each in a table.
 *
 * To add one: write src/export/<name>.c with a `const struct sink sink_<name>` at its end,
 * declare it below, and add it to sinks[] in sinks.c and the file to CMakeLists.txt.
 *
 * The driver (export.h) reads the trace once and hands a sink its items in the order of
 * trace/reader.h.  What a sink makes is not to be seen before commit(): a file gets its
 * name there (base/output_file.h does that), a database ends its transaction.
 *
 *	open()    once; on failure it leaves nothing behind, and nothing else is called
 *	item()    for each item; a failure ends the export
 *	commit()  after the last; a failure is the export's.  Releases nothing.
 *	close()   always, after a commit() that went well too: undoes what is not committed,
 *	          releases everything.  Tells of nothing: the reason is known by now.
 *	drop()    may be NULL.  From another thread, while one of the others hangs (a server
 *	          that does not answer): removes files that would stay behind.  The process
 *	          ends right after it, and servers undo what was not committed.
 */
#ifndef EXPORT_SINK_H
#define EXPORT_SINK_H

#include "base/err.h"
#include "trace/item.h"
#include "trace/reader.h"

/* What the user asked for.  NULL, 0 and false: not told. */
struct export_options {
	const char *trace;  /* as for trace_reader_open(); "-" is standard input */
	const char *output; /* a file, "-" for standard output; NULL: named after the trace */
	bool full;          /* also what the six columns of the existing tool do not tell */
	bool quiet;         /* no progress */
	bool exact_text;    /* text that looks like a formula stays as it is */

	/* Databases. */
	const char *cli; /* load through this command line client, not through a library */
	const char *host;
	unsigned port;
	const char *user, *password;
	const char *database, *table;
	const char *mysql_socket;
	const char *pg_maintenance_db, *pg_sslmode;
};

/* One export that is under way. */
struct sink_job {
	const struct export_options *options;
	const char *output; /* the file's name, made if none was given; NULL: it is none */
	/* What was odd about the trace, so far; whole when commit() is called. */
	const struct trace_stats *stats;
	void *state; /* the sink's own */
	/* Counted by the sink, for the summary. */
	uint64_t rows;     /* of the events that it took */
	uint64_t extra;    /* of what only options->full asks for */
	uint64_t left_out; /* events that it has no place for */
	uint64_t bytes;    /* of the files that it made; 0: not known */
	char note[160];    /* one line for the user, e.g. how to open it; may stay empty */
};

struct sink {
	const char *name;
	const char *alias;  /* another name; may be NULL */
	const char *about;  /* one line, lower case, no full stop */
	const char *suffix; /* takes the place of the trace's own, e.g. ".csv"; NULL: no file */
	bool to_stdout;     /* may write to standard output */
	/* Through options->cli instead; NULL: it has no command line client. */
	const struct sink *client;
	const char *library; /* that this build lacks; then there are no functions */
	const char *package; /* that would bring it */

	int (*open)(struct sink_job *job, struct err *err);
	int (*item)(struct sink_job *job, const struct trace_item *item, struct err *err);
	int (*commit)(struct sink_job *job, struct err *err);
	void (*close)(struct sink_job *job);
	void (*drop)(struct sink_job *job);
};

extern const struct sink sink_chrome;
extern const struct sink sink_csv;
extern const struct sink sink_ctf;
extern const struct sink sink_jsonl;
extern const struct sink sink_mysql;
extern const struct sink sink_perfetto;
extern const struct sink sink_postgresql;
extern const struct sink sink_sqlite;

extern const struct sink *const sinks[]; /* ends with NULL */

/* By name or alias; NULL: there is none. */
const struct sink *sink_find(const char *name);

#endif
