/* SPDX-License-Identifier: MIT */
/* export_job.c - run one export: select the sink, and print the summary. */
#include "export_job.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "filter_opts.h"
#include "json_file.h"

/* ---- the summary --------------------------------------------------------- */

void export_print_output(struct printer *p, const struct export_job *job,
			 const struct export_result *r)
{
	print_string(p, "kind", job->kind);
	print_string(p, "trace", job->options.trace);
	print_string(p, "output", r->output);
	if (r->output && strcmp(r->output, "-") != 0)
		print_safe(p, r->output, 0);
	else
		print_text(p, "%s", r->output ? "standard output" : "done");
}

static void export_summary(const struct export_job *job, const struct export_result *r)
{
	char time[TEXT_SIZE];
	struct printer p;

	printer_begin(&p, json_file_stream(stderr), job->json);
	export_print_output(&p, job, r);
	print_count(&p, "rows", ": %s events", r->rows);
	print_text(&p, " in %s%s%s\n", text_duration(time, r->duration_ns), r->note[0] ? "; " : "",
		   r->note);
	print_nonzero(&p, "extra_rows", "  other rows   %s\n", r->extra);
	print_count(&p, "bytes", NULL, r->bytes);
	print_count(&p, "transitions", NULL, r->transitions);
	print_count(&p, "other_events", NULL, r->others);
	print_count(&p, "left_out", NULL, r->left_out);
	print_count(&p, "garbage", NULL, r->garbage);
	print_flag(&p, "cut", NULL, r->is_cut);
	print_known(&p, "lost", NULL, r->has_totals, r->lost, "");
	print_known(&p, "others_lost", NULL, r->has_totals, r->others_lost, "");
	if (job->json)
		trace_put_completeness(&p.json, &r->stats);
	else
		print_nonzero(&p, NULL, "  lost         %s\n", r->lost + r->others_lost);
	print_count(&p, "duration_ns", NULL, r->duration_ns);
	printer_end(&p);
}

/* Warn about data that was not exported, also without a summary. */
static void export_warn(const struct export_job *job, const struct export_result *r)
{
	char text[TEXT_SIZE];

	if (r->is_cut)
		message_print(job->command,
			      "the trace ends in the middle of a %s: all before it is exported",
			      r->first_garbage ? "line" : "packet");
	if (r->shortage[0])
		message_print(job->command, "the trace is %s: %s", trace_verdict_name(r->verdict),
			      r->shortage);
	if (r->left_out)
		message_print(job->command,
			      "%s events are too far out of order or have impossible times: "
			      "they were skipped",
			      text_count(text, r->left_out));
	if (r->garbage > (r->is_cut && r->first_garbage)) {
		message_print(job->command, "%s parts of the trace are not events and were skipped",
			      text_count(text, r->garbage));
		if (r->first_garbage)
			fprintf(stderr, "hint: the first is line %llu: %s\n",
				(unsigned long long)r->first_garbage_line, r->first_garbage);
	}
}

/* ---- the job ------------------------------------------------------------- */

static int export_usage(const struct export_job *job)
{
	size_t i;

	if (job->kind)
		message_print(job->command, "unknown export format '%s'", job->kind);
	else
		message_print(job->command, "missing argument KIND");
	fputs("hint: formats:", stderr);
	for (i = 0; sinks[i]; i++)
		fprintf(stderr, " %s,", sinks[i]->name);
	fputs(" otlp, schema\n", stderr);
	return EXIT_USAGE;
}

int export_status(int status, const struct export_result *r)
{
	if (r->signal) {
		json_file_finish(status);
		signal(r->signal, SIG_DFL);
		raise(r->signal);
	}
	return status;
}

static int export_trace(struct export_job *job, const struct sink *sink)
{
	struct export_result result = { .rows = 0 };
	struct trace_parts part = { .nr = 0 };
	struct err err = { 0 };
	int status = EXIT_OK;
	int rc = filter_part_find(&part, job->options.trace, &job->options.filter, &err);

	if (!rc)
		rc = export_run(sink, &job->options, &result, &err);
	trace_parts_release(&part);
	if (rc < 0) {
		message_error(job->command, &err);
		status = EXIT_FAILED;
	} else {
		if (job->json || !job->options.quiet)
			export_summary(job, &result);
		export_warn(job, &result);
		status = export_is_whole(&result) ? EXIT_OK : EXIT_FAILED;
	}
	export_result_release(&result);
	return export_status(status, &result);
}

/* Scripts write -db-host "" for an unset value. */
static void forget_empty(struct export_options *o)
{
	const char **texts[] = { &o->cli,          &o->host,     &o->user,
				 &o->password,     &o->database, &o->table,
				 &o->mysql_socket, &o->output,   &o->pg_maintenance_db,
				 &o->pg_sslmode };
	size_t i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (*texts[i] && !**texts[i])
			*texts[i] = NULL;
	}
}

int export_job_run(struct export_job *job)
{
	const struct sink *sink = job->kind ? sink_find(job->kind) : NULL;
	bool is_otlp;

	if (!job->command)
		job->command = "export";
	forget_empty(&job->options);
	if (job->kind && !strcmp(job->kind, "schema"))
		return export_schema(job);
	is_otlp = job->kind && !strcmp(job->kind, "otlp");
	if (!sink && !is_otlp)
		return export_usage(job);
	if (!job->options.trace) {
		message_print(job->command, "missing argument -i TRACE");
		fprintf(stderr, "hint: corotracer export %s -i trace.jsonl\n", job->kind);
		return EXIT_USAGE;
	}
	if (is_otlp)
		return export_otlp(job);
	if (export_is_frames(job->options.trace))
		return export_frames(job, sink);
	return export_trace(job, sink);
}
