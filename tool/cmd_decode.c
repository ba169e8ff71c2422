/* SPDX-License-Identifier: MIT */
/* cmd_decode.c - corotracer decode: convert a recording of frames to CSV, JSON lines or SQLite. */
#include <stdio.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "cmd.h"
#include "frames/file/decode.h"

struct decode_options {
	struct decode_config config;
	bool json, quiet;
};

static const struct opt options[] = {
	{ 'f', "format", "FORMAT", "csv (default), jsonl or sqlite",
	  OPT_CHOICE(struct decode_options, config.format, "csv, jsonl or sqlite", DECODE_CSV) },
	{ 0, "frame", "NAME", "only frames of this type",
	  OPT_TEXT(struct decode_options, config.frame) },
	{ 0, "json", NULL, "the summary on standard error as one JSON object",
	  OPT_FLAG(struct decode_options, json) },
	{ 0, "crlf", NULL, "end CSV lines with CR LF, as RFC 4180 has it, not with LF",
	  OPT_FLAG(struct decode_options, config.crlf) },
	/* now the default; kept for compatibility */
	{ 0, "lf", NULL, NULL, OPT_VALUE(struct decode_options, config.crlf, false) },
	{ 0, "no-formula-guard", NULL, "no ' before text that begins with = + - @",
	  OPT_FLAG(struct decode_options, config.exact_text) },
	{ 'q', "quiet", NULL, "no summary unless something is missing",
	  OPT_FLAG(struct decode_options, quiet) },
	{ .name = NULL },
};

/* ---- summary ------------------------------------------------------------- */

static bool decode_is_sound(const struct decode_result *r)
{
	const struct recfile_stats *s = &r->stats;

	return !s->torn && !s->foreign && !s->cut_bytes && !s->gaps &&
	       !(s->ended && (s->end.c || s->end.b != s->frames));
}

/* The last mark has the exact number; without it, count the gaps in the tickets. */
static uint64_t decode_lost(const struct recfile_stats *s)
{
	return s->ended ? s->end.c : s->gaps;
}

static void decode_summary_json(const struct decode_options *q, const struct decode_result *r)
{
	const struct recfile_stats *s = &r->stats;
	struct json_writer w;
	size_t i;

	jw_init_file(&w, stderr);
	jw_object_begin(&w);
	jw_field_string(&w, "file", q->config.path);
	jw_field_string(&w, "output", r->out);
	jw_field_bool(&w, "sound", decode_is_sound(r));
	jw_field_u64(&w, "frames", s->frames);
	jw_key(&w, "types");
	jw_object_begin(&w);
	for (i = 0; i < r->nr_types; i++)
		jw_field_u64(&w, r->names[i], r->frames[i]);
	jw_object_end(&w);
	jw_field_u64(&w, "torn", s->torn);
	jw_field_u64(&w, "foreign", s->foreign);
	jw_field_u64(&w, "cut_bytes", s->cut_bytes);
	jw_field_u64(&w, "gaps", s->gaps);
	jw_field_u64(&w, "out_of_order", s->repeated);
	jw_field_u64(&w, "lost", decode_lost(s));
	jw_field_bool(&w, "ended", s->ended);
	jw_field_u64(&w, "resizes", s->resizes);
	jw_field_u64(&w, "bytes_in", r->bytes_in);
	jw_field_u64(&w, "bytes_out", r->bytes_out);
	jw_object_end(&w);
	jw_newline(&w);
	jw_release(&w);
}

static void decode_summary_count(const char *what, uint64_t nr)
{
	char text[TEXT_SIZE];

	if (nr)
		fprintf(stderr, "  %-11s %s\n", what, text_count(text, nr));
}

static void decode_summary_text(const struct decode_options *q, const struct decode_result *r)
{
	const struct recfile_stats *s = &r->stats;
	char text[TEXT_SIZE];
	size_t i;

	fprintf(stderr, "%s: %s frames", q->config.path, text_count(text, s->frames));
	for (i = 0; i < r->nr_types && r->nr_types > 1; i++)
		fprintf(stderr, "%s%s %s", i ? ", " : " (", text_count(text, r->frames[i]),
			r->names[i]);
	fprintf(stderr, "%s to %s\n", r->nr_types > 1 ? ")" : "",
		r->out && strcmp(r->out, "-") != 0 ? r->out : "standard output");
	decode_summary_count("torn", s->torn);
	decode_summary_count("foreign", s->foreign);
	decode_summary_count("lost", decode_lost(s));
	if (s->ended && s->end.b != s->frames)
		fprintf(stderr, "  missing     %s frames were recorded\n",
			text_count(text, s->end.b));
	if (s->cut_bytes)
		fprintf(stderr, "  cut         the last %s bytes are no whole record\n",
			text_count(text, s->cut_bytes));
}

static int decode_recording(const struct decode_options *q)
{
	struct decode_result result;
	struct err err = { 0 };
	int rc = decode_run(&q->config, &result, &err);

	if (rc < 0)
		message_error("decode", &err);
	if (q->json && result.out)
		decode_summary_json(q, &result);
	else if (rc == 0 && (!q->quiet || !decode_is_sound(&result)))
		decode_summary_text(q, &result);
	decode_result_release(&result);
	return rc < 0 ? EXIT_FAILED : EXIT_OK;
}

static int run_decode(int argc, char **argv)
{
	struct decode_options q = { 0 };
	int first, status = opts_parse(&command_decode, &q, argc, argv, &first);

	if (status != OPTS_PARSED)
		return status;
	if (first == argc)
		return opts_missing(&command_decode, "FILE");
	if (argc - first > 2)
		return opts_unexpected(&command_decode, argv[first + 2]);
	q.config.path = argv[first];
	q.config.out = argc - first > 1 ? argv[first + 1] : NULL;
	return decode_recording(&q);
}

const struct command command_decode = {
	.name = "decode",
	.instrument = "frames",
	.args = "[OPTIONS] FILE [DIR|-]",
	.summary = "turn a recording of frames into CSV, JSON lines or a database",
	.details =
		"CSV: a file per frame type in DIR (FILE_output), intervals with their duration.\n"
		"jsonl and sqlite write one file (FILE.jsonl, FILE.sqlite).  '-' is standard "
		"output,\n"
		"and as FILE standard input.  Recordings of the existing tool are fine.\n"
		"\n"
		"Exit status: 0 decoded, what is missing is said; 1 failed; 2 usage.\n",
	.opts = options,
	.run = run_decode,
};
