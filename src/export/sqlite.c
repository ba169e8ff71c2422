/* SPDX-License-Identifier: MIT */
/*
 * sqlite.c - write a trace or a recording as an SQLite database.
 *
 * The database is created under a temporary name in one transaction, with indexes after the
 * rows, then synced and renamed: an existing file is replaced only on success.  A recording
 * replaces no database.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fmt.h"
#include "base/output_file.h"
#include "base/sqlite_code.h"
#include "base/text.h"
#include "export/client.h"
#include "export/event_table.h"
#include "export/sink.h"

struct sqlite_state {
	sqlite3 *db;
	struct outfile file;
	sqlite3_stmt **inserts; /* per table; for the events of a trace: from the batch */
	bool guard;             /* against formulas */
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

static int check_width(const struct sqlite_state *s, const struct table *t, struct err *err)
{
	int most = sqlite3_limit(s->db, SQLITE_LIMIT_COLUMN, -1);

	if (t->nr_columns <= (size_t)most)
		return 0;
	err_set(err, -E2BIG, "frame '%s' has %zu columns, and a table takes %d", t->name,
		t->nr_columns, most);
	err_hint(err, "arrays take a column per element; --format jsonl has no such limit");
	return -E2BIG;
}

static int sqlite_make_table(struct sqlite_state *s, const struct table *t, struct err *err)
{
	struct sql sql;
	int rc = check_width(s, t, err);

	if (rc < 0)
		return rc;
	if (sql_begin(&sql))
		table_put_create(sql.out, DIALECT_SQLITE, t, false);
	return sqlite_execute(s, sql_end(&sql), err);
}

static void put_insert(FILE *out, const struct table *t, bool from_batch)
{
	size_t i;

	table_put_insert(out, DIALECT_SQLITE, t);
	if (from_batch) {
		fputs("SELECT * FROM " EVENT_TABLE_NAME, out);
		return;
	}
	fputs("VALUES (", out);
	for (i = 0; i < t->nr_columns; i++)
		fputs(i ? ",?" : "?", out);
	putc(')', out);
}

static int prepare_insert(struct sqlite_state *s, const struct sink_job *job, size_t table,
			  struct err *err)
{
	struct sql sql;
	char *text;
	int rc = 0;

	if (sql_begin(&sql))
		put_insert(sql.out, &job->tables[table], !job->recording && table == TABLE_EVENTS);
	text = sql_end(&sql);
	if (!text)
		return err_set(err, -ENOMEM, "no memory for a statement");
	if (sqlite3_prepare_v2(s->db, text, -1, &s->inserts[table], NULL) != SQLITE_OK)
		rc = sqlite_set_failed(s, err);
	free(text);
	return rc;
}

static int sqlite_make_tables(struct sqlite_state *s, const struct sink_job *job, struct err *err)
{
	size_t t;
	int rc = 0;

	for (t = 0; !rc && t < job->nr_tables; t++) {
		rc = sqlite_make_table(s, &job->tables[t], err);
		if (!rc)
			rc = prepare_insert(s, job, t, err);
	}
	return rc;
}

static int sqlite_make_indexes(struct sqlite_state *s, const struct sink_job *job, struct err *err)
{
	size_t t, i;
	int rc = 0;

	for (t = 0; t < job->nr_tables; t++) {
		for (i = 0; !rc && job->tables[t].indexes[i]; i++) {
			struct sql sql;

			if (sql_begin(&sql))
				table_put_index(sql.out, DIALECT_SQLITE, &job->tables[t],
						job->tables[t].indexes[i]);
			rc = sqlite_execute(s, sql_end(&sql), err);
		}
	}
	return rc;
}

/* ---- rows ---------------------------------------------------------------- */

