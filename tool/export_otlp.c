/* SPDX-License-Identifier: MIT */
/* export_otlp.c - corotracer export otlp: slow waits and findings as spans of OpenTelemetry. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory_shortage.h"
#include "base/monotonic.h"
#include "base/output_file.h"
#include "base/text.h"
#include "export_job.h"
#include "json_file.h"
#include "otlp/otlp_findings.h"
#include "otlp/otlp_send.h"
#include "report_parts.h"
#include "trace_foreach.h"

#define OTLP_BATCH_SPANS 512u /* as the exporters of the OpenTelemetry SDKs */

/* One export: everything that is read, and where it goes. */
struct otlp_export {
	const struct export_job *job;
	struct otlp_waits waits;
	struct report_parts parts;
	struct otlp_resource resource;
	char *host, *program, *build; /* from the trace */
	struct otlp_batch batch;
	const char *output; /* URL or file */
	char *derived;      /* the name of the file, if none was given */
	struct otlp_sender *sender;
	struct outfile file;
	bool has_file;
	struct otlp_sent sent;
	uint64_t spans, findings, bytes;
};

/* ---- reading --------------------------------------------------------------------- */

static void otlp_export_label(char **label, const char *text)
{
	if (*label || !text)
		return;
	*label = strdup(text);
	if (!*label)
		memory_shortage_note();
}

static void otlp_export_describe(struct otlp_export *x, const struct trace_item *item)
{
	const struct sidecar_run *run = &item->run;
	const char *slash;

	if (item->type == TRACE_ITEM_MODULE)
		otlp_export_label(&x->build, item->module.build_id);
	if (item->type != TRACE_ITEM_RUN)
		return;
	x->resource.pid = run->pid;
	otlp_export_label(&x->host, run->hostname);
	if (!run->nr_command)
		return;
	slash = strrchr(run->command[0], '/');
	otlp_export_label(&x->program, slash ? slash + 1 : run->command[0]);
}

static int otlp_export_item(void *arg, const struct trace_item *item, struct err *err)
{
	struct otlp_export *x = arg;

	otlp_export_describe(x, item);
	if (otlp_waits_add(&x->waits, item) < 0 || report_parts_add(&x->parts, item) < 0)
		return err_set(err, -ENOMEM, "no memory for the waits of '%s'",
			       x->job->options.trace);
	return 0;
}

/* The user's choice, then the trace's. */
static void otlp_export_set_resource(struct otlp_export *x)
{
	const struct ship_options *o = &x->job->otlp.labels;
	const char *service = getenv("OTEL_SERVICE_NAME");

	x->resource.service = o->service ? o->service : service ? service : x->program;
	if (!x->resource.service)
		x->resource.service = "unknown_service"; /* as the convention has it */
	x->resource.version = o->version;
	x->resource.host = o->host ? o->host : x->host;
	x->resource.region = o->region;
	x->resource.program = x->program;
	x->resource.build = x->build;
	x->batch.resource = &x->resource;
}

static int otlp_export_read(struct otlp_export *x, struct trace_reader *reader, struct err *err)
{
	const char *trace = x->job->options.trace;
	const struct trace_filter *filter = &x->job->options.filter;
	const struct trace_stats *stats = trace_reader_stats(reader);
	int rc;

	trace_reader_set_filter(reader, filter);
	rc = read_trace(trace, reader, otlp_export_item, x, err);
	if (rc < 0)
		return rc;
	if (otlp_waits_finish(&x->waits) < 0 ||
	    report_parts_finish(&x->parts, stats, trace_filter_is_set(filter)) < 0)
		return err_set(err, -ENOMEM, "no memory for the waits of '%s'", trace);
	otlp_export_set_resource(x);
	return expect_events(trace, x->waits.last_ts != 0, stats, err);
}

/* ---- writing --------------------------------------------------------------------- */

static bool otlp_is_url(const char *output)
{
	return !strncmp(output, "http://", 7) || !strncmp(output, "https://", 8);
}

