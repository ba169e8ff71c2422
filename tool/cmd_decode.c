/* SPDX-License-Identifier: MIT */
/* cmd_decode.c - corotracer decode: convert a recording of frames to CSV, JSON lines or SQLite. */
#include <stdio.h>
#include <string.h>

#include "base/printer.h"
#include "base/text.h"
#include "export_job.h"
#include "json_file.h"

enum decode_format { DECODE_CSV, DECODE_JSONL, DECODE_SQLITE };

struct decode_options {
	struct export_options config;
	enum decode_format format;
	bool json;
};

static const struct opt options[] = {
	{ 'f', "format", "FORMAT", "csv (default), jsonl or sqlite",
	  OPT_CHOICE(struct decode_options, format, "csv, jsonl or sqlite", DECODE_CSV) },
	{ 0, "frame", "NAME", "only frames of this type",
	  OPT_TEXT(struct decode_options, config.frame) },
	{ 0, "json", "[=FILE]", "print the summary as one JSON object on stderr",
	  OPT_FLAG(struct decode_options, json) },
	{ 0, "crlf", NULL, "end CSV lines with CR LF (RFC 4180) instead of LF",
	  OPT_FLAG(struct decode_options, config.crlf) },
	/* now the default; kept for compatibility */
	{ 0, "lf", NULL, NULL, OPT_VALUE(struct decode_options, config.crlf, false) },
	{ 0, "no-formula-guard", NULL, "do not put ' before text that begins with = + - @",
	  OPT_FLAG(struct decode_options, config.exact_text) },
	{ 'q', "quiet", NULL, "print a summary only if something is missing",
	  OPT_FLAG(struct decode_options, config.quiet) },
	{ .name = NULL },
};

/* ---- summary ------------------------------------------------------------- */

static bool decode_is_sound(const struct recfile_stats *s)
{
	return !s->torn && !s->foreign && !s->cut_bytes && !s->gaps &&
	       !(s->ended && (s->end.c || s->end.b != s->frames));
}

static void decode_print_types(struct printer *p, const struct export_frames *f)
{
	bool several = f->nr_types > 1;
	size_t i;

	print_object(p, "types");
	for (i = 0; i < f->nr_types; i++) {
		print_text(p, "%s", !several ? "" : i ? ", " : " (");
		print_count(p, f->names[i], several ? "%s" : NULL, f->nr[i]);
		print_text(p, "%s%s", several ? " " : "", several ? f->names[i] : "");
	}
	print_object_end(p);
	print_text(p, "%s", several ? ")" : "");
}

static void decode_print_summary(const struct decode_options *q, const struct export_result *r)
{
	const struct recfile_stats *s = &r->frames.stats;
	char text[TEXT_SIZE];
	struct printer p;

	printer_begin(&p, json_file_stream(stderr), q->json);
	print_text(&p, "%s: ", q->config.trace);
	print_string(&p, "file", q->config.trace);
	print_string(&p, "output", r->output);
	print_flag(&p, "sound", NULL, decode_is_sound(s));
	print_count(&p, "frames", "%s frames", s->frames);
	decode_print_types(&p, &r->frames);
	print_text(&p, " to %s\n",
		   r->output && strcmp(r->output, "-") != 0 ? r->output : "standard output");
	print_nonzero(&p, "torn", "  torn        %s\n", s->torn);
	print_nonzero(&p, "foreign", "  foreign     %s\n", s->foreign);
	print_count(&p, "cut_bytes", NULL, s->cut_bytes);
	print_count(&p, "gaps", NULL, s->gaps);
	print_count(&p, "out_of_order", NULL, s->repeated);
	print_nonzero(&p, "lost", "  lost        %s\n", export_frames_lost(s));
	if (s->ended && s->end.b != s->frames)
		print_text(&p, "  missing     %s frames were recorded\n",
			   text_count(text, s->end.b));
	if (s->cut_bytes)
		print_text(&p, "  cut         the last %s bytes are an incomplete record\n",
			   text_count(text, s->cut_bytes));
	print_flag(&p, "ended", NULL, s->ended);
	print_count(&p, "resizes", NULL, s->resizes);
	print_count(&p, "bytes_in", NULL, r->read_bytes);
	print_count(&p, "bytes_out", NULL, r->bytes);
	printer_end(&p);
}

static int decode_recording(const struct decode_options *q)
{
	static const struct sink *const formats[] = {
		[DECODE_CSV] = &sink_csv,
		[DECODE_JSONL] = &sink_jsonl,
		[DECODE_SQLITE] = &sink_sqlite,
	};
	struct export_result result;
	struct err err = { 0 };
	int rc = export_recording(formats[q->format], &q->config, &result, &err);

	if (rc < 0)
		message_error("decode", &err);
	if ((q->json && result.output) ||
	    (!q->json && rc == 0 && (!q->config.quiet || !decode_is_sound(&result.frames.stats))))
		decode_print_summary(q, &result);
	export_result_release(&result);
	return export_status(rc < 0 ? EXIT_FAILED : EXIT_OK, &result);
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
	q.config.trace = argv[first];
	q.config.output = argc - first > 1 ? argv[first + 1] : NULL;
	return decode_recording(&q);
}

const struct command command_decode = {
	.name = "decode",
	.instrument = "frames",
	.args = "[OPTIONS] FILE [DIR|-]",
	.summary = "convert a recording of frames to CSV, JSON lines or SQLite",
	.details = "CSV: a file per frame type in DIR (default FILE_output), intervals with "
		   "durations.\n"
		   "jsonl and sqlite write one file (FILE.jsonl, FILE.sqlite).  '-' is standard "
		   "input\n"
		   "or output.  Recordings of the existing tool are accepted.\n"
		   "\n"
		   "Exit status: 0 decoded; the summary says what is missing; 1 failed; 2 usage.\n",
	.opts = options,
	.run = run_decode,
};
