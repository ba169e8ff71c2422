/* SPDX-License-Identifier: MIT */
/*
 * sidecar.h - the part of a trace that is not in its lines: trace.jsonl.meta for trace.jsonl.
 *
 * One JSON object per line, each with a "type":
 *
 *	run         first: the command, the tool, time and host
 *	part        of a merged trace: one per trace that it was made of
 *	process     one per process that connected
 *	module      one per file that such a process had mapped with code in it
 *	cpu         processor time of a thread during a long slice, or a stop of a process
 *	descriptor  a coroutine waits for a descriptor that is ready
 *	site        a source location: "site" elsewhere is its "id" here
 *	birth, wake, end, destroy, close, acquire, release
 *	            events that are not transitions, in order of time
 *	gap         number of events of a thread that are missing here
 *	coroutine   one per coroutine that used a station, with its exact losses, and one
 *	            per coroutine that still existed at the end, with its last state
 *	totals      last: the sums, and how the program ended
 *	room        padding; see below
 *
 * Readers skip unknown types and keys.  An event omits members that were not reported.
 *
 * The file grows during the run, with the trace.  A file without totals belongs to a run that
 * has not finished or whose collector was killed.
 *
 * Failures
 *   The first write that fails ends the writing, except for the totals: as long as the file
 *   is open its last line is a "room" of SIDECAR_ROOM_SIZE bytes, which the totals overwrite
 *   at the end.  The totals therefore need no new disk space.
 */
#ifndef TRACE_SIDECAR_H
#define TRACE_SIDECAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/line_reader.h"
#include "trace/item.h"

#define SIDECAR_FORMAT    1
#define SIDECAR_SUFFIX    ".meta"
#define SIDECAR_ROOM_SIZE 1024 /* of the line that reserves space for the totals */
#define SIDECAR_LINE_MAX \
	((size_t)16 * 1024 * 1024) /* a command line is 2 MiB at most, before escapes */

/* "trace.jsonl.meta" for "trace.jsonl"; the caller frees it; NULL: no memory. */
char *sidecar_path(const char *trace_path);

/* ---- write --------------------------------------------------------------- */

struct sidecar_writer {
	char *at;    /* where the next line starts */
	char *limit; /* no line of an event may start here or later */
	char *buf;
	size_t size;     /* of buf */
	uint64_t end;    /* of the lines in the file; the room begins there */
	uint64_t events; /* in buf */
	uint64_t lines;  /* in buf, including those of events */
	uint64_t events_written, events_unwritten;
	uint64_t lines_unwritten; /* including those of events */
	int fd;
	int error; /* negative errno of the failed write; 0: no failure */
	bool cut;  /* the file ends inside a line that could not be truncated */
	/* Called with @before_ctx before a full buffer is written out; may be NULL. */
	void (*before)(void *ctx);
	void *before_ctx;
	char *path;
};

/* @path is the path of the sidecar; an existing file is overwritten. */
int sidecar_writer_open(struct sidecar_writer *w, const char *path, struct err *err);

/* Never fail: see the counters. */
void sidecar_put_event(struct sidecar_writer *w, const struct trace_event *ev);
void sidecar_put_fact(struct sidecar_writer *w, const struct trace_item *item); /* any other item */

/* The last call, once: nothing may be put after it.  Writes to the file immediately. */
void sidecar_put_totals(struct sidecar_writer *w, const struct sidecar_totals *totals);

/* Writes all lines to the file.  Returns 0, or the negative errno of the first failure. */
int sidecar_flush(struct sidecar_writer *w);

/*
 * Flush and close.  The counters stay valid.  Fails if any line is not in the file.  Harmless
 * on a struct that is all zero or closed.
 */
int sidecar_writer_close(struct sidecar_writer *w, struct err *err);

/* ---- read ---------------------------------------------------------------- */

struct sidecar_stats {
	uint64_t lines;
	uint64_t records;
	uint64_t unknown_types; /* objects of an unknown type */
	uint64_t unknown_keys;
	uint64_t bad_fields; /* values of a wrong type: treated as missing */
	uint64_t garbage;    /* lines that are not an object with a type */
	uint64_t damaged;    /* corrupt lines that begin like a wanted type */
};

struct sidecar_reader {
	struct lines lines;
	struct sidecar_stats stats; /* valid after the close */
	bool no_memory;             /* the last line could not be parsed because memory ran out */
	unsigned wanted; /* bit t: return items of type t, skip others unparsed. 0: all */
	void *object;    /* of the last item: owns its strings */
	const char **command;
};

/* Returns -ENOENT if the sidecar does not exist; callers accept that. */
int sidecar_reader_open(struct sidecar_reader *r, const char *path, struct err *err);

/* The same on an open descriptor.  The reader owns @fd, also on failure. */
int sidecar_reader_open_fd(struct sidecar_reader *r, int fd, const char *name, struct err *err);

/* Returns 1: *@item is the next one, its strings valid until the next call; 0: the end; -errno. */
int sidecar_next(struct sidecar_reader *r, struct trace_item *item, struct err *err);

/*
 * One line from memory instead of a file: text[size] is a newline, and LINES_SLACK bytes behind it
 * are readable.  @r is all zero at first, and released with sidecar_forget().  Returns 1: *@item is
 * set, its strings valid until the next call; 0: the line is no item, or not wanted; -ENOMEM.
 */
int sidecar_take_line(struct sidecar_reader *r, const struct line *line, struct trace_item *item);
void sidecar_forget(struct sidecar_reader *r);

void sidecar_reader_close(struct sidecar_reader *r);

/*
 * For a sidecar that may be open for writing: *@end is the offset up to which the file is
 * final.  False: a write is in progress.
 */
bool sidecar_final_end(int fd, uint64_t *end);

#endif
