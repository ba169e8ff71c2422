/* SPDX-License-Identifier: MIT */
/*
 * place.h - where a trace goes: a file, a directory, a pipe.
 *
 * A trace is of one run: one of that name that is there already is kept as NAME.old,
 * never mixed into.  Only what is a trace, or empty, is ever renamed or removed.  Who
 * writes a trace holds a lock on it.
 */
#ifndef CTP_PLACE_H
#define CTP_PLACE_H

#include <stdbool.h>

#include "base/err.h"
#include "trace/writer.h"

/* All zero is none. */
struct place {
	char *path; /* without slashes at its end */
	enum trace_format format;
	bool is_open;
	int fd;          /* a file's is to be taken over, a directory's stays ours */
	bool is_file;    /* a plain one: a sidecar goes beside it */
	bool is_stdout;  /* standard output, under any of its names */
	bool kept_trace; /* an earlier one is NAME.old now */
	bool kept_sidecar;
	bool made; /* the directory was not there */
};

int place_open(struct place *p, const char *path, enum trace_format format, struct err *err);

/* There was no run after all: as if place_open() had never been. */
void place_undo(struct place *p);

void place_close(struct place *p);

#endif
