/* SPDX-License-Identifier: MIT */
/*
 * text_trace.h - traces that a test writes as text: JSON lines and their sidecar, in a directory of
 * the test.
 */
#ifndef TEXT_TRACE_H
#define TEXT_TRACE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static char text_dir[] = "/tmp/test-text-XXXXXX";

static inline void text_remove_dir(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", text_dir);
	CHECK(system(command) == 0); /* NOLINT(cert-env33-c): a directory of this test */
}

static inline void text_make_dir(void)
{
	CHECK(mkdtemp(text_dir) != NULL);
	atexit(text_remove_dir);
}

/* The path of a file of the directory, valid until the fourth call after this one. */
static inline const char *text_path(const char *name)
{
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", text_dir, name);
	return path;
}

static inline void text_write(const char *name, const char *text)
{
	FILE *f = fopen(text_path(name), "w");

	CHECK(f != NULL);
	CHECK(fputs(text, f) >= 0);
	CHECK(fclose(f) == 0);
}

/* NAME.jsonl and NAME.jsonl.meta; @facts NULL: without a sidecar. */
static inline void text_trace(const char *name, const char *lines, const char *facts)
{
	char file[80];

	snprintf(file, sizeof(file), "%s.jsonl", name);
	text_write(file, lines);
	snprintf(file, sizeof(file), "%s.jsonl.meta", name);
	if (facts)
		text_write(file, facts);
}

#endif
