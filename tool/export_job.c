/* SPDX-License-Identifier: MIT */
/* export_job.c - run one export: select the sink, and print the summary. */
#include "export_job.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/text.h"

/* ---- the summary --------------------------------------------------------- */

static int export_summary_json(const struct export_job *job, const struct export_result *r)
{
	struct json_writer w;

	jw_init_file(&w, stderr);
	jw_object_begin(&w);
	jw_field_string(&w, "kind", job->kind);
	jw_field_string(&w, "trace", job->options.trace);
	jw_field_string(&w, "output", r->output);
	jw_field_u64(&w, "rows", r->rows);
	jw_field_u64(&w, "extra_rows", r->extra);
	jw_field_u64(&w, "bytes", r->bytes);
	jw_field_u64(&w, "transitions", r->transitions);
	jw_field_u64(&w, "other_events", r->others);
	jw_field_u64(&w, "left_out", r->left_out);
	jw_field_u64(&w, "garbage", r->garbage);
	jw_field_bool(&w, "cut", r->is_cut);
	if (r->has_totals) {
		jw_field_u64(&w, "lost", r->lost);
		jw_field_u64(&w, "others_lost", r->others_lost);
	} else {
		jw_field_null(&w, "lost");
		jw_field_null(&w, "others_lost");
	}
	trace_put_completeness(&w, &r->stats);
	jw_field_u64(&w, "duration_ns", r->duration_ns);
	jw_object_end(&w);
	jw_newline(&w);
	return jw_release(&w);
}

static void export_summary_count(const char *what, uint64_t nr)
{
	char text[TEXT_SIZE];

	if (nr)
		fprintf(stderr, "  %-12s %s\n", what, text_count(text, nr));
}

static void export_summary_text(const struct export_result *r)
{
	char rows[TEXT_SIZE], time[TEXT_SIZE];

	if (r->output && strcmp(r->output, "-") != 0)
		text_put(stderr, r->output);
	else
		fputs(r->output ? "standard output" : "done", stderr);
	fprintf(stderr, ": %s events in %s%s%s\n", text_count(rows, r->rows),
		text_duration(time, r->duration_ns), r->note[0] ? "; " : "", r->note);
	export_summary_count("other rows", r->extra);
	export_summary_count("lost", r->lost + r->others_lost);
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
			      "%s events are too far out of order, or at impossible times: "
			      "they were left out",
			      text_count(text, r->left_out));
	if (r->garbage > (r->is_cut && r->first_garbage)) {
		message_print(job->command,
			      "%s parts of the trace are no events, and were left out",
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
		message_print(job->command, "there is no export to '%s'", job->kind);
	else
		message_print(job->command, "export to what?");
	fputs("hint: there is", stderr);
	for (i = 0; sinks[i]; i++)
		fprintf(stderr, " %s,", sinks[i]->name);
	fputs(" schema\n", stderr);
	return EXIT_USAGE;
}

/* End by the same signal, so that the parent process sees it. */
static int export_interrupted(int sig)
{
	signal(sig, SIG_DFL);
	raise(sig);
	return EXIT_FAILED;
}

static int export_trace(const struct export_job *job, const struct sink *sink)
{
	struct export_result result;
	struct err err = { 0 };
	int status = EXIT_OK, rc = export_run(sink, &job->options, &result, &err);

	if (rc < 0) {
		message_error(job->command, &err);
		status = EXIT_FAILED;
	} else {
		if (job->json)
			export_summary_json(job, &result);
		else if (!job->options.quiet)
			export_summary_text(&result);
		export_warn(job, &result);
		status = export_is_whole(&result) ? EXIT_OK : EXIT_FAILED;
	}
	export_result_release(&result);
	return rc < 0 && result.signal ? export_interrupted(result.signal) : status;
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

	if (!job->command)
		job->command = "export";
	forget_empty(&job->options);
	if (job->kind && !strcmp(job->kind, "schema"))
		return export_schema(job);
	if (!sink)
		return export_usage(job);
	if (!job->options.trace) {
		message_print(job->command, "which trace?");
		fprintf(stderr, "hint: corotracer export %s -i trace.jsonl\n", job->kind);
		return EXIT_USAGE;
	}
	if (export_is_frames(job->options.trace))
		return export_frames(job, sink->name);
	return export_trace(job, sink);
}
