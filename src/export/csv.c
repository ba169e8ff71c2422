/* SPDX-License-Identifier: MIT */
/*
 * csv.c - write the events as comma-separated values, with the header and columns of the
 * existing coroTracer.
 *
 * With --full there is a file for each of the other tables: trace.csv, trace.details.csv, ...
 * Their text is quoted as in RFC 4180, and a value that was not reported is empty.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fmt.h"
#include "base/output_file.h"
#include "export/detail_rows.h"
#include "export/sink.h"

struct csv_state {
	struct outfile files[NR_TABLES];
	size_t nr_files;
	struct rows *rows; /* NULL: not requested */
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

/* ---- the other tables ---------------------------------------------------- */

static void put_quoted(struct outfile *f, const char *text, size_t size)
{
	const char *end = text + size, *quote;

	outfile_put(f, "\"", 1);
	while ((quote = memchr(text, '"', (size_t)(end - text)))) {
		outfile_put(f, text, (size_t)(quote + 1 - text));
		outfile_put(f, "\"", 1);
		text = quote + 1;
	}
	outfile_put(f, text, (size_t)(end - text));
	outfile_put(f, "\"", 1);
}

static void csv_put_number(struct outfile *f, uint64_t u)
{
	f->at = fmt_u64(outfile_room(f), u);
}

static int csv_put_row(void *to, enum table_id id, const struct cell *cells, struct err *err)
{
	struct csv_state *s = to;
	struct outfile *f = &s->files[id];
	size_t i;

	for (i = 0; i < tables[id].nr_columns; i++) {
		if (i)
			outfile_put(f, ",", 1);
		if (cells[i].is_null)
			continue;
		if (tables[id].columns[i].type == COLUMN_TEXT)
			put_quoted(f, cells[i].text, cells[i].size);
		else
			csv_put_number(f, cells[i].u);
	}
	outfile_put(f, "\n", 1);
	return f->error ? outfile_commit(f, err) : 0; /* sets the error */
}

static void csv_put_header(struct outfile *f, enum table_id id)
{
	size_t i;

	for (i = 0; i < tables[id].nr_columns; i++) {
		if (i)
			outfile_put(f, ",", 1);
		outfile_put(f, tables[id].columns[i].name, strlen(tables[id].columns[i].name));
	}
	outfile_put(f, "\n", 1);
}

/* ---- files --------------------------------------------------------------- */

/* "trace.csv" becomes "trace.sites.csv"; the caller frees it; NULL: no memory. */
static char *file_name(const char *events, enum table_id id)
{
	const char *dot = strrchr(events, '.');
	size_t stem = dot && !strchr(dot, '/') ? (size_t)(dot - events) : strlen(events);
	char *name;

	if (id == TABLE_EVENTS)
		return strdup(events);
	if (asprintf(&name, "%.*s.%s%s", (int)stem, events, tables[id].suffix + 1, events + stem) <
	    0)
		return NULL;
	return name;
}

static int csv_open_file(struct csv_state *s, const char *output, enum table_id id, struct err *err)
{
	char *name = file_name(output, id);
	int rc = name ? outfile_open(&s->files[id], name, err) : csv_no_memory(err);

	free(name);
	if (rc < 0)
		return rc;
	s->nr_files++;
	csv_put_header(&s->files[id], id);
	return 0;
}

static void csv_close(struct sink_job *job)
{
	struct csv_state *s = job->state;
	size_t t;

	for (t = 0; t < s->nr_files; t++)
		outfile_close(&s->files[t]);
	rows_free(s->rows);
	free(s);
}

static int csv_open_files(struct sink_job *job, struct err *err)
{
	struct csv_state *s = job->state;
	bool full = job->options->full;
	size_t t;
	int rc = 0;

	if (full && !strcmp(job->output, "-")) {
		err_set(err, -EINVAL, "--full makes several files, and standard output is one");
		err_hint(err, "name the first: -o trace.csv");
		return err->code;
	}
	if (full && !(s->rows = rows_new(csv_put_row, s)))
		return csv_no_memory(err);
	if (full && !job->options->exact_text)
		rows_guard_formulas(s->rows);
	for (t = 0; !rc && t < tables_count(full); t++)
		rc = csv_open_file(s, job->output, (enum table_id)t, err);
	return rc;
}

/* ---- the sink ------------------------------------------------------------ */

static int csv_csv_open(struct sink_job *job, struct err *err)
{
	int rc;

	job->state = calloc(1, sizeof(struct csv_state));
	if (!job->state)
		return csv_no_memory(err);
	rc = csv_open_files(job, err);
	if (rc < 0)
		csv_close(job);
	return rc;
}

static int csv_item(struct sink_job *job, const struct trace_item *item, struct err *err)
{
	struct csv_state *s = job->state;
	struct outfile *f = &s->files[TABLE_EVENTS];
	int rc = s->rows ? rows_item(s->rows, item, err) : 0;

	if (rc < 0 || item->type != TRACE_ITEM_EVENT || !trace_is_transition(&item->event))
		return rc;
	f->at = csv_put_event(outfile_room(f), &item->event);
	job->rows++;
	return f->error ? outfile_commit(f, err) : 0; /* sets the error */
}

/* The events last: when that file has its name, the others have theirs. */
static int csv_commit(struct sink_job *job, struct err *err)
{
	struct csv_state *s = job->state;
	size_t t;
	int rc = s->rows ? rows_finish(s->rows, err) : 0;

	/* Detects a full disk before the first file is replaced. */
	for (t = 0; !rc && t < s->nr_files; t++)
		rc = outfile_settle(&s->files[t], err);
	for (t = s->nr_files; !rc && t > 0; t--) {
		rc = outfile_commit(&s->files[t - 1], err);
		job->bytes += s->files[t - 1].bytes;
	}
	job->extra = s->rows ? rows_count(s->rows) : 0;
	return rc;
}

static void csv_drop(struct sink_job *job)
{
	struct csv_state *s = job->state;
	size_t t;

	for (t = 0; t < s->nr_files; t++)
		outfile_drop(&s->files[t]);
}

const struct sink sink_csv = {
	.name = "csv",
	.alias = "dataframe",
	.about = "comma-separated values, for pandas, polars, DuckDB and R",
	.suffix = ".csv",
	.to_stdout = true,
	.open = csv_csv_open,
	.item = csv_item,
	.commit = csv_commit,
	.close = csv_close,
	.drop = csv_drop,
};
