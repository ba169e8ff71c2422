/* SPDX-License-Identifier: MIT */
/* export_frames.c - export a recording of frames. */
#include <stdio.h>

#include "base/text.h"
#include "export_job.h"
#include "json_file.h"

bool export_is_frames(const char *path)
{
	return recfile_sniff(path);
}

/* ---- the summary --------------------------------------------------------- */

/* The last mark has the exact number; without it, count the gaps in the tickets. */
uint64_t export_frames_lost(const struct recfile_stats *s)
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

static void frames_summary(const struct export_job *job, const struct export_result *r)
{
	const struct recfile_stats *s = &r->frames.stats;
	const struct frame_counts *c = &r->frames.counts;
	struct printer p;

	printer_begin(&p, json_file_stream(stderr), job->json);
	export_print_output(&p, job, r);
	print_count(&p, "frames", ": %s frames", s->frames);
	print_text(&p, "%s%s\n", r->note[0] ? "; " : "", r->note);
	print_count(&p, "bytes", NULL, r->bytes);
	print_nonzero(&p, "slices", "  slices       %s\n", c->slices);
	print_nonzero(&p, "instants", "  instants     %s\n", c->instants);
	print_nonzero(&p, "counters", "  counters     %s\n", c->counters);
	print_count(&p, "without_time", NULL, c->without_time);
	print_flag(&p, "by_number", NULL, c->by_number);
	print_count(&p, "torn", NULL, s->torn);
	print_count(&p, "foreign", NULL, s->foreign);
	print_count(&p, "cut_bytes", NULL, s->cut_bytes);
	print_count(&p, "missing", NULL, frames_missing(s));
	print_nonzero(&p, "lost", "  lost         %s\n", export_frames_lost(s));
	printer_end(&p);
}

static void frames_warn(const struct export_job *job, const struct export_frames *r)
{
	char text[TEXT_SIZE];

	if (r->counts.by_number)
		message_print(
			job->command,
			"the clock of these frames counts CPU time: frames are placed by their "
			"number, 1 us each");
	if (r->counts.without_time)
		message_print(job->command, "%s frames without time have no place on the time line",
			      text_count(text, r->counts.without_time));
	if (r->stats.torn)
		message_print(job->command, "%s torn frames were skipped",
			      text_count(text, r->stats.torn));
	if (r->stats.foreign)
		message_print(job->command, "%s frames of unknown types were skipped",
			      text_count(text, r->stats.foreign));
	if (frames_missing(&r->stats))
		message_print(job->command, "%s frames were recorded and are not in the file",
			      text_count(text, frames_missing(&r->stats)));
	if (r->stats.cut_bytes)
		message_print(job->command,
			      "the last %s bytes are an incomplete record and were skipped",
			      text_count(text, r->stats.cut_bytes));
}

/* ---- the job ------------------------------------------------------------- */

int export_frames(const struct export_job *job, const struct sink *sink)
{
	struct export_result result;
	struct err err = { 0 };
	int status, rc = export_recording(sink, &job->options, &result, &err);

	if (rc < 0) {
		message_error(job->command, &err);
		status = EXIT_FAILED;
	} else {
		if (job->json || !job->options.quiet)
			frames_summary(job, &result);
		frames_warn(job, &result.frames);
		status = is_whole(&result.frames.stats) ? EXIT_OK : EXIT_FAILED;
	}
	export_result_release(&result);
	return export_status(status, &result);
}
