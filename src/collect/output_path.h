/* SPDX-License-Identifier: MIT */
/*
 * output_path.h - the output of a trace: a file, a directory or a pipe.
 *
 * A trace holds one run: an existing trace of the same name is renamed to NAME.old, never
 * appended to.  Only traces and empty files or directories are ever renamed or removed.  A
 * process that writes a trace holds a lock on it.
 */
#ifndef COLLECT_OUTPUT_PATH_H
#define COLLECT_OUTPUT_PATH_H

#include <stdbool.h>

#include "base/err.h"
#include "trace/trace_writer.h"

/* All zero: no output. */
struct output_path {
	char *path; /* without trailing slashes */
	enum trace_format format;
	bool is_open;
	int fd; /* of a file: passed on to the writer; of a directory: closed by place_close() */
	bool is_file;    /* a regular file; JSON lines get a sidecar then */
	bool is_stdout;  /* standard output, under any name */
	bool kept_trace; /* an earlier trace was renamed to NAME.old */
	bool kept_sidecar;
	bool made; /* the directory was created */
};

int place_open(struct output_path *p, const char *path, enum trace_format format, struct err *err);

/* The run could not start: undo place_open(). */
void place_undo(struct output_path *p);

void place_close(struct output_path *p);

#endif
