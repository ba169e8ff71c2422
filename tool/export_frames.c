/* SPDX-License-Identifier: MIT */
/* export_frames.c - export a recording of frames. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "export_job.h"
#include "frames/file/decode.h"

#define FORMATS "csv, jsonl, sqlite, perfetto and chrome"

bool export_is_frames(const char *path)
{
	return recfile_sniff(path);
}

/* ---- the summary --------------------------------------------------------- */

static uint64_t frames_lost(const struct recfile_stats *s)
{
	return s->ended ? s->end.c : s->gaps;
}

/* Frames that the last mark counts and the file does not contain. */
static uint64_t frames_missing(const struct recfile_stats *s)
{
	return s->ended && s->end.b > s->frames ? s->end.b - s->frames : 0;
}

static bool is_whole(const struct recfile_stats *s)
{
	return !s->torn && !s->foreign && !s->cut_bytes && !frames_missing(s);
}

static void frames_summary_json(const struct export_job *job, const struct decode_result *r)
{
	struct json_writer w;

	jw_init_file(&w, stderr);
	jw_object_begin(&w);
	jw_field_string(&w, "kind", job->kind);
	jw_field_string(&w, "trace", job->options.trace);
	jw_field_string(&w, "output", r->out);
	jw_field_u64(&w, "frames", r->stats.frames);
	jw_field_u64(&w, "bytes", r->bytes_out);
	jw_field_u64(&w, "slices", r->counts.slices);
	jw_field_u64(&w, "instants", r->counts.instants);
	jw_field_u64(&w, "counters", r->counts.counters);
	jw_field_u64(&w, "without_time", r->counts.without_time);
	jw_field_bool(&w, "by_number", r->counts.by_number);
	jw_field_u64(&w, "torn", r->stats.torn);
	jw_field_u64(&w, "foreign", r->stats.foreign);
	jw_field_u64(&w, "cut_bytes", r->stats.cut_bytes);
	jw_field_u64(&w, "missing", frames_missing(&r->stats));
	jw_field_u64(&w, "lost", frames_lost(&r->stats));
	jw_object_end(&w);
	jw_newline(&w);
	jw_release(&w);
}

static void frames_summary_count(const char *what, uint64_t nr)
{
	char text[TEXT_SIZE];

	if (nr)
		fprintf(stderr, "  %-12s %s\n", what, text_count(text, nr));
}

static void frames_summary_text(const struct decode_result *r, enum decode_format format)
{
	char text[TEXT_SIZE];

	text_put(stderr, strcmp(r->out, "-") != 0 ? r->out : "standard output");
	fprintf(stderr, ": %s frames%s\n", text_count(text, r->stats.frames),
		format == DECODE_PERFETTO ? "; open it with https://ui.perfetto.dev"
		: format == DECODE_CHROME
			? "; open it with chrome://tracing or https://ui.perfetto.dev"
			: "");
	frames_summary_count("slices", r->counts.slices);
	frames_summary_count("instants", r->counts.instants);
	frames_summary_count("counters", r->counts.counters);
	frames_summary_count("lost", frames_lost(&r->stats));
}

static void frames_warn(const struct export_job *job, const struct decode_result *r)
{
	char text[TEXT_SIZE];

	if (r->counts.by_number)
		message_print(job->command,
			      "the clock of these frames counts CPU time and is no position in "
			      "time: frames are placed by their number, 1 us each");
	if (r->counts.without_time)
		message_print(job->command, "%s frames without time have no place on the time line",
			      text_count(text, r->counts.without_time));
	if (r->stats.torn)
		message_print(job->command, "%s torn frames are left out",
			      text_count(text, r->stats.torn));
	if (r->stats.foreign)
		message_print(job->command, "%s frames of unknown types are left out",
			      text_count(text, r->stats.foreign));
	if (frames_missing(&r->stats))
		message_print(job->command, "%s frames were recorded and are not in the file",
			      text_count(text, frames_missing(&r->stats)));
	if (r->stats.cut_bytes)
		message_print(job->command,
			      "the last %s bytes are no whole record, and are left out",
			      text_count(text, r->stats.cut_bytes));
}

/* ---- the job ------------------------------------------------------------- */

static bool find_format(const char *kind, enum decode_format *format)
{
	static const char *const names[NR_DECODE_FORMATS] = {
		[DECODE_CSV] = "csv",       [DECODE_JSONL] = "jsonl",
		[DECODE_SQLITE] = "sqlite", [DECODE_PERFETTO] = "perfetto",
		[DECODE_CHROME] = "chrome",
	};
	unsigned i;

	for (i = 0; i < NR_DECODE_FORMATS; i++) {
		if (!strcmp(names[i], kind)) {
			*format = (enum decode_format)i;
			return true;
		}
	}
	return false;
}

int export_frames(const struct export_job *job, const char *kind)
{
	struct decode_config config = { .path = job->options.trace,
					.out = job->options.output,
					.exact_text = job->options.exact_text };
	struct decode_result result;
	struct err err = { 0 };
	int rc, status = EXIT_OK;

	if (!find_format(kind, &config.format)) {
		message_print(job->command, "cannot export '%s' to %s: it is a recording of frames",
			      job->options.trace, kind);
		fputs("hint: recordings are exported to " FORMATS "\n", stderr);
		return EXIT_FAILED;
	}
	rc = decode_run(&config, &result, &err);
	if (rc < 0) {
		message_error(job->command, &err);
		status = EXIT_FAILED;
	} else {
		if (job->json)
			frames_summary_json(job, &result);
		else if (!job->options.quiet)
			frames_summary_text(&result, config.format);
		frames_warn(job, &result);
		status = is_whole(&result.stats) ? EXIT_OK : EXIT_FAILED;
	}
	decode_result_release(&result);
	return status;
}
