/* SPDX-License-Identifier: MIT */
/*
 * sidecar.h - what the lines of a trace do not say: trace.jsonl.meta beside trace.jsonl.
 *
 * One JSON object a line, each with a "type":
 *
 *	run         first: the command, the tool, when and where
 *	process     one per program that connected
 *	module      one per file that such a program had mapped with code in it
 *	site        a place in a source file: "site" elsewhere is its "id" here
 *	birth, wake, end, destroy
 *	            events that are no transitions, in order of time
 *	gap         so many events of a thread are missing here
 *	coroutine   one per coroutine that stood in a station, with its exact losses, and one
 *	            per coroutine that was still there at the end, with what it did last
 *	totals      last: the sums, and how the program ended
 *	room        of no meaning; see below
 *
 * Readers skip types and keys that they do not know.  A member that has nothing to say is
 * left out of an event.
 *
 * The file grows during the run, with the trace.  One without totals is of a run that has
 * not finished, or whose collector was killed.
 *
 * What fails
 *   The first write that fails ends the writing, but not before the totals: as long as
 *   the file is open its last line is a "room" of ROOM_SIZE bytes, which the totals take
 *   over in the end.  They need no space that is not there already.
 */
#ifndef TRACE_SIDECAR_H
#define TRACE_SIDECAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json_writer.h"
#include "base/lines.h"
#include "trace/item.h"

#define SIDECAR_FORMAT    1
#define SIDECAR_SUFFIX    ".meta"
#define SIDECAR_ROOM_SIZE 1024 /* of the line that keeps room for the totals, newline and all */
#define SIDECAR_LINE_MAX \
	((size_t)16 * 1024 * 1024) /* a command line is 2 MiB at most, before escapes */

/* "trace.jsonl.meta" for "trace.jsonl", to be freed; NULL without memory. */
char *sidecar_path(const char *trace_path);

/* ---- write --------------------------------------------------------------- */

struct sidecar_writer {
	char *at;    /* where the next line starts */
	char *limit; /* no event's line may start here or beyond */
	char *buf;
	size_t size;     /* of buf */
	uint64_t end;    /* of the lines in the file; the room begins there */
	uint64_t events; /* in buf */
	uint64_t lines;  /* in buf, those of events too */
	uint64_t events_written, events_unwritten;
	uint64_t lines_unwritten; /* those of events too */
	int fd;
	int error; /* negative errno of the write that failed; 0 while all is well */
	bool cut;  /* the file ends inside a line, and we could not take that back */
	/* Called before a full buffer goes out by itself, with @before_ctx; NULL: nothing to do. */
	void (*before)(void *ctx);
	void *before_ctx;
	char *path;
};

/* @path is the sidecar's own; a file that is there is written over. */
int sidecar_writer_open(struct sidecar_writer *w, const char *path, struct err *err);

/* Never fail: see the counters. */
void sidecar_put_run(struct sidecar_writer *w, const struct sidecar_run *run);
void sidecar_put_process(struct sidecar_writer *w, const struct sidecar_process *process);
void sidecar_put_module(struct sidecar_writer *w, const struct sidecar_module *module);
void sidecar_put_site(struct sidecar_writer *w, const struct trace_site *site);
void sidecar_put_event(struct sidecar_writer *w, const struct trace_event *ev);
void sidecar_put_gap(struct sidecar_writer *w, const struct trace_gap *gap);
void sidecar_put_coroutine(struct sidecar_writer *w, const struct sidecar_coroutine *coroutine);

/* Last, once: nothing may be put after it.  Goes to the file at once. */
void sidecar_put_totals(struct sidecar_writer *w, const struct sidecar_totals *totals);

/* The same members, for others who print them: into an object that is open in @j. */
void sidecar_json_run(struct json_writer *j, const struct sidecar_run *run);
void sidecar_json_process(struct json_writer *j, const struct sidecar_process *process);
void sidecar_json_totals(struct json_writer *j, const struct sidecar_totals *totals);

/* Everything out to the file, in whole lines.  0, or the negative errno of the first failure. */
int sidecar_flush(struct sidecar_writer *w);

/*
 * Flush, close.  The counters stay readable.  Fails if any line did not get into the
 * file.  Harmless on a struct that is all zero, or closed.
 */
int sidecar_writer_close(struct sidecar_writer *w, struct err *err);

/* ---- read ---------------------------------------------------------------- */

struct sidecar_stats {
	uint64_t lines;
	uint64_t records;
	uint64_t unknown_types; /* objects of a type that we do not know */
	uint64_t unknown_keys;
	uint64_t bad_fields; /* of a type that does not fit: taken as missing */
	uint64_t garbage;    /* lines that are no object with a type */
	uint64_t damaged;    /* of these: lines that begin as one of a type that was wanted */
};

struct sidecar_reader {
	struct lines lines;
	struct sidecar_stats stats; /* stays after the close */
	bool no_memory;             /* the last line could not be parsed for want of memory */
	unsigned wanted; /* bit t: items of type t; others are passed over unseen.  0: all */
	void *object;    /* of the last item: its strings are in there */
	const char **command;
};

/* -ENOENT where there is none, which is no reason to complain. */
int sidecar_reader_open(struct sidecar_reader *r, const char *path, struct err *err);

/* The same on an open descriptor, which is the reader's from now on, also on failure. */
int sidecar_reader_open_fd(struct sidecar_reader *r, int fd, const char *name, struct err *err);

/* 1: *@item is the next one, its strings valid until the next call; 0: the end; -errno. */
int sidecar_next(struct sidecar_reader *r, struct trace_item *item, struct err *err);

void sidecar_reader_close(struct sidecar_reader *r);

/*
 * Of a sidecar that somebody may be writing: *@end, up to where it will stay as it is.  False:
 * somebody is just at it.
 */
bool sidecar_final_end(int fd, uint64_t *end);

#endif
