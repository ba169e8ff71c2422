/* SPDX-License-Identifier: MIT */
/*
 * cmd_merge.c - `corotracer merge`: join the traces of several processes into one.
 *
 * The result is a trace as any other: merge.h says which numbers change.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "cmd.h"
#include "export/export.h"
#include "export_job.h"
#include "filter_opts.h"
#include "json_file.h"
#include "trace/merge.h"

struct merge_options {
	struct export_options export;
	unsigned format; /* enum trace_format */
	bool force, json;
};

static const struct opt options[] = {
	{ 'o', "output", "FILE", "the merged trace: NAME.ct, NAME.ctf, or JSON lines",
	  OPT_NAME(struct merge_options, export.output) },
	{ 0, "format", "NAME", "jsonl, ctf or ct (default: by the name of FILE)",
	  OPT_CHOICE(struct merge_options, format, "jsonl, ctf or ct", TRACE_FORMAT_JSONL) },
	{ 0, "force", NULL, "also merge traces of different computers or boots",
	  OPT_FLAG(struct merge_options, force) },
	FILTER_TIME_OPTS(struct merge_options, export.filter),
	FILTER_EVENT_OPTS(struct merge_options, export.filter),
	{ 'q', "quiet", NULL, "no progress; a summary only if something is missing",
	  OPT_FLAG(struct merge_options, export.quiet) },
	{ 0, "json", "[=FILE]", "print the summary as one JSON object on stderr",
	  OPT_FLAG(struct merge_options, json) },
	{ .name = NULL },
};

/* ---- the summary --------------------------------------------------------------- */

static void merge_print_input(struct printer *p, const struct merge_input *in)
{
	char text[TEXT_SIZE];

	print_row(p);
	print_string(p, "trace", in->path);
	print_text(p, "  ");
	print_safe(p, in->path, 0);
	print_count(p, "transitions", NULL, in->transitions);
	print_count(p, "other_events", NULL, in->others);
	print_text(p, ": %s events", text_count(text, in->transitions + in->others));
	print_known(p, "lost", NULL, in->has_totals, in->totals.lost, "");
	print_known(p, "others_lost", NULL, in->has_totals, in->totals.others_lost, "");
	print_string(p, "verdict", trace_verdict_name(in->verdict));
	print_string(p, "missing", in->shortage[0] ? in->shortage : NULL);
	print_flag(p, "whole", NULL, merge_input_is_whole(in));
	print_count(p, "coroutines_raised_by", NULL, in->shift.id);
	print_count(p, "threads_raised_by", NULL, in->shift.tid);
	print_count(p, "processes_raised_by", NULL, in->shift.pid);
	print_count(p, "clock_shift_ns", NULL, in->shift.time);
	if (in->shift.id)
		print_text(p, "; coroutine N is %" PRIu64 " + N", in->shift.id);
	if (in->shift.pid)
		print_text(p, "; process N is %" PRIu32 " + N", in->shift.pid);
	print_row_end(p);
}

static void merge_print_summary(const struct merge_options *o, const struct merge *m,
				const struct export_result *r)
{
	char time[TEXT_SIZE], nr[TEXT_SIZE];
	struct printer p;
	size_t i;

	printer_begin(&p, json_file_stream(stderr), o->json);
	print_string(&p, "output", r->output);
	if (strcmp(r->output, "-") != 0)
		print_safe(&p, r->output, 0);
	else
		print_text(&p, "standard output");
	print_count(&p, "rows", ": %s events", r->rows);
	print_text(&p, " of %s traces in %s\n", text_count(nr, m->nr),
		   text_duration(time, r->duration_ns));
	print_count(&p, "bytes", NULL, r->bytes);
	print_flag(&p, "other_clocks", NULL, m->other_clock);
	print_known(&p, "lost", NULL, r->has_totals, r->lost, "");
	print_known(&p, "others_lost", NULL, r->has_totals, r->others_lost, "");
	print_list(&p, "inputs");
	for (i = 0; i < m->nr; i++)
		merge_print_input(&p, &m->inputs[i]);
	print_list_end(&p);
	if (!o->json)
		print_nonzero(&p, NULL, "  lost: %s events\n", r->lost + r->others_lost);
	print_count(&p, "duration_ns", NULL, r->duration_ns);
	printer_end(&p);
}

