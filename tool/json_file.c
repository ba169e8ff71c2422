/* SPDX-License-Identifier: MIT */
/* json_file.c - the file of --json=FILE, which appears complete or not at all. */
#include "json_file.h"

#include "base/output_file.h"
#include "cmd.h"

static struct {
	const char *path; /* NULL: not given, or finished */
	struct outfile file;
	FILE *stream; /* NULL: not created yet */
	struct err err;
} json_file;

void json_file_set(const char *path)
{
	json_file.path = path;
}

FILE *json_file_stream(FILE *usual)
{
	if (!json_file.path || json_file.err.code)
		return usual;
	if (json_file.stream)
		return json_file.stream;
	if (outfile_open(&json_file.file, json_file.path, &json_file.err) < 0)
		return usual;
	json_file.stream = outfile_stream(&json_file.file, &json_file.err);
	if (!json_file.stream)
		outfile_close(&json_file.file);
	return json_file.stream ? json_file.stream : usual;
}

int json_file_finish(int status)
{
	if (json_file.stream) {
		outfile_end_stream(&json_file.file, json_file.stream);
		outfile_commit(&json_file.file, &json_file.err);
		outfile_close(&json_file.file);
	}
	json_file.stream = NULL;
	json_file.path = NULL;
	if (!json_file.err.code)
		return status;
	message_error(NULL, &json_file.err);
	json_file.err.code = 0;
	return EXIT_FAILED;
}
