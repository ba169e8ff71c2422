/* SPDX-License-Identifier: MIT */
/*
 * sidecar.h - what a trace does not say itself: trace.jsonl.meta beside trace.jsonl.
 *
 * One JSON object a line, each with a "type":
 *
 *	run         first: the command, the tool, when and where
 *	process     one per program that connected
 *	coroutine   one per coroutine: name, birth, death, and its exact losses
 *	totals      last: the sums, and how the program ended
 *
 * Readers skip types and keys that they do not know.  The file is written under
 * another name and renamed when it is whole: it is there whole, or not at all (short
 * of the machine itself going down).
 */
#ifndef TRACE_SIDECAR_H
#define TRACE_SIDECAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/json_writer.h"
#include "base/lines.h"

#define SIDECAR_FORMAT 1
#define SIDECAR_SUFFIX ".meta"
#define SIDECAR_LINE_MAX \
	((size_t)16 * 1024 * 1024) /* a command line is 2 MiB at most, before escapes */

struct sidecar_run {
	uint64_t format;  /* set by the writer */
	const char *tool; /* "corotracer 0.1.0" */
	const char *const *command;
	size_t nr_command;
	uint64_t pid;
	uint64_t start_ts;       /* CLOCK_MONOTONIC ns */
	uint64_t start_realtime; /* ns since 1970 */
	const char *hostname;    /* may be NULL */
	const char *arch;        /* "x86_64" */
	uint64_t stations;
};

struct sidecar_process {
	uint64_t pid;
	uint64_t uid;
	uint64_t connected_ts;
};

struct sidecar_coroutine {
	uint64_t station;
	uint64_t probe_id;
	uint64_t pid;
	const char *name; /* NULL: it has none */
	bool name_truncated;
	uint64_t birth_ts;
	uint64_t death_ts; /* 0: not known */
	bool dead;
	const char *writer; /* "corotracer", "seed-002", "seed-000" or "unknown" */
	uint64_t written;
	uint64_t collected;
	uint64_t lost;
	uint64_t garbage;
};

struct sidecar_totals {
	bool complete; /* everything that was written was looked at */
	uint64_t written;
	uint64_t collected;
	uint64_t lost;
	uint64_t lost_overwritten;
	uint64_t lost_output;
	uint64_t garbage;
	uint64_t unfinished;
	uint64_t coroutines;
	uint64_t without_station;
	int exit_status; /* -1: it did not exit */
	int signal;      /* 0: none killed it */
	uint64_t end_ts;
};

/* "trace.jsonl.meta" for "trace.jsonl", to be freed; NULL without memory. */
char *sidecar_path(const char *trace_path);

/* ---- write --------------------------------------------------------------- */

struct sidecar_writer {
	char *path, *temporary;
	FILE *file;
	struct json_writer json;
};

/* @path is the sidecar's own. */
int sidecar_writer_open(struct sidecar_writer *w, const char *path, struct err *err);

/*
 * The same over a sidecar that is there, for when there is no room for a second file:
 * it is not whole until the commit.
 */
int sidecar_writer_open_in_place(struct sidecar_writer *w, const char *path, struct err *err);

/* Failures stick and come out at the commit. */
void sidecar_put_run(struct sidecar_writer *w, const struct sidecar_run *run);
void sidecar_put_process(struct sidecar_writer *w, const struct sidecar_process *process);
void sidecar_put_coroutine(struct sidecar_writer *w, const struct sidecar_coroutine *coroutine);
void sidecar_put_totals(struct sidecar_writer *w, const struct sidecar_totals *totals);

/* The same members, for others who print them: into an object that is open in @j. */
void sidecar_json_run(struct json_writer *j, const struct sidecar_run *run);
void sidecar_json_process(struct json_writer *j, const struct sidecar_process *process);
void sidecar_json_totals(struct json_writer *j, const struct sidecar_totals *totals);

/* The file gets its name.  On failure nothing is left, and an older sidecar stays as it is. */
int sidecar_writer_commit(struct sidecar_writer *w, struct err *err);

/* Leave nothing.  Harmless after a commit, and on a struct that is all zero. */
void sidecar_writer_abort(struct sidecar_writer *w);

/* ---- read ---------------------------------------------------------------- */

enum sidecar_type { SIDECAR_RUN, SIDECAR_PROCESS, SIDECAR_COROUTINE, SIDECAR_TOTALS };

/* What is missing is 0, NULL, false; exit_status -1. */
struct sidecar_record {
	enum sidecar_type type;
	union {
		struct sidecar_run run;
		struct sidecar_process process;
		struct sidecar_coroutine coroutine;
		struct sidecar_totals totals;
	};
};

struct sidecar_stats {
	uint64_t lines;
	uint64_t records;
	uint64_t unknown_types; /* objects of a type that we do not know */
	uint64_t unknown_keys;
	uint64_t bad_fields; /* of a type that does not fit: taken as missing */
	uint64_t garbage;    /* lines that are no object with a type */
};

struct sidecar_reader {
	struct lines lines;
	struct sidecar_stats stats; /* stays after the close */
	void *object;               /* of the last record: its strings are in there */
	const char **command;
};

/* -ENOENT where there is none, which is no reason to complain. */
int sidecar_reader_open(struct sidecar_reader *r, const char *path, struct err *err);

/* The same on an open descriptor, which is the reader's from now on, also on failure. */
int sidecar_reader_open_fd(struct sidecar_reader *r, int fd, const char *name, struct err *err);

/* 1: *@rec is the next record, its strings valid until the next call; 0: the end; -errno. */
int sidecar_next(struct sidecar_reader *r, struct sidecar_record *rec, struct err *err);

void sidecar_reader_close(struct sidecar_reader *r);

#endif
