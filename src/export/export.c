/* SPDX-License-Identifier: MIT */
/* export.c - read a trace once and pass its items to a sink. */
#include "export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/monotonic.h"
#include "base/progress.h"
#include "export/watch.h"

/* ---- the name of the output ---------------------------------------------- */

/* "dir/trace.jsonl" and ".csv" give "dir/trace.csv"; NULL: no memory. */
static char *derive_name(const char *trace, const char *suffix)
{
	size_t size = strlen(trace);
	const char *slash, *dot;
	char *name;

	while (size > 1 && trace[size - 1] == '/') /* the directory of a CTF trace */
		size--;
	slash = memrchr(trace, '/', size);
	dot = memrchr(trace, '.', size);
	if (dot && dot > (slash ? slash + 1 : trace))
		size = (size_t)(dot - trace);
	return asprintf(&name, "%.*s%s", (int)size, trace, suffix) < 0 ? NULL : name;
}

static bool export_is_same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev &&
	       sa.st_ino == sb.st_ino && S_ISREG(sa.st_mode);
}

static int choose_output(const struct sink *sink, const struct export_options *o, char **output,
			 struct err *err)
{
	const char *given = o->output;
	bool from_stdin = !strcmp(o->trace, "-");

	*output = NULL;
	if (!sink->suffix)
		return 0;
	if (!given && from_stdin)
		given = "-";
	if (given && !strcmp(given, "-") && !sink->to_stdout) {
		err_set(err, -EINVAL, "%s does not go to standard output", sink->name);
		err_hint(err, "name a file: -o FILE%s", sink->suffix);
		return err->code;
	}
	*output = given ? strdup(given) : derive_name(o->trace, sink->suffix);
	if (!*output)
		return err_set(err, -ENOMEM, "no memory for a file name");
	if (!export_is_same_file(o->trace, *output))
		return 0;
	err_set(err, -EINVAL, "'%s' is the trace itself", *output);
	err_hint(err, "name another file with -o");
	return err->code;
}

/* ---- from the trace to the sink ------------------------------------------ */

struct run {
	const struct sink *sink;
	struct sink_job job;
	struct trace_reader *reader;
	struct export_result *result;
	struct watch watch;
};

static void export_count(struct export_result *r, const struct trace_item *item)
{
	if (item->type == TRACE_ITEM_EVENT) {
		if (trace_is_transition(&item->event))
			r->transitions++;
		else
			r->others++;
	} else if (item->type == TRACE_ITEM_TOTALS) {
		r->has_totals = true;
		r->lost = item->totals.lost;
		r->others_lost = item->totals.others_lost;
	}
}

static int export_is_cancelled(struct err *err)
{
	return err_set(err, -ECANCELED, "interrupted: nothing was exported");
}

static int hand_over(struct run *run, struct progress *progress, struct err *err)
{
	const struct trace_stats *stats = trace_reader_stats(run->reader);
	struct trace_item item;
	uint64_t nr = 0;
	int rc;

	while ((rc = trace_next(run->reader, &item, err)) > 0) {
		export_count(run->result, &item);
		rc = run->sink->item(&run->job, &item, err);
		if (rc < 0)
			return rc;
		if (watch_came(&run->watch))
			return export_is_cancelled(err);
		if (++nr % 4096 == 0)
			progress_update(progress, stats->bytes);
	}
	return rc;
}

static void take_stats(struct export_result *r, const struct trace_stats *s)
{
	r->read_bytes = s->bytes;
	r->stats = *s;
	r->stats.sidecar_path = NULL;
	r->verdict = trace_verdict(s);
	if (!trace_shortage(s, r->shortage, sizeof(r->shortage)))
		r->shortage[0] = '\0';
	r->garbage = s->lines.garbage + s->sidecar.garbage + s->ctf.damaged + s->ctf.missing;
	r->is_cut = s->lines.cut || s->ctf.torn;
	if (s->lines.nr_first) {
		r->first_garbage_line = s->lines.first[0].line;
		r->first_garbage = s->lines.first[0].reason;
	}
}

/* A file without events is an error: it is probably not a trace. */
static int check_is_trace(const struct run *run, struct err *err)
{
	const struct export_result *r = run->result;

	if (r->transitions || r->others || !r->first_garbage)
		return 0;
	err_set(err, -EINVAL, "'%s' holds no events: is it a trace?", run->job.options->trace);
	err_hint(err, "line %" PRIu64 ": %s", r->first_garbage_line, r->first_garbage);
	return err->code;
}

static int run_all(struct run *run, struct err *err)
{
	struct progress progress;
	int rc;

	progress_start(&progress, run->job.options->trace, trace_reader_stats(run->reader)->total);
	progress.on &= !run->job.options->quiet;
	rc = hand_over(run, &progress, err);
	progress_end(&progress);
	take_stats(run->result, trace_reader_stats(run->reader));
	if (!rc)
		rc = check_is_trace(run, err);
	if (!rc && watch_came(&run->watch))
		rc = export_is_cancelled(err);
	if (!rc)
		rc = run->sink->commit(&run->job, err);
	return rc;
}

static int with_sink(struct run *run, struct err *err)
{
	int rc;

	watch_start(&run->watch, run->sink, &run->job);
	rc = run->sink->open(&run->job, err);
	if (!rc) {
		watch_set_open(&run->watch, true);
		rc = run_all(run, err);
		if (rc < 0)
			run->result->signal = watch_came(&run->watch);
		watch_set_open(&run->watch, false);
		run->sink->close(&run->job);
	}
	watch_end(&run->watch);
	return rc;
}

/* ---- the driver ---------------------------------------------------------- */

static int choose_sink(const struct sink **sink, const struct export_options *o, struct err *err)
{
	const struct sink *s = *sink;

	if (o->cli && !s->client) {
		err_set(err, -EINVAL, "%s has no command line client", s->name);
		err_hint(err, "leave out --db-cli");
		return err->code;
	}
	if (o->cli)
		*sink = s->client;
	if ((*sink)->open)
		return 0;
	err_set(err, -ENOTSUP, "this build has no %s", s->name);
	err_hint(err, "it was built without %s: install %s and build it again, or use --db-cli",
		 s->library, s->package);
	return err->code;
}

int export_run(const struct sink *sink, const struct export_options *options,
	       struct export_result *result, struct err *err)
{
	struct run run = { .job = { .options = options }, .result = result };
	uint64_t start = clock_now_ns();
	int rc;

	memset(result, 0, sizeof(*result));
	rc = choose_sink(&sink, options, err);
	run.sink = sink;
	if (!rc)
		rc = choose_output(sink, options, &result->output, err);
	if (rc < 0)
		return rc;
	run.job.output = result->output;
	run.reader = trace_reader_open(options->trace, err);
	if (!run.reader)
		return err->code;
	run.job.stats = trace_reader_stats(run.reader);
	rc = with_sink(&run, err);
	trace_reader_close(run.reader);
	result->rows = run.job.rows;
	result->extra = run.job.extra;
	result->left_out = run.job.left_out;
	result->bytes = run.job.bytes;
	memcpy(result->note, run.job.note, sizeof(result->note));
	result->duration_ns = clock_now_ns() - start;
	return rc;
}

bool export_is_whole(const struct export_result *result)
{
	return !result->garbage && !result->left_out && result->verdict != TRACE_INCOMPLETE;
}

void export_result_release(struct export_result *result)
{
	free(result->output);
	result->output = NULL;
}
