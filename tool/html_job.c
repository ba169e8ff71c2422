/* SPDX-License-Identifier: MIT */
/* html_job.c - from a trace to a page in a file. */
#include "html_job.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "cmd.h"
#include "read_trace.h"
#include "view/html.h"

/* No page is larger. */
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
	page->data = view_page(&page->size, err);
	return page->data ? 0 : err->code;
}

/* ---- the output --------------------------------------------------------------- */

struct output {
	char path[PATH_MAX], temporary[PATH_MAX];
	FILE *file;
	bool is_stdout, is_direct; /* no file that could be put in place of another */
};

static int name_output(const struct html_job *job, struct output *o, struct err *err)
{
	const char *base = job->output ? job->output : job->trace;
	size_t size = strlen(base);
	char real[PATH_MAX];
	int nr;

	/* "trace.ctf/" is a directory's name. */
	while (!job->output && size > 1 && base[size - 1] == '/')
		size--;
	nr = snprintf(o->path, sizeof(o->path), "%.*s%s", (int)size, base,
		      job->output ? "" : ".html");
	/* What a link points to is written, not the link. */
	if (nr > 0 && (size_t)nr < sizeof(o->path) && realpath(o->path, real))
		nr = snprintf(o->path, sizeof(o->path), "%s", real);
	if (nr < 0 || (size_t)nr >= sizeof(o->path) - 8)
		return err_set(err, -ENAMETOOLONG, "the name of the page is too long");
	return 0;
}

static int open_output(const struct html_job *job, struct output *o, struct err *err)
{
	struct stat st;
	mode_t mask;
	int fd;

	if (job->output && !strcmp(job->output, "-")) {
		o->is_stdout = true;
		o->file = stdout;
		return 0;
	}
	if (name_output(job, o, err) < 0)
		return err->code;
	o->is_direct = stat(o->path, &st) == 0 && !S_ISREG(st.st_mode);
	if (o->is_direct) {
		o->file = fopen(o->path, "we");
		return o->file ? 0 : err_errno(err, "cannot open '%s'", o->path);
	}
	snprintf(o->temporary, sizeof(o->temporary), "%.*s.XXXXXX", (int)sizeof(o->path) - 8,
		 o->path);
	fd = mkostemp(o->temporary, O_CLOEXEC);
	if (fd < 0) {
		o->temporary[0] = '\0';
		return err_errno(err, "cannot make '%s'", o->path);
	}
	mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask);
	o->file = fdopen(fd, "w");
	return o->file ? 0 : err_errno(err, "cannot open '%s'", o->path);
}

/* Into place if all went well, else away with it. */
static int close_output(struct output *o, int rc, struct err *err)
{
	if (o->file && !o->is_stdout && fclose(o->file) != 0 && !rc)
		rc = err_errno(err, "cannot write '%s'", o->path);
	if (!o->temporary[0])
		return rc;
	if (!rc && rename(o->temporary, o->path) < 0)
		rc = err_errno(err, "cannot name the page '%s'", o->path);
	if (rc)
		unlink(o->temporary);
	return rc;
}

/* ---- reading -------------------------------------------------------------------- */

static int add_item(void *arg, const struct trace_item *item, struct err *err)
{
	return view_add(arg, item, err);
}

static int read_all(const struct html_job *job, struct trace_reader *reader, struct view *v,
		    struct err *err)
{
	const struct trace_stats *stats = trace_reader_stats(reader);
	int rc = read_trace(job->trace, reader, add_item, v, err);

	if (!rc)
		rc = view_finish(v, stats, err);
	return rc ? rc : expect_events(job->trace, view_model(v)->events, stats, err);
}

/* ---- telling -------------------------------------------------------------------- */

static int tell_json(const struct output *o, const struct view *v, const struct html_result *r)
{
	struct json_writer j;

	/* Where the page itself goes to stdout, this does not. */
	jw_init_file(&j, o->is_stdout ? stderr : stdout);
	jw_object_begin(&j);
	jw_field_string(&j, "page", o->is_stdout ? "-" : o->path);
	jw_field_u64(&j, "bytes", r->bytes);
	jw_field_u64(&j, "transitions", view_model(v)->events);
	jw_field_u64(&j, "others", view_model(v)->others);
	jw_field_u64(&j, "coroutines", v->records.next);
	jw_field_u64(&j, "slices", v->spool.nr);
	jw_field_u64(&j, "findings", v->analysis->findings.nr);
	view_put_thinned(&j, r->thinned, r->nr_thinned);
	jw_object_end(&j);
	jw_newline(&j);
	return jw_release(&j);
}

static void tell_text(const struct html_job *job, const struct output *o, const struct view *v,
		      const struct html_result *r)
{
	const struct report report = view_report(v);
	const struct report_totals t = report_totals_of(&report);
	bool is_large = r->bytes >= 1000000;
	char a[TEXT_SIZE], b[TEXT_SIZE];
	size_t i;

	if (!job->quiet) {
		text_put(stderr, o->is_stdout ? "standard output" : o->path);
		fprintf(stderr, ": %.1f %s, %s events of %s coroutines\n",
			(double)r->bytes / (is_large ? 1e6 : 1e3), is_large ? "MB" : "kB",
			text_count(a, t.events + t.others), text_count(b, t.coroutines));
	}
	if (t.garbage)
		fprintf(stderr, "garbage: %s records that cannot be events are set aside\n",
			text_count(a, t.garbage));
	for (i = 0; i < r->nr_thinned; i++)
		fprintf(stderr, "thinned out: %s\n", r->thinned[i].text);
}

/* ---- all of it ------------------------------------------------------------------- */

static int write_page(const struct html_job *job, struct view *v, const struct html_page *page,
		      struct err *err)
{
	struct output o = { .file = NULL };
	struct html_result result = { 0 };
	int rc = open_output(job, &o, err);

	if (!rc)
		rc = html_write(v, page, job->max_size ? job->max_size : HTML_SIZE, o.file, &result,
				err);
	rc = close_output(&o, rc, err);
	if (rc < 0)
		return rc;
	if (job->json)
		return tell_json(&o, v, &result) ? err_set(err, -EIO, "cannot write") : 0;
	tell_text(job, &o, v, &result);
	return 0;
}

static int make(const struct html_job *job, struct view *v, struct err *err)
{
	struct bytes data = { 0 };
	struct html_page page;
	struct trace_reader *reader;
	/* Said before a long trace is read. */
	int rc = find_page(job, &data, &page, err);

	reader = rc ? NULL : trace_reader_open(job->trace, err);
	if (reader) {
		rc = read_all(job, reader, v, err);
		if (!rc)
			rc = write_page(job, v, &page, err);
		trace_reader_close(reader);
	} else {
		rc = err->code;
	}
	bytes_release(&data);
	return rc;
}

int html_job_run(const struct html_job *job)
{
	struct view_options options = { .trace = job->trace, .min_age_ns = job->min_age_ns };
	struct view *v = view_new(&options);
	struct err err = { 0 };
	int rc;

	if (v)
		rc = make(job, v, &err);
	else
		rc = err_set(&err, -ENOMEM, "no memory");
	if (rc < 0)
		say_error(job->command, &err);
	view_free(v);
	return rc < 0 ? EXIT_FAILED : EXIT_OK;
}