/* Says what is missing in an input.  Returns the exit status. */
static int merge_judge(const struct merge *m)
{
	int status = EXIT_OK;
	size_t i;

	for (i = 0; i < m->nr; i++) {
		const struct merge_input *in = &m->inputs[i];

		if (merge_input_is_whole(in))
			continue;
		message_print("merge", "'%s' is %s: %s", in->path,
			      in->is_clean ? trace_verdict_name(in->verdict) : "damaged",
			      in->shortage[0]          ? in->shortage
			      : in->totals.lost_output ? "the collector could not write it all"
			      : !in->totals.complete   ? "the collector stopped early"
						       : "parts of it were skipped");
		status = EXIT_FAILED;
	}
	if (m->other_clock)
		message_print("merge", "warning: the traces have different clocks: times of "
				       "different traces are compared by their wall clocks");
	return status;
}

/* ---- the command ---------------------------------------------------------------- */

static int merge_check_output(const struct merge_options *o, char **paths, size_t nr)
{
	struct stat out, in;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (stat(o->export.output, &out) < 0 || stat(paths[i], &in) < 0 ||
		    out.st_dev != in.st_dev || out.st_ino != in.st_ino)
			continue;
		message_print("merge", "cannot write '%s': it is one of the traces", paths[i]);
		fputs("hint: name another file with -o\n", stderr);
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

static int merge_write(struct merge_options *o, struct merge *m, struct err *err)
{
	enum trace_format format = o->format ? o->format : trace_format_of(o->export.output);
	const struct sink *sink = sink_find(trace_format_name(format));
	struct trace_reader *reader = merge_reader_open(m, err);
	struct export_result result;
	int status = EXIT_FAILED;

	if (!reader)
		return EXIT_FAILED;
	if (export_run_reader(sink, &o->export, reader, &result, err) == 0) {
		status = merge_judge(m);
		if (o->json || !o->export.quiet || status)
			merge_print_summary(o, m, &result);
	}
	trace_reader_close(reader);
	export_result_release(&result);
	return export_status(status, &result);
}

static int merge_traces(struct merge_options *o, char **paths, size_t nr)
{
	struct err err = { 0 };
	struct merge *m;
	int status = merge_check_output(o, paths, nr);

	if (status != EXIT_OK)
		return status;
	m = merge_open((const char *const *)paths, nr, o->force, &err);
	status = m ? merge_write(o, m, &err) : EXIT_FAILED;
	if (err.code)
		message_error("merge", &err);
	merge_close(m);
	return status;
}

static int run_merge(int argc, char **argv)
{
	struct merge_options o = { 0 };
	int first, status = opts_parse(&command_merge, &o, argc, argv, &first);

	if (status != OPTS_PARSED)
		return status;
	if (argc - first < 2)
		return opts_missing(&command_merge, "TRACE TRACE");
	if (!o.export.output)
		return opts_missing(&command_merge, "-o FILE");
	o.export.trace = argv[first];
	return merge_traces(&o, argv + first, (size_t)(argc - first));
}

const struct command command_merge = {
	.name = "merge",
	.instrument = "coroutines",
	.args = "TRACE TRACE... -o FILE",
	.summary = "join traces of several processes into one, on one clock",
	.details = "TRACE: JSON lines (also .gz, .zst), CTF or .ct.  Numbers of coroutines stay "
		   "those of\n"
		   "the first trace; others are raised by a power of ten, which is printed.\n"
		   "Exit status: 0 done; 1 failed, or an input is incomplete; 2 usage.\n",
	.opts = options,
	.run = run_merge,
};
