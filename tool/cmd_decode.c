/* SPDX-License-Identifier: MIT */
/* cmd_decode.c - corotracer decode: convert a recording of frames to CSV, JSON lines or SQLite. */
#include <stdio.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "cmd.h"
#include "frames/file/decode.h"

enum { O_FORMAT, O_FRAME, O_JSON, O_CRLF, O_LF, O_EXACT, O_QUIET };

static const struct opt options[] = {
	[O_FORMAT] = { 'f', "format", "FORMAT", "csv (default), jsonl or sqlite" },
	[O_FRAME] = { 0, "frame", "NAME", "only frames of this type" },
	[O_JSON] = { 0, "json", NULL, "the summary on standard error as one JSON object" },
	[O_CRLF] = { 0, "crlf", NULL, "end CSV lines with CR LF, as RFC 4180 has it, not with LF" },
	[O_LF] = { 0, "lf", NULL, NULL }, /* now the default; kept for compatibility */
	[O_EXACT] = { 0, "no-formula-guard", NULL, "no ' before text that begins with = + - @" },
	[O_QUIET] = { 'q', "quiet", NULL, "no summary unless something is missing" },
	{ 0, NULL, NULL, NULL },
};

struct request {
	struct decode_config config;
	bool json, quiet;
};

/* ---- summary ------------------------------------------------------------- */

static bool is_sound(const struct decode_result *r)
{
	const struct recfile_stats *s = &r->stats;

	return !s->torn && !s->foreign && !s->cut_bytes && !s->gaps &&
	       !(s->ended && (s->end.c || s->end.b != s->frames));
}

/* The last mark has the exact number; without it, count the gaps in the tickets. */
static uint64_t lost(const struct recfile_stats *s)
{
	return s->ended ? s->end.c : s->gaps;
}

static void summary_json(const struct request *q, const struct decode_result *r)
{
	const struct recfile_stats *s = &r->stats;
	struct json_writer w;
	size_t i;

	jw_init_file(&w, stderr);
	jw_object_begin(&w);
	jw_field_string(&w, "file", q->config.path);
	jw_field_string(&w, "output", r->out);
	jw_field_bool(&w, "sound", is_sound(r));
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
	jw_field_u64(&w, "lost", lost(s));
	jw_field_bool(&w, "ended", s->ended);
	jw_field_u64(&w, "resizes", s->resizes);
	jw_field_u64(&w, "bytes_in", r->bytes_in);
	jw_field_u64(&w, "bytes_out", r->bytes_out);
	jw_object_end(&w);
	jw_newline(&w);
	jw_release(&w);
}

static void tell(const char *what, uint64_t nr)
{
	char text[TEXT_SIZE];

	if (nr)
		fprintf(stderr, "  %-11s %s\n", what, text_count(text, nr));
}

static void summary_text(const struct request *q, const struct decode_result *r)
{
	const struct recfile_stats *s = &r->stats;
	char text[TEXT_SIZE];
	size_t i;

	fprintf(stderr, "%s: %s frames", q->config.path, text_count(text, s->frames));
	for (i = 0; i < r->nr_types && r->nr_types > 1; i++)
		fprintf(stderr, "%s%s %s", i ? ", " : " (", text_count(text, r->frames[i]),
			r->names[i]);
	fprintf(stderr, "%s to %s\n", r->nr_types > 1 ? ")" : "",
		strcmp(r->out, "-") != 0 ? r->out : "standard output");
	tell("torn", s->torn);
	tell("foreign", s->foreign);
	tell("lost", lost(s));
	if (s->ended && s->end.b != s->frames)
		fprintf(stderr, "  missing     %s frames were recorded\n",
			text_count(text, s->end.b));
	if (s->cut_bytes)
		fprintf(stderr, "  cut         the last %s bytes are no whole record\n",
			text_count(text, s->cut_bytes));
}

static int decode(const struct request *q)
{
	struct decode_result result;
	struct err err = { 0 };
	int rc = decode_run(&q->config, &result, &err);

	if (rc < 0)
		say_error("decode", &err);
	if (q->json && result.out)
		summary_json(q, &result);
	else if (rc == 0 && (!q->quiet || !is_sound(&result)))
		summary_text(q, &result);
	decode_result_release(&result);
	return rc < 0 ? EXIT_FAILED : EXIT_OK;
}

/* ---- the command line ---------------------------------------------------- */

static bool take_format(struct request *q, const char *name)
{
	static const char *const names[] = { "csv", "jsonl", "sqlite" };
	int i;

	for (i = 0; i < 3; i++) {
		if (!strcmp(names[i], name)) {
			q->config.format = (enum decode_format)i;
			return true;
		}
	}
	say("decode", "there is no format '%s'", name);
	fputs("hint: csv, jsonl or sqlite\n", stderr);
	return false;
}

static bool take_option(struct request *q, int which, const char *value)
{
	if (which == O_FORMAT)
		return take_format(q, value);
	if (which == O_FRAME)
		q->config.frame = value;
	q->json |= which == O_JSON;
	q->quiet |= which == O_QUIET;
	if (which == O_CRLF || which == O_LF)
		q->config.crlf = which == O_CRLF;
	q->config.exact_text |= which == O_EXACT;
	return true;
}

/* Options may precede or follow the operands. */
static int parse(struct request *q, int *argc, char ***argv)
{
	struct opt_walk walk = { 0 };
	const char *value;
	int first = *argc, which;

	while ((which = opt_next(&command_decode, &walk, *argc, *argv, &value, &first)) >= 0) {
		if (!take_option(q, which, value))
			return OPT_BAD;
	}
	*argv += first;
	*argc -= first;
	return which;
}

static int run(int argc, char **argv)
{
	struct request q = { 0 };
	const char *names[2] = { NULL, NULL };
	int nr = 0, which;

	while ((which = parse(&q, &argc, &argv)) == OPT_END && argc > 0) {
		if (nr == 2) {
			say("decode", "'%s' is one word too many", argv[0]);
			return EXIT_USAGE;
		}
		names[nr++] = argv[0];
	}
	if (which == OPT_HELP)
		return EXIT_OK;
	if (which == OPT_BAD)
		return EXIT_USAGE;
	if (!nr) {
		say("decode", "which recording?");
		fputs("hint: corotracer decode [--format FORMAT] FILE [DIR|-]\n", stderr);
		return EXIT_USAGE;
	}
	q.config.path = names[0];
	q.config.out = names[1];
	return decode(&q);
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
	.run = run,
};
