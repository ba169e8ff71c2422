/* SPDX-License-Identifier: MIT */
/*
 * csv.c - write events and frames as comma-separated values.
 *
 * Events have the header and columns of the existing coroTracer.  With --full there is a file for
 * each of the other tables: trace.csv, trace.details.csv, ...  Their text is quoted as in RFC
 * 4180, and a value that was not reported is empty.
 *
 * A recording becomes a directory with a file per frame type.  A file is created with its first
 * frame: a type without frames has no file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fmt.h"
#include "base/output_file.h"
#include "export/sink.h"

struct csv_state {
	struct outfile *files; /* per table */
	bool *is_open;
	const char *folder; /* was created, and is removed on failure; else NULL */
	enum cell_form form;
	bool guard, is_committed;
	const char *line_end;
};

static int csv_no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "no memory for an output file");
}

/* ---- events -------------------------------------------------------------- */

/* The longest line is far shorter than OUTFILE_ROOM. */
static inline char *csv_put_event(char *p, const struct trace_event *ev)
{
	static const char active[2][8] = { ",false,", ",true," };

	p = fmt_u64(p, ev->probe_id);
	*p++ = ',';
	p = fmt_u64(p, ev->tid);
	*p++ = ',';
	*p++ = '0';
	*p++ = 'x';
	p = fmt_hex16(p, ev->addr);
	*p++ = ',';
	p = fmt_u64(p, ev->seq);
	memcpy(p, active[ev->is_active], sizeof(active[0]));
	p = fmt_u64(p + 7 - ev->is_active, ev->ts);
	*p++ = '\n';
	return p;
}

/* ---- rows of any table ---------------------------------------------------- */

/* Replaces the separator after the last cell. */
static void csv_end_line(const struct csv_state *s, struct outfile *f)
{
	f->at--;
	outfile_put(f, s->line_end, strlen(s->line_end));
}

static int csv_put_header(struct csv_state *s, struct outfile *f, const struct table *t,
			  struct err *err)
{
	enum cell_form form = t->has_no_id ? s->form : CELL_CSV;
	size_t i;

	for (i = 0; i < t->nr_columns; i++) {
		const struct cell c = cell_text(t->columns[i].name, strlen(t->columns[i].name));

		if (cell_put(f, &c, form, s->guard) < 0)
			return csv_no_memory(err);
		*f->at++ = ',';
	}
	csv_end_line(s, f);
	return 0;
}

/* "trace.csv" becomes "trace.sites.csv"; the caller frees it; NULL: no memory. */
static char *csv_file_name(const struct sink_job *job, size_t table)
{
	const char *output = job->output, *dot = strrchr(output, '.');
	size_t stem = dot && !strchr(dot, '/') ? (size_t)(dot - output) : strlen(output);
	const struct table *t = &job->tables[table];
	char *name = NULL;
	int rc;

	if (!strcmp(output, "-") || (!job->recording && table == TABLE_EVENTS))
		return strdup(output);
	if (job->recording)
		rc = asprintf(&name, "%s/%s.csv", output, t->name);
	else
		rc = asprintf(&name, "%.*s.%s%s", (int)stem, output, t->suffix + 1, output + stem);
	return rc < 0 ? NULL : name;
}

static int csv_open_file(struct sink_job *job, size_t table, struct err *err)
{
	struct csv_state *s = job->state;
	char *name = csv_file_name(job, table);
	int rc = name ? outfile_open(&s->files[table], name, err) : csv_no_memory(err);

	free(name);
	if (rc < 0)
		return rc;
	s->is_open[table] = true;
	return csv_put_header(s, &s->files[table], &job->tables[table], err);
}

static int csv_row(struct sink_job *job, size_t table, const struct cell *cells, struct err *err)
{
	struct csv_state *s = job->state;
	struct outfile *f = &s->files[table];
	size_t i, nr = job->tables[table].nr_columns;

	if (!s->is_open[table] && csv_open_file(job, table, err) < 0)
		return err->code;
	for (i = 0; i < nr; i++) {
		if (cell_put(f, &cells[i], s->form, s->guard) < 0)
			return csv_no_memory(err);
		*f->at++ = ',';
	}
	csv_end_line(s, f);
	return f->error ? outfile_settle(f, err) : 0; /* sets the error */
}