static int otlp_export_open(struct otlp_export *x, struct err *err)
{
	const struct export_options *o = &x->job->options;
	const char *dot;

	x->output = o->output;
	if (!x->output && !strcmp(o->trace, "-"))
		x->output = "-";
	if (!x->output) {
		dot = strrchr(o->trace, '.');
		if (asprintf(&x->derived, "%.*s.otlp",
			     (int)(dot && !strchr(dot, '/') ? (size_t)(dot - o->trace)
							    : strlen(o->trace)),
			     o->trace) < 0)
			return err_set(err, -ENOMEM, "no memory for a file name");
		x->output = x->derived;
	}
	if (otlp_is_url(x->output)) {
		x->sender = otlp_sender_new(x->output, err);
		return x->sender ? 0 : err->code;
	}
	if (outfile_open(&x->file, x->output, err) < 0)
		return err->code;
	x->has_file = true;
	return 0;
}

/* Pass on the spans of the batch, if it is full or @is_last. */
static int otlp_export_flush(struct otlp_export *x, bool is_last, struct err *err)
{
	struct otlp_batch *b = &x->batch;
	int rc = 0;

	if (!b->spans || (b->spans < OTLP_BATCH_SPANS && !is_last))
		return 0;
	otlp_batch_end(b);
	if (b->proto.error)
		return err_set(err, b->proto.error, "no memory for spans");
	x->spans += b->spans;
	x->bytes += b->proto.used;
	if (x->sender)
		rc = otlp_send(x->sender, b->proto.buf, b->proto.used, &x->sent, err);
	else
		outfile_put(&x->file, b->proto.buf, b->proto.used);
	if (!is_last)
		otlp_batch_begin(b);
	return rc;
}

static int otlp_export_waits(struct otlp_export *x, struct err *err)
{
	const struct otlp_waits *w = &x->waits;
	size_t i, k;

	for (i = 0; i < w->nr_sites; i++) {
		for (k = 0; k < w->sites[i].nr; k++) {
			otlp_waits_put(w, &w->sites[i], &w->sites[i].list[k], &x->batch);
			if (otlp_export_flush(x, false, err) < 0)
				return err->code;
		}
	}
	return 0;
}

static int otlp_export_findings(struct otlp_export *x, const struct trace_stats *stats,
				struct err *err)
{
	size_t i, k;

	for (i = 0; i < x->parts.nr; i++) {
		const struct findings *f = &x->parts.list[i].analysis->findings;
		struct report r = {
			.trace = x->job->options.trace,
			.analysis = x->parts.list[i].analysis,
			.stats = stats,
			.least = CONFIDENCE_SUSPECT,
		};

		report_prepare(&r);
		for (k = 0; k < f->nr; k++) {
			if (!report_shows(&r, &f->groups[k]))
				continue;
			otlp_finding_put(&r, &f->groups[k], &x->waits, &x->batch);
			x->findings++;
			if (otlp_export_flush(x, false, err) < 0)
				return err->code;
		}
	}
	return 0;
}

static int otlp_export_write(struct otlp_export *x, const struct trace_stats *stats,
			     struct err *err)
{
	if (otlp_export_open(x, err) < 0)
		return err->code;
	otlp_batch_begin(&x->batch);
	if (otlp_export_waits(x, err) < 0 || otlp_export_findings(x, stats, err) < 0 ||
	    otlp_export_flush(x, true, err) < 0)
		return err->code;
	return x->has_file ? outfile_commit(&x->file, err) : 0;
}

/* ---- the summary ----------------------------------------------------------------- */

