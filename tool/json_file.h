/* SPDX-License-Identifier: MIT */
/* json_file.h - the file of --json=FILE. */
#ifndef TOOL_JSON_FILE_H
#define TOOL_JSON_FILE_H

#include <stdio.h>

/* --json=@path was given; the text stays the caller's. */
void json_file_set(const char *path);

/*
 * Where the JSON of a command goes: the file of --json=FILE, created now, or @usual.  After a
 * failure, which json_file_finish() reports, it is @usual, too.
 */
FILE *json_file_stream(FILE *usual);

/*
 * Gives the file its name, once; called when a command ends, also by a signal.  Returns @status, or
 * EXIT_FAILED after an error message.
 */
int json_file_finish(int status);

#endif