/* ---- files --------------------------------------------------------------- */

static void csv_close(struct sink_job *job)
{
	struct csv_state *s = job->state;
	size_t t;

	for (t = 0; s->files && t < job->nr_tables; t++)
		outfile_close(&s->files[t]);
	if (s->folder && !s->is_committed)
		rmdir(s->folder);
	free(s->files);
	free(s->is_open);
	free(s);
}

static int csv_make_folder(struct sink_job *job, struct err *err)
{
	struct csv_state *s = job->state;

	if (!strcmp(job->output, "-"))
		return 0;
	if (mkdir(job->output, 0777) == 0)
		s->folder = job->output;
	else if (errno != EEXIST)
		return err_errno(err, "cannot make the folder '%s'", job->output);
	return 0;
}

static int csv_open_files(struct sink_job *job, struct err *err)
{
	size_t t;
	int rc = 0;

	if (job->recording)
		return csv_make_folder(job, err);
	if (job->options->full && !strcmp(job->output, "-")) {
		err_set(err, -EINVAL, "--full makes several files, and standard output is one");
		err_hint(err, "name the first: -o trace.csv");
		return err->code;
	}
	for (t = 0; !rc && t < job->nr_tables; t++)
		rc = csv_open_file(job, t, err);
	return rc;
}

/* ---- the sink ------------------------------------------------------------ */

static int csv_csv_open(struct sink_job *job, struct err *err)
{
	struct csv_state *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return csv_no_memory(err);
	job->state = s;
	s->files = calloc(job->nr_tables, sizeof(*s->files));
	s->is_open = calloc(job->nr_tables, sizeof(*s->is_open));
	s->form = job->recording ? CELL_CSV : CELL_CSV_QUOTED;
	s->guard = !job->options->exact_text;
	s->line_end = job->options->crlf ? "\r\n" : "\n";
	rc = s->files && s->is_open ? csv_open_files(job, err) : csv_no_memory(err);
	if (rc < 0)
		csv_close(job);
	return rc;
}

static int csv_item(struct sink_job *job, const struct trace_item *item, struct err *err)
{
	struct csv_state *s = job->state;
	struct outfile *f = &s->files[TABLE_EVENTS];

	if (item->type != TRACE_ITEM_EVENT || !trace_is_transition(&item->event))
		return 0;
	f->at = csv_put_event(outfile_room(f), &item->event);
	job->rows++;
	return f->error ? outfile_commit(f, err) : 0; /* sets the error */
}

/* The events last: when that file has its name, the others have theirs. */
static int csv_commit(struct sink_job *job, struct err *err)
{
	struct csv_state *s = job->state;
	size_t t;
	int rc = 0;

	/* Detects a full disk before the first file is replaced. */
	for (t = 0; !rc && t < job->nr_tables; t++)
		rc = s->is_open[t] ? outfile_settle(&s->files[t], err) : 0;
	for (t = job->nr_tables; !rc && t > 0; t--) {
		if (!s->is_open[t - 1])
			continue;
		rc = outfile_commit(&s->files[t - 1], err);
		job->bytes += s->files[t - 1].bytes;
	}
	s->is_committed = !rc;
	return rc;
}

static void csv_drop(struct sink_job *job)
{
	struct csv_state *s = job->state;
	size_t t;

	for (t = 0; t < job->nr_tables; t++)
		outfile_drop(&s->files[t]);
	if (s->folder)
		rmdir(s->folder); /* it stays if it has a file */
}

const struct sink sink_csv = {
	.name = "csv",
	.alias = "dataframe",
	.about = "comma-separated values, for pandas, polars, DuckDB and R",
	.suffix = ".csv",
	.to_stdout = true,
	.open = csv_csv_open,
	.item = csv_item,
	.row = csv_row,
	.commit = csv_commit,
	.close = csv_close,
	.drop = csv_drop,
};
