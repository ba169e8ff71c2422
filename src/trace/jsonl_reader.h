/* SPDX-License-Identifier: MIT */
/*
 * jsonl_reader.h - read the JSON lines of a trace, of corotracer or of another tool, as a
 * stream.
 *
 *	struct jsonl_reader r;
 *	struct trace_event ev;
 *	int rc = jsonl_reader_open(&r, path, &err);
 *
 *	if (rc < 0)
 *		return rc;
 *	while ((rc = jsonl_next(&r, &ev, &err)) > 0)
 *		...;
 *	jsonl_reader_close(&r);
 *
 * Memory does not grow with the trace.  A line that is not an event (not JSON, truncated, a key
 * missing, values that no event has) is corrupt: it is counted, the first JSONL_GARBAGE_FIRST
 * of them are stored, and reading continues.  Blank lines and CRLF are accepted.
 */
#ifndef TRACE_JSONL_READER_H
#define TRACE_JSONL_READER_H

#include "base/err.h"
#include "base/line_reader.h"
#include "trace/event.h"

#define JSONL_LINE_MAX      ((size_t)1024 * 1024) /* a line of this length is corrupt */
#define JSONL_GARBAGE_FIRST 16

struct jsonl_garbage {
	uint64_t line;      /* from 1 */
	const char *reason; /* a constant, "it is not JSON" */
};

struct jsonl_stats {
	uint64_t lines;   /* all lines, also blank ones */
	uint64_t events;  /* lines that are events */
	uint64_t garbage; /* corrupt lines, without blank ones */
	bool cut;         /* the last corrupt line is truncated */
	unsigned nr_first;
	struct jsonl_garbage first[JSONL_GARBAGE_FIRST];
};

struct jsonl_reader {
	struct lines lines;
	struct jsonl_stats stats; /* of what was read so far; valid after the close */
};

/* @path may be "-": standard input. */
int jsonl_reader_open(struct jsonl_reader *r, const char *path, struct err *err);

/* The same on an open descriptor.  The reader owns @fd, also on failure. */
int jsonl_reader_open_fd(struct jsonl_reader *r, int fd, const char *name, struct err *err);

/* Returns 1: *@ev is the next event; 0: the end; a negative errno if the file cannot be read. */
int jsonl_next(struct jsonl_reader *r, struct trace_event *ev, struct err *err);

void jsonl_reader_close(struct jsonl_reader *r);

#endif
