/* SPDX-License-Identifier: MIT */
/*
 * decode.h - a recording to files that other programs read.
 *
 *	csv      a file per frame type, RFC 4180
 *	jsonl    a JSON object per frame, one file
 *	sqlite   a table per frame type, one database
 *
 * As a stream: memory does not grow with the recording.
 */
#ifndef FRAMES_DECODE_H
#define FRAMES_DECODE_H

#include "frames/recfile.h"

enum decode_format { DECODE_CSV, DECODE_JSONL, DECODE_SQLITE };

struct decode_config {
	const char *path; /* the recording; "-": standard input */
	const char *out;  /* folder, file or "-"; NULL: beside the recording */
	enum decode_format format;
	const char *frame; /* only frames of this type; NULL: all */
	bool lf;           /* CSV lines end as text files here do, not as RFC 4180 says */
};

struct decode_result {
	struct recfile_stats stats;
	uint64_t *frames; /* per type; nr_types of them */
	char **names;
	size_t nr_types;
	char *out; /* where it went */
	uint64_t bytes_in, bytes_out;
};

/* What was read until an error is in the result as well. */
int decode_run(const struct decode_config *config, struct decode_result *result, struct err *err);
void decode_result_release(struct decode_result *result);

/* ---- how a format is written --------------------------------------------- */

struct row_plan;

struct decode_writer {
	const char *name;
	int (*open)(struct decode_writer *w, const char *out, struct err *err);
	int (*frame)(struct decode_writer *w, unsigned type, const uint8_t *image, uint64_t ticket,
		     struct err *err);
	/* @complete: everything was written; otherwise there was an error already. */
	int (*close)(struct decode_writer *w, bool complete, struct err *err);
	/* Set by the caller. */
	const struct recfile *file;
	struct row_plan *plans; /* per type */
	uint64_t bytes;
	void *state;
};

extern const struct decode_writer decode_csv, decode_jsonl, decode_sqlite;

#endif
