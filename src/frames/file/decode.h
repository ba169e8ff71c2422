/* SPDX-License-Identifier: MIT */
/*
 * decode.h - convert a recording to files for other programs.
 *
 *	csv        a file per frame type, RFC 4180 with lines that end in LF
 *	jsonl      a JSON object per frame, one file
 *	sqlite     a table per frame type, one database
 *	perfetto   a trace in Perfetto's own format
 *	chrome     trace events in JSON
 *
 * Streaming: memory use does not grow with the recording.
 */
#ifndef FRAMES_FILE_DECODE_H
#define FRAMES_FILE_DECODE_H

#include "frames/file/recording_reader.h"
#include "frames/file/frames_timeline.h"

enum decode_format {
	DECODE_CSV,
	DECODE_JSONL,
	DECODE_SQLITE,
	DECODE_PERFETTO,
	DECODE_CHROME,
	NR_DECODE_FORMATS
};

struct decode_config {
	const char *path; /* the recording; "-": standard input */
	const char *out;  /* folder, file or "-"; NULL: next to the recording */
	enum decode_format format;
	const char *frame; /* only frames of this type; NULL: all */
	bool exact_text;   /* CSV and SQLite: keep text that looks like a formula unchanged */
	bool crlf;         /* CSV lines end with CR LF, as in RFC 4180, not with LF */
};

struct decode_result {
	struct recfile_stats stats;
	uint64_t *frames; /* per type; nr_types of them */
	char **names;
	size_t nr_types;
	char *out; /* path of the output */
	uint64_t bytes_in, bytes_out;
	struct frame_counts counts; /* for perfetto and chrome */
};

/* On an error, the result describes what was read until then. */
int decode_run(const struct decode_config *config, struct decode_result *result, struct err *err);
void decode_result_release(struct decode_result *result);

/* ---- writer of a format -------------------------------------------------- */

struct decode_writer {
	const char *name;
	int (*open)(struct decode_writer *w, const char *out, struct err *err);
	int (*frame)(struct decode_writer *w, unsigned type, const uint8_t *image, uint64_t ticket,
		     struct err *err);
	void (*mark)(struct decode_writer *w, const struct recording_mark *mark); /* may be NULL */
	/* @complete: everything was written; otherwise there was an error before. */
	int (*close)(struct decode_writer *w, bool complete, struct err *err);
	/* Set by the caller. */
	const struct recfile *file;
	struct row_plan *plans; /* per type */
	uint64_t bytes;
	struct frame_counts counts;
	void *state;
};

extern const struct decode_writer decode_csv, decode_jsonl, decode_sqlite, decode_perfetto,
	decode_chrome;

#endif
