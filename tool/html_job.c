/* SPDX-License-Identifier: MIT */
/* html_job.c - convert a trace to a page in a file. */
#include "html_job.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/output_file.h"
#include "base/printer.h"
#include "cmd.h"
#include "filter_coroutines.h"
#include "filter_opts.h"
#include "html_notes.h"
#include "json_file.h"
#include "trace_foreach.h"
#include "view/html.h"

/* Limit for the size of a page. */
#define PAGE_MAX (16u << 20)

/* ---- the page --------------------------------------------------------------- */

static int read_page(const char *path, struct bytes *data, struct err *err)
{
	FILE *file = fopen(path, "re");
	unsigned char *at;
	size_t nr;
	int rc = 0;

	if (!file)
		return err_errno(err, "cannot open '%s'", path);
	do {
		at = bytes_more(data, 65536);
		nr = at ? fread(at, 1, 65536, file) : 0;
		data->size -= at ? 65536 - nr : 0;
	} while (nr && data->size <= PAGE_MAX);
	if (data->error)
		rc = err_set(err, -ENOMEM, "no memory for '%s'", path);
	else if (ferror(file))
		rc = err_errno(err, "cannot read '%s'", path);
	else if (data->size > PAGE_MAX)
		rc = err_set(err, -EFBIG, "'%s' is too large for a page", path);
	fclose(file);
	return rc;
}

static int find_page(const struct html_job *job, struct bytes *data, struct html_page *page,
		     struct err *err)
{
	if (job->page) {
		if (read_page(job->page, data, err) < 0)
			return err->code;
		*page = (struct html_page){ data->data, data->size };
		return 0;
	}
	return page_embedded("index", page, err);
}

/* ---- the output --------------------------------------------------------------- */

struct html_output {
	char path[PATH_MAX];
	struct outfile file;
	bool is_stdout;
};

static int name_output(const struct html_job *job, struct html_output *o, struct err *err)
{
	const char *base = job->output ? job->output : job->trace;
	size_t size = strlen(base);
	int nr;

	/* "trace.ctf/" names a directory: remove the slash. */
	while (!job->output && size > 1 && base[size - 1] == '/')
		size--;
	nr = snprintf(o->path, sizeof(o->path), "%.*s%s", (int)size, base,
		      job->output ? "" : ".html");
	if (nr < 0 || (size_t)nr >= sizeof(o->path))
		return err_set(err, -ENAMETOOLONG, "the name of the page is too long");
	o->is_stdout = !strcmp(o->path, "-");
	return 0;
}

/* ---- reading -------------------------------------------------------------------- */

static int html_add_item(void *arg, const struct trace_item *item, struct err *err)
{
	return view_add(arg, item, err);
}

static int html_read_trace(const struct html_job *job, struct trace_reader *reader, struct view *v,
			   struct err *err)
{
	const struct trace_stats *stats = trace_reader_stats(reader);
	int rc = read_trace(job->trace, reader, html_add_item, v, err);

	if (!rc)
		rc = view_finish(v, stats, err);
	return rc ? rc : expect_events(job->trace, view_model(v)->events, stats, err);
}

/* ---- messages ------------------------------------------------------------------- */

/* True: the trace is known to be incomplete, and a message was printed. */
static bool tell_shortage(const struct html_job *job, const struct trace_stats *stats)
{
	enum trace_verdict verdict = trace_verdict(stats);
	char what[TRACE_SHORTAGE_SIZE];

	if (!trace_shortage(stats, what, sizeof(what)))
		return false;
	message_print(job->command, "the trace is %s: %s; the page says so",
		      trace_verdict_name(verdict), what);
	return verdict == TRACE_INCOMPLETE;
}

/* Text only. */
static void html_print_text(struct printer *p, const struct html_job *job,
			    const struct html_output *o, const struct view *v,
			    const struct html_result *r)
{
	const struct report report = view_report(v);
	const struct report_totals t = report_totals_of(&report);
	bool is_large = r->bytes >= 1000000;
	size_t i;

	if (!job->quiet) {
		print_safe(p, o->is_stdout ? "standard output" : o->path, 0);
		print_text(p, ": %.1f %s, %s events of %s coroutines\n",
			   (double)r->bytes / (is_large ? 1e6 : 1e3), is_large ? "MB" : "kB",
			   number_text(t.events + t.others), number_text(t.coroutines));
	}
	if (t.garbage)
		print_text(p, "garbage: %s records that cannot be events are set aside\n",
			   number_text(t.garbage));
	for (i = 0; i < r->nr_thinned; i++)
		print_text(p, "thinned out: %s\n", r->thinned[i].text);
}

