/* SPDX-License-Identifier: MIT */
/*
 * jsonl_reader.h - read a trace as a stream: ours, or one of another tool.
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
 * Memory does not grow with the trace.  A line that is not an event (not JSON, cut
 * off, a key missing, a record that cannot be one) is garbage: it is counted, the
 * first few are remembered, and reading goes on.  Blank lines and CRLF are fine.
 */
#ifndef TRACE_JSONL_READER_H
#define TRACE_JSONL_READER_H

#include "base/err.h"
#include "base/lines.h"
#include "trace/event.h"

#define JSONL_LINE_MAX      ((size_t)1024 * 1024) /* a line this long is garbage */
#define JSONL_GARBAGE_FIRST 16

struct jsonl_garbage {
	uint64_t line;      /* from 1 */
	const char *reason; /* a constant, "it is not JSON" */
};

struct jsonl_stats {
	uint64_t lines;   /* all, blank ones too */
	uint64_t events;  /* lines that are one */
	uint64_t garbage; /* lines that are none, blank ones not counted */
	bool cut;         /* the last of these is only the start of a line */
	unsigned nr_first;
	struct jsonl_garbage first[JSONL_GARBAGE_FIRST];
};

struct jsonl_reader {
	struct lines lines;
	struct jsonl_stats stats; /* of what was read so far; stays after the close */
};

/* @path may be "-": standard input. */
int jsonl_reader_open(struct jsonl_reader *r, const char *path, struct err *err);

/* The same on an open descriptor, which is the reader's from now on, also on failure. */
int jsonl_reader_open_fd(struct jsonl_reader *r, int fd, const char *name, struct err *err);

/* 1: *@ev is the next event; 0: the end; a negative errno if the file cannot be read. */
int jsonl_next(struct jsonl_reader *r, struct trace_event *ev, struct err *err);

void jsonl_reader_close(struct jsonl_reader *r);

#endif