static void otlp_export_summary(const struct otlp_export *x, uint64_t duration_ns)
{
	char slow[TEXT_SIZE], waits[TEXT_SIZE], least[TEXT_SIZE], time[TEXT_SIZE];
	const struct otlp_waits *w = &x->waits;
	struct printer p;

	printer_begin(&p, json_file_stream(stderr), x->job->json);
	print_string(&p, "kind", x->job->kind);
	print_string(&p, "trace", x->job->options.trace);
	print_string(&p, "output", x->output);
	print_safe(&p, x->output, 0);
	print_count(&p, "spans", ": %s spans", x->spans);
	print_text(&p, " in %s\n", text_duration(time, duration_ns));
	print_count(&p, "waits_exported", "  waits        %s", w->chosen);
	print_text(&p, " of %s that took at least %s (of %s), at most %zu of a site\n",
		   text_count(slow, w->slow), text_duration(least, w->least_ns),
		   text_count(waits, w->waits), w->per_site);
	print_count(&p, "waits_slow", NULL, w->slow);
	print_count(&p, "waits", NULL, w->waits);
	print_count(&p, "findings", "  findings     %s\n", x->findings);
	print_count(&p, "bytes", NULL, x->bytes);
	print_count(&p, "requests", NULL, x->sent.requests);
	print_nonzero(&p, "retries", "  repeated     %s requests\n", x->sent.retries);
	print_count(&p, "rejected", NULL, x->sent.rejected);
	print_count(&p, "maybe_twice", NULL, x->sent.maybe_twice);
	print_count(&p, "unread_answers", NULL, x->sent.unread_answers);
	print_count(&p, "duration_ns", NULL, duration_ns);
	printer_end(&p);
}

static bool otlp_export_warn(const struct otlp_export *x, const struct trace_stats *stats)
{
	const char *command = x->job->command;
	char what[TRACE_SHORTAGE_SIZE], number[TEXT_SIZE], message[512];

	if (trace_shortage(stats, what, sizeof(what)))
		message_print(command, "the trace is %s: %s",
			      trace_verdict_name(trace_verdict(stats)), what);
	if (x->sent.rejected)
		message_print(command, "the receiver rejected %s spans%s%s",
			      text_count(number, x->sent.rejected), x->sent.message[0] ? ": " : "",
			      text_safe(x->sent.message, message, sizeof(message)));
	else if (x->sent.message[0])
		message_print(command, "the receiver warns: %s",
			      text_safe(x->sent.message, message, sizeof(message)));
	if (x->sent.maybe_twice)
		message_print(command,
			      "%s requests were not answered and sent again: the receiver "
			      "may have them twice",
			      text_count(number, x->sent.maybe_twice));
	if (x->sent.unread_answers)
		message_print(command,
			      "%s answers of the receiver could not be read: what it "
			      "rejected is not known",
			      text_count(number, x->sent.unread_answers));
	return x->sent.rejected || x->sent.unread_answers ||
	       trace_verdict(stats) == TRACE_INCOMPLETE;
}

/* ---- the job --------------------------------------------------------------------- */

static int otlp_export_run(struct otlp_export *x)
{
	const struct export_job *job = x->job;
	const struct analysis_options options = { 0 };
	uint64_t start = clock_now_ns();
	struct trace_reader *reader = NULL;
	struct err err = { 0 };
	bool is_short = false;
	int rc = report_parts_open(&x->parts, job->options.trace, &options, NULL, &err);

	if (rc == 0) {
		reader = trace_reader_open(job->options.trace, &err);
		rc = reader ? otlp_export_read(x, reader, &err) : err.code;
	}
	if (rc == 0)
		rc = otlp_export_write(x, trace_reader_stats(reader), &err);
	if (rc < 0) {
		message_error(job->command, &err);
	} else {
		if (job->json || !job->options.quiet)
			otlp_export_summary(x, clock_now_ns() - start);
		is_short = otlp_export_warn(x, trace_reader_stats(reader));
	}
	trace_reader_close(reader);
	return rc < 0 || is_short ? EXIT_FAILED : EXIT_OK;
}

int export_otlp(const struct export_job *job)
{
	const struct otlp_options *o = &job->otlp;
	struct otlp_export x = { .job = job };
	int status;

	otlp_waits_init(&x.waits, o->per_site ? o->per_site : OTLP_PER_SITE_DEFAULT,
			o->has_least ? o->least_ns : OTLP_LEAST_NS_DEFAULT);
	status = otlp_export_run(&x);
	otlp_sender_free(x.sender);
	if (x.has_file)
		outfile_close(&x.file);
	otlp_batch_release(&x.batch);
	otlp_waits_release(&x.waits);
	report_parts_release(&x.parts);
	free(x.host);
	free(x.program);
	free(x.build);
	free(x.derived);
	return status;
}
