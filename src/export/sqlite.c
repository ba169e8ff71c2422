/* SPDX-License-Identifier: MIT */
/*
 * sqlite.c - write a trace as an SQLite database.
 *
 * The database is created under a temporary name in one transaction, with indexes after the
 * rows, then synced and renamed: an existing file is replaced only on success.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fmt.h"
#include "base/output_file.h"
#include "base/sqlite_code.h"
#include "export/client.h"
#include "export/event_table.h"
#include "export/detail_rows.h"
#include "export/sink.h"

struct sqlite_state {
	sqlite3 *db;
	struct outfile file;
	char *names[NR_TABLES];
	sqlite3_stmt *inserts[NR_TABLES]; /* for the first table: from the batch */
	struct rows *rows;                /* NULL: not requested */
	struct event_batch batch;
};

static int sqlite_set_failed(const struct sqlite_state *s, struct err *err)
{
	err_set(err, sqlite_code(s->db), "cannot write '%s': %s", s->file.path,
		sqlite3_errmsg(s->db));
	outfile_hint(err);
	return err->code;
}

static int sqlite_execute(struct sqlite_state *s, char *sql, struct err *err)
{
	int rc = 0;

	if (!sql)
		return err_set(err, -ENOMEM, "no memory for a statement");
	if (sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		rc = sqlite_set_failed(s, err);
	free(sql);
	return rc;
}

/* ---- tables -------------------------------------------------------------- */

static int sqlite_make_table(struct sqlite_state *s, enum table_id id, struct err *err)
{
	struct sql sql;

	if (sql_begin(&sql))
		table_put_create(sql.out, DIALECT_SQLITE, s->names[id], id, false);
	return sqlite_execute(s, sql_end(&sql), err);
}

static void put_insert(FILE *out, const struct sqlite_state *s, enum table_id id)
{
	size_t i;

	fputs("INSERT INTO ", out);
	table_put_name(out, DIALECT_SQLITE, s->names[id]);
	fputs(" (", out);
	table_put_columns(out, id);
	if (id == TABLE_EVENTS) {
		fputs(") SELECT * FROM " EVENT_TABLE_NAME, out);
		return;
	}
	fputs(") VALUES (", out);
	for (i = 0; i < tables[id].nr_columns; i++)
		fputs(i ? ",?" : "?", out);
	putc(')', out);
}

static int prepare_insert(struct sqlite_state *s, enum table_id id, struct err *err)
{
	struct sql sql;
	char *text;
	int rc = 0;

	if (sql_begin(&sql))
		put_insert(sql.out, s, id);
	text = sql_end(&sql);
	if (!text)
		return err_set(err, -ENOMEM, "no memory for a statement");
	if (sqlite3_prepare_v2(s->db, text, -1, &s->inserts[id], NULL) != SQLITE_OK)
		rc = sqlite_set_failed(s, err);
	free(text);
	return rc;
}

static int sqlite_make_tables(struct sqlite_state *s, const struct export_options *o,
			      struct err *err)
{
	const char *events = o->table ? o->table : TABLES_EVENTS;
	size_t t;
	int rc = 0;

	for (t = 0; !rc && t < tables_count(o->full); t++) {
		s->names[t] = table_name(events, (enum table_id)t);
		if (!s->names[t])
			return err_set(err, -ENOMEM, "no memory for a name");
		rc = sqlite_make_table(s, (enum table_id)t, err);
		if (!rc)
			rc = prepare_insert(s, (enum table_id)t, err);
	}
	return rc;
}

static int sqlite_make_indexes(struct sqlite_state *s, bool full, struct err *err)
{
	size_t t, i;
	int rc = 0;

	for (t = 0; t < tables_count(full); t++) {
		for (i = 0; !rc && tables[t].indexes[i]; i++) {
			struct sql sql;

			if (sql_begin(&sql))
				table_put_index(sql.out, DIALECT_SQLITE, s->names[t],
						tables[t].indexes[i]);
			rc = sqlite_execute(s, sql_end(&sql), err);
		}
	}
	return rc;
}

/* ---- rows ---------------------------------------------------------------- */

static int run_insert(struct sqlite_state *s, enum table_id id, struct err *err)
{
	if (sqlite3_step(s->inserts[id]) == SQLITE_DONE &&
	    sqlite3_reset(s->inserts[id]) == SQLITE_OK)
		return 0;
	return sqlite_set_failed(s, err);
}

static int put_batch(struct sqlite_state *s, struct err *err)
{
	int rc = s->batch.nr ? run_insert(s, TABLE_EVENTS, err) : 0;

	s->batch.nr = 0;
	return rc;
}

/* SQLITE_TRANSIENT: the text is valid only during the call. */
static int sqlite_bind(struct sqlite_state *s, sqlite3_stmt *st, int at, enum column_type type,
		       const struct cell *c)
{
	char text[FMT_U64_MAX + FMT_SLACK];
	int size;

	if (c->is_null)
		return sqlite3_bind_null(st, at);
	if (type == COLUMN_TEXT)
		return sqlite3_bind_text(st, at, c->text, (int)c->size, SQLITE_TRANSIENT);
	if (type != COLUMN_ID && !sqlite_number_is_large(c->u))
		return sqlite3_bind_int64(st, at, (sqlite3_int64)c->u);
	size = (int)(fmt_u64(text, c->u) - text);
	if (type == COLUMN_ID)
		return sqlite3_bind_text(st, at, text, size, SQLITE_TRANSIENT);
	s->batch.large++;
	return sqlite3_bind_blob(st, at, text, size, SQLITE_TRANSIENT);
}

static int sqlite_put_row(void *to, enum table_id id, const struct cell *cells, struct err *err)
{
	struct sqlite_state *s = to;
	size_t i;

	for (i = 0; i < tables[id].nr_columns; i++) {
		if (sqlite_bind(s, s->inserts[id], (int)i + 1, tables[id].columns[i].type,
				&cells[i]) != SQLITE_OK)
			return sqlite_set_failed(s, err);
	}
	return run_insert(s, id, err);
}

static int sqlite_item(struct sink_job *job, const struct trace_item *item, struct err *err)
{
	struct sqlite_state *s = job->state;
	const struct trace_event *ev = &item->event;
	int rc = s->rows ? rows_item(s->rows, item, err) : 0;

	if (rc < 0 || item->type != TRACE_ITEM_EVENT || !trace_is_transition(ev))
		return rc;
	s->batch.rows[s->batch.nr++] = (struct event_row){
		.probe_id = ev->probe_id,
		.tid = ev->tid,
		.addr = ev->addr,
		.seq = ev->seq,
		.ts = ev->ts,
		.is_active = ev->is_active,
	};
	job->rows++;
	return s->batch.nr == EVENT_TABLE_BATCH ? put_batch(s, err) : 0;
}

/* ---- opening, closing ---------------------------------------------------- */

static void sqlite_sqlite_close(struct sink_job *job)
{
	struct sqlite_state *s = job->state;
	size_t t;

	for (t = 0; t < NR_TABLES; t++) {
		sqlite3_finalize(s->inserts[t]);
		free(s->names[t]);
	}
	sqlite3_close(s->db);
	outfile_close(&s->file);
	rows_free(s->rows);
	free(s);
}

/*
 * The file is new and not shared: no journal, no sync before the end, and the lock is never
 * released.  The cache is 2 MB, which the sort for the indexes uses as well: more is not
 * faster.
 */
static char settings[] = "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF;"
			 "PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
			 "PRAGMA cache_size = -2000; BEGIN";

static int sqlite_begin(struct sink_job *job, struct err *err)
{
	struct sqlite_state *s = job->state;
	int rc;

	rc = outfile_reserve(&s->file, job->output, err);
	if (rc < 0)
		return rc;
	if (sqlite3_open_v2(s->file.temporary, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK)
		return sqlite_set_failed(s, err);
	rc = sqlite_execute(s, strdup(settings), err);
	if (!rc && event_table_register(s->db, &s->batch) != SQLITE_OK)
		rc = sqlite_set_failed(s, err);
	if (!rc)
		rc = sqlite_make_tables(s, job->options, err);
	if (!rc && job->options->full) {
		s->rows = rows_new(sqlite_put_row, s);
		if (!s->rows)
			rc = err_set(err, -ENOMEM, "no memory for rows");
		else if (!job->options->exact_text)
			rows_guard_formulas(s->rows);
	}
	return rc;
}

static int sqlite_sqlite_open(struct sink_job *job, struct err *err)
{
	int rc;

	job->state = calloc(1, sizeof(struct sqlite_state));
	if (!job->state)
		return err_set(err, -ENOMEM, "no memory for a database");
	rc = sqlite_begin(job, err);
	if (rc < 0)
		sqlite_sqlite_close(job);
	return rc;
}

static int sqlite_commit(struct sink_job *job, struct err *err)
{
	struct sqlite_state *s = job->state;
	struct stat st;
	int rc = put_batch(s, err);

	if (!rc && s->rows)
		rc = rows_finish(s->rows, err);
	if (!rc)
		rc = sqlite_make_indexes(s, job->options->full, err);
	if (!rc)
		rc = sqlite_execute(s, strdup("COMMIT"), err);
	if (!rc)
		rc = outfile_commit(&s->file, err);
	if (rc < 0)
		return rc;
	if (fstat(s->file.fd, &st) == 0)
		job->bytes = (uint64_t)st.st_size;
	job->extra = s->rows ? rows_count(s->rows) : 0;
	if (s->batch.large)
		snprintf(job->note, sizeof(job->note),
			 "%" PRIu64 " numbers over 2^63-1 are blobs of digits: CAST(ts AS TEXT)",
			 s->batch.large);
	return 0;
}

static void sqlite_drop(struct sink_job *job)
{
	struct sqlite_state *s = job->state;

	outfile_drop(&s->file);
}

const struct sink sink_sqlite = {
	.name = "sqlite",
	.about = "an SQLite database",
	.suffix = ".sqlite",
	.client = &client_sqlite,
	.open = sqlite_sqlite_open,
	.item = sqlite_item,
	.commit = sqlite_commit,
	.close = sqlite_sqlite_close,
	.drop = sqlite_drop,
};
