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
#include "export/detail_rows.h"
#include "export/driver.h"

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

struct trace_driver {
	struct driver driver; /* first member: cast to and from */
	struct trace_reader *reader;
	struct rows *rows; /* of the other tables; NULL: not requested */
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

static int export_put_row(void *to, enum table_id table, const struct cell *cells, struct err *err)
{
	struct driver *d = to;

	return d->sink->row(&d->job, table, cells, err);
}

static int hand_over(struct trace_driver *t, struct progress *progress, struct err *err)
{
	struct driver *d = &t->driver;
	const struct trace_stats *stats = trace_reader_stats(t->reader);
	struct trace_item item;
	uint64_t nr = 0;
	int rc;

	while ((rc = trace_next(t->reader, &item, err)) > 0) {
		export_count(d->result, &item);
		rc = t->rows ? rows_item(t->rows, &item, err) : 0;
		if (!rc)
			rc = d->sink->item(&d->job, &item, err);
		if (!rc)
			rc = driver_step(d, progress, ++nr, stats->bytes, err);
		if (rc < 0)
			return rc;
	}
	return rc < 0 || !t->rows ? rc : rows_finish(t->rows, err);
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
static int check_is_trace(const struct driver *d, struct err *err)
{
	const struct export_result *r = d->result;

	if (r->transitions || r->others || !r->first_garbage)
		return 0;
	err_set(err, -EINVAL, "'%s' holds no events: is it a trace?", d->job.options->trace);
	err_hint(err, "line %" PRIu64 ": %s", r->first_garbage_line, r->first_garbage);
	return err->code;
}

static int export_read_trace(struct driver *d, struct progress *progress, struct err *err)
{
	struct trace_driver *t = (struct trace_driver *)d;
	int rc = hand_over(t, progress, err);

	take_stats(d->result, trace_reader_stats(t->reader));
	d->result->extra = t->rows ? rows_count(t->rows) : 0;
	return rc < 0 ? rc : check_is_trace(d, err);
}

/* ---- the driver ---------------------------------------------------------- */

static int trace_driver_run(struct trace_driver *t, const struct export_options *o, struct err *err)
{
	struct sink_job *job = &t->driver.job;
	bool full = o->full && t->driver.sink->row;
	struct table *made = tables_make(o->table, tables_count(full));
	int rc;

	if (full)
		t->rows = rows_new(export_put_row, &t->driver);
	job->tables = made;
	job->nr_tables = tables_count(full);
	job->stats = trace_reader_stats(t->reader);
	if (!made || (full && !t->rows))
		rc = err_set(err, -ENOMEM, "no memory for tables");
	else
		rc = driver_run(&t->driver, o->trace, job->stats->total, err);
	rows_free(t->rows);
	tables_free(made, job->nr_tables);
	return rc;
}

/* A sink that applies the filter itself needs what came before a state, and its ancestors. */
static void export_set_filter(struct trace_reader *reader, const struct sink *sink,
			      const struct trace_filter *filter)
{
	const struct trace_filter part = { .part = filter->part, .parts = filter->parts };

	trace_reader_set_filter(reader, sink->reads_all ? &part : filter);
}

/* Reads with @reader; NULL: opens options->trace. */
static int export_with(const struct sink *sink, const struct export_options *options,
		       struct trace_reader *reader, struct export_result *result, struct err *err)
{
	struct trace_driver t = { .driver = { .job = { .options = options },
					      .result = result,
					      .is_watched = true,
					      .start_ns = clock_now_ns(),
					      .read = export_read_trace } };
	int rc;

	memset(result, 0, sizeof(*result));
	rc = driver_choose_sink(&sink, options, false, err);
	t.driver.sink = sink;
	if (!rc)
		rc = choose_output(sink, options, &result->output, err);
	if (rc < 0)
		return rc;
	t.driver.job.output = result->output;
	t.reader = reader ? reader : trace_reader_open(options->trace, err);
	if (!t.reader)
		return err->code;
	export_set_filter(t.reader, sink, &options->filter);
	rc = trace_driver_run(&t, options, err);
	if (!reader)
		trace_reader_close(t.reader);
	return rc;
}

int export_run(const struct sink *sink, const struct export_options *options,
	       struct export_result *result, struct err *err)
{
	return export_with(sink, options, NULL, result, err);
}

int export_run_reader(const struct sink *sink, const struct export_options *options,
		      struct trace_reader *reader, struct export_result *result, struct err *err)
{
	return export_with(sink, options, reader, result, err);
}

bool export_is_whole(const struct export_result *result)
{
	return !result->garbage && !result->left_out && result->verdict != TRACE_INCOMPLETE;
}

void export_result_release(struct export_result *result)
{
	struct export_frames *f = &result->frames;
	size_t i;

	for (i = 0; f->names && i < f->nr_types; i++)
		free(f->names[i]);
	free(f->names);
	free(f->nr);
	free(result->output);
	*f = (struct export_frames){ .nr = NULL };
	result->output = NULL;
}
