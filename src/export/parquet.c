/* SPDX-License-Identifier: MIT */
/*
 * parquet.c - write a trace as a directory of Parquet files, for DuckDB, pandas, Spark, ClickHouse.
 *
 * All files are written under temporary names and get their names at the end, the events last:
 * when that file has its name, the others have theirs.  docs/export.md has the columns.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "export/detail_rows.h"
#include "export/parquet_fields.h"
#include "export/sink.h"
#include "trace/site_hash.h"
#include "trace/wait_pairs.h"

struct parquet_export {
	struct parquet_writer files[NR_PARQUET_FILES];
	const char *folder; /* was created, and is removed on failure; else NULL */
	bool is_committed;
	bool has_times; /* events have the time of day */
	bool has_waits; /* every event of a coroutine is read: waits can be paired */
	struct rows *rows;
	struct table *tables;
	struct wait_pairs pairs;
	char reason[16];
	uint64_t site_hash; /* of the row that is being created */
	/* The clock: realtime = ts + offset, if it is known. */
	bool has_clock;
	uint64_t start_ts, start_realtime;
	bool has_run_row;
	struct bytes text; /* in valid UTF-8 */
	struct err *err;   /* of the wait that is being written */
	int error;
};

static int parquet_no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "no memory for an export");
}

/* ---- values ---------------------------------------------------------------- */

static void parquet_set_if(struct parquet_writer *w, unsigned column, bool is_known, uint64_t value)
{
	if (is_known)
		parquet_set(w, column, value);
}

/* The time of day of @ts.  Null: the trace does not have it, or @ts is not a possible time. */
static void parquet_set_time(const struct parquet_export *x, struct parquet_writer *w,
			     unsigned column, uint64_t ts)
{
	uint64_t elapsed = ts - x->start_ts;
	int64_t time;

	if (x->has_clock &&
	    !__builtin_add_overflow((int64_t)x->start_realtime, (int64_t)elapsed, &time) &&
	    ((int64_t)elapsed < 0) == (ts < x->start_ts))
		parquet_set(w, column, (uint64_t)time);
}

/* By name, or by number for a reason of a later version. */
static void parquet_set_reason(struct parquet_export *x, struct parquet_writer *w, unsigned column,
			       unsigned reason)
{
	const char *name = trace_reason_name(reason);

	if (!reason)
		return;
	if (name) {
		parquet_set_constant(w, column, name);
		return;
	}
	snprintf(x->reason, sizeof(x->reason), "%u", reason);
	parquet_set_text(w, column, x->reason);
}

/* Untrusted text, which may be NULL: invalid UTF-8 becomes U+FFFD. */
static void parquet_add_untrusted(struct bytes *to, const char *text)
{
	size_t left = text ? strlen(text) : 0;

	while (left) {
		uint32_t cp;
		size_t size = utf8_next(text, left, &cp);

		if (cp == UTF8_BAD)
			bytes_add(to, "\xef\xbf\xbd", 3);
		else
			bytes_add(to, text, size);
		text += size;
		left -= size;
	}
}

/* Sets a column to what was added to x->text, and empties it. */
static void parquet_set_untrusted(struct parquet_export *x, struct parquet_writer *w,
				  unsigned column)
{
	bool is_empty = !x->text.size;

	bytes_add(&x->text, "", 1);
	if (x->text.error)
		w->no_memory = true;
	else if (!is_empty)
		parquet_set_text(w, column, (const char *)x->text.data);
	bytes_clear(&x->text);
}

/* ---- events ---------------------------------------------------------------- */

static int parquet_put_event(struct parquet_export *x, const struct trace_event *ev,
			     struct err *err)
{
	struct parquet_writer *w = &x->files[PARQUET_EVENTS];
	const char *kind = trace_kind_name(ev->kind), *flags = rows_flags_text(ev);
	bool is_transition = trace_is_transition(ev);

	parquet_set(w, PE_TS, ev->ts);
	parquet_set_constant(w, PE_KIND, kind ? kind : "unknown");
	parquet_set(w, PE_PROBE_ID, ev->probe_id);
	parquet_set(w, PE_TID, ev->tid);
	parquet_set_if(w, PE_ADDR, is_transition || ev->addr, ev->addr);
	parquet_set_if(w, PE_SEQ, is_transition || ev->seq, ev->seq);
	parquet_set_if(w, PE_STATION, ev->station != TRACE_NO_STATION, ev->station);
	parquet_set_if(w, PE_SITE, ev->site, ev->site);
	parquet_set_reason(x, w, PE_REASON, ev->reason);
	parquet_set_if(w, PE_RESOURCE, ev->flags & TRACE_HAS_RESOURCE, ev->resource);
	parquet_set_if(w, PE_PEER, ev->peer, ev->peer);
	if (flags)
		parquet_set_constant(w, PE_FLAGS, flags);
	parquet_set(w, PE_RUN, rows_run(x->rows));
	if (x->has_times)
		parquet_set_time(x, w, PE_TIME, ev->ts);
	return parquet_end_row(w, err);
}