static int html_print(const struct html_job *job, const struct html_output *o, const struct view *v,
		      const struct html_result *r)
{
	struct printer p;

	/* If the page goes to stdout, the summary must not. */
	printer_begin(&p, json_file_stream(job->json && !o->is_stdout ? stdout : stderr),
		      job->json);
	print_string(&p, "page", o->is_stdout ? "-" : o->path);
	print_count(&p, "bytes", NULL, r->bytes);
	print_count(&p, "transitions", NULL, view_model(v)->events);
	print_count(&p, "others", NULL, view_model(v)->others);
	print_count(&p, "coroutines", NULL, v->records.next);
	print_count(&p, "slices", NULL, v->spool.nr);
	print_count(&p, "findings", NULL, v->analysis->findings.nr);
	if (job->json) {
		view_put_thinned(&p.json, r->thinned, r->nr_thinned);
		trace_put_completeness(&p.json, &v->stats);
	} else {
		html_print_text(&p, job, o, v, r);
	}
	return printer_end(&p);
}

/* ---- the job --------------------------------------------------------------------- */

static int fill_output(const struct html_job *job, struct view *v, const struct html_page *page,
		       const struct note_list *notes, struct html_output *o,
		       struct html_result *result, struct err *err)
{
	struct err settled = { 0 };
	FILE *stream = outfile_stream(&o->file, err);
	int rc;

	if (!stream)
		return err->code;
	rc = html_write_noted(v, page, notes, job->max_size ? job->max_size : HTML_SIZE, stream,
			      result, err);
	outfile_end_stream(&o->file, stream);
	/* outfile_settle() has the reason of a failed write, and a hint. */
	if (o->file.error && outfile_settle(&o->file, &settled) < 0) {
		*err = settled;
		return err->code;
	}
	return rc < 0 ? rc : outfile_commit(&o->file, err);
}

static int html_write_page(const struct html_job *job, struct view *v, const struct html_page *page,
			   const struct html_notes *notes, struct err *err)
{
	struct html_output o = { 0 };
	struct html_result result = { 0 };
	int rc = name_output(job, &o, err);

	if (!rc)
		rc = html_notes_check(notes, v, job->command, job->quiet, err);
	if (!rc)
		rc = outfile_open(&o.file, o.path, err);
	if (rc < 0)
		return rc;
	/* The path after symbolic links are resolved. */
	snprintf(o.path, sizeof(o.path), "%s", o.file.path);
	rc = fill_output(job, v, page, &notes->list, &o, &result, err);
	outfile_close(&o.file);
	if (rc < 0)
		return rc;
	if (html_print(job, &o, v, &result) < 0 && job->json)
		return err_set(err, -EIO, "cannot write");
	return tell_shortage(job, &v->stats);
}

/* Fail before a long trace is read. */
static int html_prepare(const struct html_job *job, struct bytes *data, struct html_page *page,
			struct html_notes *notes, struct err *err)
{
	struct html_output o = { 0 };
	int rc = find_page(job, data, page, err);

	if (!rc)
		rc = name_output(job, &o, err);
	return rc ? rc : html_notes_load(notes, job->notes, o.path, err);
}

static int html_make(const struct html_job *job, const struct trace_filter *filter, struct view *v,
		     struct err *err)
{
	struct bytes data = { 0 };
	struct html_page page;
	struct html_notes notes = { .from = NULL };
	struct trace_reader *reader;
	int rc = html_prepare(job, &data, &page, &notes, err);

	reader = rc ? NULL : trace_reader_open(job->trace, err);
	if (reader) {
		trace_reader_set_filter(reader, filter);
		rc = html_read_trace(job, reader, v, err);
		if (!rc)
			rc = html_write_page(job, v, &page, &notes, err);
		trace_reader_close(reader);
	} else {
		rc = err->code;
	}
	note_list_release(&notes.list);
	bytes_release(&data);
	return rc;
}

int html_job_run(const struct html_job *job)
{
	struct view_options options = { .trace = job->trace, .min_age_ns = job->min_age_ns };
	struct filter_coroutines chosen = { .is_set = false };
	struct trace_filter filter = job->filter;
	struct view *v = NULL;
	struct err err = { 0 };
	struct trace_parts part = { .nr = 0 };
	int rc = filter_part_find(&part, job->trace, &filter, &err);

	if (!rc)
		rc = filter_coroutines_choose(&chosen, job->trace, &filter, &err);

	options.chosen = chosen.is_set ? &chosen.ids : NULL;
	options.chosen_text = chosen.text;
	if (!rc) {
		v = view_new(&options);
		rc = v ? html_make(job, &filter, v, &err) : err_set(&err, -ENOMEM, "no memory");
	}
	if (rc < 0)
		message_error(job->command, &err);
	view_free(v);
	filter_coroutines_release(&chosen);
	trace_parts_release(&part);
	return rc ? EXIT_FAILED : EXIT_OK; /* 1: the trace is incomplete */
}