static int run_insert(struct sqlite_state *s, size_t table, struct err *err)
{
	if (sqlite3_step(s->inserts[table]) == SQLITE_DONE &&
	    sqlite3_reset(s->inserts[table]) == SQLITE_OK)
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
static int bind_text(const struct sqlite_state *s, sqlite3_stmt *st, int at, const struct cell *c)
{
	char *text;

	if (!s->guard || !text_is_formula(c->text, c->size))
		return sqlite3_bind_text(st, at, c->text, (int)c->size, SQLITE_TRANSIENT);
	text = sqlite3_mprintf("'%.*s", (int)c->size, c->text);
	return text ? sqlite3_bind_text(st, at, text, -1, sqlite3_free) : SQLITE_NOMEM;
}

static int bind_unsigned(struct sqlite_state *s, sqlite3_stmt *st, int at, enum column_type type,
			 uint64_t u)
{
	char text[FMT_U64_MAX + FMT_SLACK];
	int size;

	if (type != COLUMN_ID && !sqlite_number_is_large(u))
		return sqlite3_bind_int64(st, at, (sqlite3_int64)u);
	size = (int)(fmt_u64(text, u) - text);
	if (type == COLUMN_ID)
		return sqlite3_bind_text(st, at, text, size, SQLITE_TRANSIENT);
	s->batch.large++;
	return sqlite3_bind_blob(st, at, text, size, SQLITE_TRANSIENT);
}

static int sqlite_bind(struct sqlite_state *s, sqlite3_stmt *st, int at, enum column_type type,
		       const struct cell *c)
{
	switch (c->kind) {
	case CELL_SIGNED:
		return sqlite3_bind_int64(st, at, c->i);
	case CELL_UNSIGNED:
		return bind_unsigned(s, st, at, type, c->u);
	case CELL_BOOL:
		return sqlite3_bind_int(st, at, (int)c->u);
	case CELL_DOUBLE:
		return sqlite3_bind_double(st, at, c->d);
	case CELL_TEXT:
		return bind_text(s, st, at, c);
	default:
		return sqlite3_bind_null(st, at);
	}
}

static int sqlite_row(struct sink_job *job, size_t table, const struct cell *cells, struct err *err)
{
	struct sqlite_state *s = job->state;
	const struct table *t = &job->tables[table];
	size_t i;

	for (i = 0; i < t->nr_columns; i++) {
		if (sqlite_bind(s, s->inserts[table], (int)i + 1, t->columns[i].type, &cells[i]) !=
		    SQLITE_OK)
			return sqlite_set_failed(s, err);
	}
	return run_insert(s, table, err);
}

static int sqlite_item(struct sink_job *job, const struct trace_item *item, struct err *err)
{
	struct sqlite_state *s = job->state;
	const struct trace_event *ev = &item->event;

	if (item->type != TRACE_ITEM_EVENT || !trace_is_transition(ev))
		return 0;
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

	for (t = 0; s->inserts && t < job->nr_tables; t++)
		sqlite3_finalize(s->inserts[t]);
	sqlite3_close(s->db);
	outfile_close(&s->file);
	free(s->inserts);
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

static int refuse_existing(const char *output, struct err *err)
{
	struct stat st;

	if (stat(output, &st) < 0 || !st.st_size)
		return 0;
	err_set(err, -EEXIST, "'%s' exists already", output);
	err_hint(err, "remove it, or name another file");
	return -EEXIST;
}

static int sqlite_begin(struct sink_job *job, struct err *err)
{
	struct sqlite_state *s = job->state;
	int rc = job->recording ? refuse_existing(job->output, err) : 0;

	s->guard = !job->options->exact_text;
	s->inserts = calloc(job->nr_tables, sizeof(sqlite3_stmt *)); // NOLINT
	if (!rc && !s->inserts)
		rc = err_set(err, -ENOMEM, "no memory for a database");
	if (!rc)
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
		rc = sqlite_make_tables(s, job, err);
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

	if (!rc)
		rc = sqlite_make_indexes(s, job, err);
	if (!rc)
		rc = sqlite_execute(s, strdup("COMMIT"), err);
	if (!rc)
		rc = outfile_commit(&s->file, err);
	if (rc < 0)
		return rc;
	if (fstat(s->file.fd, &st) == 0)
		job->bytes = (uint64_t)st.st_size;
	if (s->batch.large && !job->recording)
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
	.is_database = true,
	.client = &client_sqlite,
	.open = sqlite_sqlite_open,
	.item = sqlite_item,
	.row = sqlite_row,
	.commit = sqlite_commit,
	.close = sqlite_sqlite_close,
	.drop = sqlite_drop,
};