/* ---- waits ----------------------------------------------------------------- */

static void parquet_put_wait(void *to, const struct wait_pair *p)
{
	struct parquet_export *x = to;
	struct parquet_writer *w = &x->files[PARQUET_WAITS];
	const char *state = wait_state_name(p->state);

	if (x->error)
		return;
	parquet_set_time(x, w, PW_FROM_TIME, p->ts);
	parquet_set(w, PW_FROM_TS, p->ts);
	parquet_set_if(w, PW_TO_TS, p->end_ts, p->end_ts);
	parquet_set_if(w, PW_DURATION, p->end_ts, p->end_ts - p->ts);
	parquet_set_if(w, PW_WOKEN_TS, p->woken_ts, p->woken_ts);
	parquet_set_if(w, PW_READY, p->end_ts && p->woken_ts, p->end_ts - p->woken_ts);
	parquet_set_constant(w, PW_STATE, state ? state : "unknown");
	parquet_set(w, PW_PROBE_ID, p->probe_id);
	parquet_set_if(w, PW_WAKER, p->waker, p->waker);
	parquet_set(w, PW_TID, p->tid);
	parquet_set_if(w, PW_TO_TID, p->end_ts, p->to_tid);
	parquet_set_if(w, PW_SITE, p->site, p->site);
	parquet_set_if(w, PW_WAKE_SITE, p->wake_site, p->wake_site);
	parquet_set_reason(x, w, PW_REASON, p->reason);
	parquet_set_if(w, PW_RESOURCE, p->has_resource, p->resource);
	parquet_set(w, PW_ADDR, p->addr);
	parquet_set_if(w, PW_STATION, p->station != TRACE_NO_STATION, p->station);
	parquet_set(w, PW_RUN, rows_run(x->rows));
	x->error = parquet_end_row(w, x->err);
}

static int parquet_pair_event(struct parquet_export *x, const struct trace_event *ev,
			      struct err *err)
{
	if (!x->has_waits)
		return 0;
	x->err = err;
	if (wait_pairs_event(&x->pairs, ev, parquet_put_wait, x) < 0)
		return parquet_no_memory(err);
	return x->error;
}

/* ---- rows of tables --------------------------------------------------------- */

static void parquet_set_cell(struct parquet_writer *w, unsigned column, const struct cell *c)
{
	if (c->kind == CELL_TEXT)
		parquet_set_text(w, column, c->text);
	else if (c->kind != CELL_NULL)
		parquet_set(w, column, c->u);
}

/* A callback of detail_rows.h.  Its texts end with NUL. */
static int parquet_put_row(void *to, enum table_id table, const struct cell *cells, struct err *err)
{
	struct parquet_export *x = to;
	int file = parquet_file_of(table);
	const struct table *t = &x->tables[table];
	struct parquet_writer *w;
	size_t i;

	if (file < 0)
		return 0;
	w = &x->files[file];
	for (i = 0; i < t->nr_columns; i++) {
		parquet_set_cell(w, (unsigned)i, &cells[i]);
		if (file == PARQUET_COROUTINES && cells[i].kind == CELL_UNSIGNED &&
		    !strcmp(t->columns[i].name, "birth_ts"))
			parquet_set_time(x, w, (unsigned)t->nr_columns, cells[i].u);
	}
	if (file == PARQUET_SITES)
		parquet_set(w, (unsigned)t->nr_columns, x->site_hash);
	return parquet_end_row(w, err);
}

/* ---- the run ---------------------------------------------------------------- */

/* The row ends at the commit: the totals and the verdict come last. */
static void parquet_add_run(struct parquet_export *x, const struct sidecar_run *run)
{
	struct parquet_writer *w = &x->files[PARQUET_RUN];
	size_t i;

	if (x->has_run_row)
		return;
	x->has_run_row = true;
	x->start_ts = run->start_ts;
	x->start_realtime = run->start_realtime;
	x->has_clock = run->start_ts && run->start_realtime && run->start_realtime <= INT64_MAX;
	parquet_set_time(x, w, PR_START_TIME, run->start_ts);
	parquet_set_if(w, PR_START_TS, run->start_ts, run->start_ts);
	parquet_set_if(w, PR_PID, run->pid, run->pid);
	parquet_add_untrusted(&x->text, run->tool);
	parquet_set_untrusted(x, w, PR_TOOL);
	for (i = 0; i < run->nr_command; i++) {
		bytes_add(&x->text, " ", i > 0);
		parquet_add_untrusted(&x->text, run->command[i]);
	}
	parquet_set_untrusted(x, w, PR_COMMAND);
	parquet_add_untrusted(&x->text, run->hostname);
	parquet_set_untrusted(x, w, PR_HOSTNAME);
	parquet_add_untrusted(&x->text, run->arch);
	parquet_set_untrusted(x, w, PR_ARCH);
}

static void parquet_add_totals(struct parquet_export *x, const struct sidecar_totals *t)
{
	struct parquet_writer *w = &x->files[PARQUET_RUN];

	if (w->columns[PR_WRITTEN].nr)
		return; /* a damaged trace has them twice */
	parquet_set_if(w, PR_END_TS, t->end_ts, t->end_ts);
	parquet_set_if(w, PR_EXIT_STATUS, t->exit_status >= 0, (uint64_t)(int64_t)t->exit_status);
	parquet_set_if(w, PR_SIGNAL, t->signal, (uint64_t)(int64_t)t->signal);
	parquet_set(w, PR_WRITTEN, t->written);
	parquet_set(w, PR_COLLECTED, t->collected);
	parquet_set(w, PR_LOST, t->lost);
	parquet_set(w, PR_OTHERS_WRITTEN, t->others_written);
	parquet_set(w, PR_OTHERS_COLLECTED, t->others_collected);
	parquet_set(w, PR_OTHERS_LOST, t->others_lost);
}

static int parquet_end_run(struct parquet_export *x, const struct sink_job *job, struct err *err)
{
	struct parquet_writer *w = &x->files[PARQUET_RUN];

	parquet_set(w, PR_RUN, rows_run(x->rows));
	parquet_set_constant(w, PR_VERDICT, trace_verdict_name(trace_verdict(job->stats)));
	return parquet_end_row(w, err);
}

/* ---- files ------------------------------------------------------------------ */

static void parquet_release(struct parquet_export *x)
{
	int i;

	for (i = 0; i < NR_PARQUET_FILES; i++)
		parquet_writer_close(&x->files[i]);
	if (x->folder && !x->is_committed)
		rmdir(x->folder);
	rows_free(x->rows);
	tables_free(x->tables, NR_TABLES);
	wait_pairs_release(&x->pairs);
	bytes_release(&x->text);
	free(x);
}

/* The caller frees it; NULL: no memory. */
static char *parquet_path(const struct sink_job *job, enum parquet_file file)
{
	char *path;

	return asprintf(&path, "%s/%s.parquet", job->output, parquet_file_name(file)) < 0 ? NULL
											  : path;
}

static int parquet_open_file(struct parquet_export *x, const struct sink_job *job,
			     enum parquet_file file, struct err *err)
{
	struct parquet_field fields[PARQUET_FIELDS_MAX];
	unsigned nr = parquet_fields_of(file, x->tables, x->has_times, fields);
	char *path = parquet_path(job, file);
	int rc = path ? parquet_writer_open(&x->files[file], path, fields, nr, err)
		      : parquet_no_memory(err);

	free(path);
	return rc;
}

static int parquet_make_folder(struct parquet_export *x, const struct sink_job *job,
			       struct err *err)
{
	struct stat trace, folder;

	if (mkdir(job->output, 0777) == 0) {
		x->folder = job->output;
		return 0;
	}
	if (errno != EEXIST)
		return err_errno(err, "cannot make the folder '%s'", job->output);
	if (stat(job->options->trace, &trace) == 0 && stat(job->output, &folder) == 0 &&
	    trace.st_dev == folder.st_dev && trace.st_ino == folder.st_ino) {
		err_set(err, -EINVAL, "'%s' is the trace itself", job->output);
		err_hint(err, "name another directory with -o");
		return err->code;
	}
	return 0;
}

static int parquet_open(struct sink_job *job, struct err *err)
{
	const struct export_options *o = job->options;
	struct parquet_export *x = calloc(1, sizeof(*x));
	int rc, i;

	if (!x)
		return parquet_no_memory(err);
	wait_pairs_init(&x->pairs);
	x->has_times = o->full;
	x->has_waits = !o->filter.kinds && !o->filter.site;
	x->rows = rows_new(parquet_put_row, x);
	x->tables = tables_make(NULL, NR_TABLES);
	rc = x->rows && x->tables ? parquet_make_folder(x, job, err) : parquet_no_memory(err);
	for (i = 0; !rc && i < NR_PARQUET_FILES; i++) {
		if (i != PARQUET_WAITS || x->has_waits)
			rc = parquet_open_file(x, job, (enum parquet_file)i, err);
	}
	job->state = x;
	if (rc < 0)
		parquet_release(x);
	return rc;
}

/* ---- items ------------------------------------------------------------------ */

/* Transitions make no row of another table: they need not go through rows_item(). */
static bool parquet_needs_rows(const struct trace_item *item)
{
	return item->type != TRACE_ITEM_EVENT || item->event.kind == TRACE_BIRTH ||
	       item->event.kind == TRACE_END || item->event.kind == TRACE_DESTROY;
}

static int parquet_item(struct sink_job *job, const struct trace_item *item, struct err *err)
{
	struct parquet_export *x = job->state;
	int rc = 0;

	if (item->type == TRACE_ITEM_SITE)
		x->site_hash = site_hash(item->site.file, item->site.line, item->site.function);
	if (parquet_needs_rows(item))
		rc = rows_item(x->rows, item, err);
	if (rc < 0)
		return rc;
	if (item->type == TRACE_ITEM_RUN)
		parquet_add_run(x, &item->run);
	else if (item->type == TRACE_ITEM_TOTALS)
		parquet_add_totals(x, &item->totals);
	else if (item->type == TRACE_ITEM_GAP)
		wait_pairs_gap(&x->pairs, &item->gap);
	if (item->type != TRACE_ITEM_EVENT)
		return 0;
	job->rows++;
	rc = parquet_put_event(x, &item->event, err);
	return rc < 0 ? rc : parquet_pair_event(x, &item->event, err);
}

/* ---- the end ---------------------------------------------------------------- */

static int parquet_finish_rows(struct parquet_export *x, const struct sink_job *job,
			       struct err *err)
{
	int rc = rows_finish(x->rows, err);

	x->err = err;
	if (!rc && x->has_waits && wait_pairs_finish(&x->pairs, parquet_put_wait, x) < 0)
		return parquet_no_memory(err);
	if (!rc)
		rc = x->error;
	return rc < 0 ? rc : parquet_end_run(x, job, err);
}

/* Detects a full disk before the first file is replaced. */
static int parquet_settle_files(struct parquet_export *x, struct err *err)
{
	char ts[24], realtime[24];
	const struct parquet_fact facts[] = { { "corotracer.start_ts", ts },
					      { "corotracer.start_realtime", realtime } };
	int rc = 0, i;

	snprintf(ts, sizeof(ts), "%" PRIu64, x->start_ts);
	snprintf(realtime, sizeof(realtime), "%" PRIu64, x->start_realtime);
	for (i = 0; !rc && i < NR_PARQUET_FILES; i++) {
		if (x->files[i].columns)
			rc = parquet_writer_settle(&x->files[i], facts, x->has_clock ? 2 : 0, err);
	}
	return rc;
}

/* Without waits, those of an earlier export would be of another trace. */
static int parquet_remove_waits(const struct sink_job *job, struct err *err)
{
	char *path = parquet_path(job, PARQUET_WAITS);
	int rc = path ? 0 : parquet_no_memory(err);

	if (path && unlink(path) < 0 && errno != ENOENT)
		rc = err_errno(err, "cannot remove '%s'", path);
	free(path);
	return rc;
}

static int parquet_commit(struct sink_job *job, struct err *err)
{
	struct parquet_export *x = job->state;
	int rc = parquet_finish_rows(x, job, err), i;

	if (!rc)
		rc = parquet_settle_files(x, err);
	if (!rc && !x->has_waits)
		rc = parquet_remove_waits(job, err);
	for (i = NR_PARQUET_FILES - 1; !rc && i >= 0; i--) {
		if (!x->files[i].columns)
			continue;
		rc = parquet_writer_commit(&x->files[i], err);
		job->bytes += x->files[i].file.bytes;
	}
	x->is_committed = !rc;
	if (!rc && !x->has_waits)
		snprintf(
			job->note, sizeof(job->note),
			"no waits.parquet: --kind and --site leave out the events that end a wait");
	return rc;
}

static void parquet_close(struct sink_job *job)
{
	parquet_release(job->state);
}

static void parquet_drop(struct sink_job *job)
{
	const struct parquet_export *x = job->state;
	int i;

	for (i = 0; i < NR_PARQUET_FILES; i++)
		outfile_drop(&x->files[i].file);
	if (x->folder)
		rmdir(x->folder);
}

const struct sink sink_parquet = {
	.name = "parquet",
	.takes_frames = true,
	.about = "a directory of Parquet files, for DuckDB, pandas, Spark and ClickHouse",
	.suffix = ".parquet",
	.open = parquet_open,
	.item = parquet_item,
	.commit = parquet_commit,
	.close = parquet_close,
	.drop = parquet_drop,
};
