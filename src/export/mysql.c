/* SPDX-License-Identifier: MIT */
/*
 * mysql.c - load a trace or a recording into a MySQL or MariaDB server.
 *
 * LOAD DATA LOCAL is used, which measures faster than multi-row INSERT (bench/export.sh has
 * both): a separate thread talks to the server while the rows are created.  If the server does
 * not allow it (the default of MySQL), INSERT is used.  Both load the rows in one transaction.
 */
#include <errmsg.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/client.h"
#include "export/copy_rows.h"
#include "export/row_spool.h"
#include "export/handoff.h"
#include "export/inserts.h"
#include "export/mysql_server.h"
#include "export/sink.h"

struct mysql_state {
	struct mysql_server server;

	/* LOAD DATA: the events of a trace through the thread, the others from their spools. */
	struct handoff handoff;
	bool has_handoff, loads;
	pthread_t thread;
	char *load;          /* the statement */
	struct err load_err; /* of the thread, valid after it has ended */
	char *buffer;        /* being filled; NULL: none */
	size_t used;
	struct row_spool *spools; /* per table */

	struct inserts inserts; /* if LOAD DATA is not allowed */
};

/* ---- LOAD DATA ----------------------------------------------------------- */

/* The file name from the server is ignored: the server can only get the rows of the export. */
static int infile_init(void **handle, const char *name, void *from)
{
	(void)name;
	*handle = from;
	return 0;
}

static void infile_end(void *handle)
{
	(void)handle;
}

static int infile_error(void *handle, char *text, unsigned size)
{
	(void)handle;
	snprintf(text, size, "the export was given up");
	return CR_UNKNOWN_ERROR;
}

/* libmariadb does not check the buffer that it allocates: @data is NULL without memory. */
static int read_handoff(void *handle, char *data, unsigned size)
{
	return data ? handoff_take(handle, data, size) : -1;
}

static int read_spool(void *handle, char *data, unsigned size)
{
	return data ? (int)row_spool_read(handle, data, size) : -1;
}

static char *load_statement(const struct table *t)
{
	struct sql sql;

	if (sql_begin(&sql)) {
		fputs("LOAD DATA LOCAL INFILE 'rows' INTO TABLE ", sql.out);
		table_put_name(sql.out, DIALECT_MYSQL, t);
		fputs(" CHARACTER SET utf8mb4 FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\'"
		      " LINES TERMINATED BY '\\n' (",
		      sql.out);
		table_put_columns(sql.out, DIALECT_MYSQL, t);
		putc(')', sql.out);
	}
	return sql_end(&sql);
}

/* LOCAL turns errors into warnings: a value that did not fit must fail the export. */
static int check_warnings(struct mysql_server *m, struct err *err)
{
	unsigned nr = libmariadb.mysql_warning_count(m->conn);
	MYSQL_RES *r;
	MYSQL_ROW row;

	if (!nr)
		return 0;
	err_set(err, -EIO, "the server warns of %u values", nr);
	if (libmariadb.mysql_query(m->conn, "SHOW WARNINGS LIMIT 1") == 0 &&
	    (r = libmariadb.mysql_store_result(m->conn))) {
		row = libmariadb.mysql_fetch_row(r);
		if (row && row[2])
			err_set(err, -EIO, "the server warns of %u values: %s", nr, row[2]);
		libmariadb.mysql_free_result(r);
	}
	err_hint(err, "nothing of it is in the database");
	return err->code;
}

static int load_failed(struct mysql_server *m, struct err *err)
{
	mysql_server_failed(m, "the load failed", err);
	err_hint(err, "nothing of it is in the database");
	return err->code;
}

/* The thread owns the connection until it has ended. */
static void *load_events(void *arg)
{
	struct mysql_state *s = arg;
	struct mysql_server *m = &s->server;

	libmariadb.mysql_set_local_infile_handler(m->conn, infile_init, read_handoff, infile_end,
						  infile_error, &s->handoff);
	if (libmariadb.mysql_query(m->conn, s->load) != 0)
		load_failed(m, &s->load_err);
	else
		check_warnings(m, &s->load_err);
	handoff_refuse(&s->handoff);
	libmariadb.mysql_thread_end();
	return NULL;
}

static int start_load(struct mysql_state *s, const struct table *t, struct err *err)
{
	s->has_handoff = true;
	s->load = load_statement(t);
	if (handoff_init(&s->handoff) < 0 || !s->load)
		return err_set(err, -ENOMEM, "no memory for rows");
	if (pthread_create(&s->thread, NULL, load_events, s) != 0)
		return err_set(err, -EAGAIN, "cannot start a thread");
	s->loads = true;
	return 0;
}

static int end_load(struct mysql_state *s, bool give_up, struct err *err)
{
	if (!s->loads)
		return 0;
	if (s->used && !give_up)
		handoff_give(&s->handoff, s->used);
	s->used = 0;
	handoff_end(&s->handoff, give_up);
	pthread_join(s->thread, NULL);
	s->loads = false;
	if (s->load_err.code && err)
		*err = s->load_err;
	return s->load_err.code;
}

static int mysql_put_event(struct mysql_state *s, const struct trace_event *ev, struct err *err)
{
	if (s->used + COPY_EVENT_MAX > HANDOFF_SIZE) {
		handoff_give(&s->handoff, s->used);
		s->used = 0;
		s->buffer = NULL;
	}
	if (!s->buffer)
		s->buffer = handoff_buffer(&s->handoff);
	if (!s->buffer)
		return end_load(s, true, err); /* sets the error */
	s->used = (size_t)(copy_event_text(s->buffer + s->used, ev) - s->buffer);
	return 0;
}

static int load_spool(struct mysql_state *s, const struct table *t, struct row_spool *spool,
		      struct err *err)
{
	struct mysql_server *m = &s->server;
	char *sql = load_statement(t);
	int rc;

	if (!sql)
		return err_set(err, -ENOMEM, "no memory for a statement");
	libmariadb.mysql_set_local_infile_handler(m->conn, infile_init, read_spool, infile_end,
						  infile_error, spool);
	rc = libmariadb.mysql_query(m->conn, sql) ? load_failed(m, err) : check_warnings(m, err);
	free(sql);
	return rc;
}

/* ---- INSERT -------------------------------------------------------------- */

static int mysql_send_insert(void *to, const char *sql, size_t size, struct err *err)
{
	struct mysql_state *s = to;

	return libmariadb.mysql_real_query(s->server.conn, sql, size) ? load_failed(&s->server, err)
								      : 0;
}

/* ---- the sink ------------------------------------------------------------ */

static int mysql_row(struct sink_job *job, size_t table, const struct cell *cells, struct err *err)
{
	struct mysql_state *s = job->state;

	if (!s->server.allows_local)
		return inserts_row(&s->inserts, table, cells, err);
	if (!copy_row_text(&s->spools[table].bytes, DIALECT_MYSQL, &job->tables[table], cells))
		return err_set(err, -ENOMEM, "no memory for a row");
	return row_spool_settle(&s->spools[table], err);
}

static int mysql_item(struct sink_job *job, const struct trace_item *item, struct err *err)
{
	struct mysql_state *s = job->state;

	if (item->type != TRACE_ITEM_EVENT || !trace_is_transition(&item->event))
		return 0;
	job->rows++;
	return s->server.allows_local ? mysql_put_event(s, &item->event, err)
				      : inserts_event(&s->inserts, &item->event, err);
}

static void mysql_sink_close(struct sink_job *job)
{
	struct mysql_state *s = job->state;
	size_t t;

	end_load(s, true, NULL);
	mysql_server_close(&s->server);
	if (s->has_handoff)
		handoff_release(&s->handoff);
	for (t = 0; s->spools && t < job->nr_tables; t++)
		row_spool_release(&s->spools[t]);
	free(s->spools);
	inserts_release(&s->inserts);
	free(s->load);
	free(s);
}

static int mysql_begin(struct sink_job *job, struct err *err)
{
	struct mysql_state *s = job->state;
	int rc = mysql_server_open(&s->server, job, err);

	if (rc < 0)
		return rc;
	s->inserts = (struct inserts){ .dialect = DIALECT_MYSQL,
				       .tables = job->tables,
				       .nr_tables = job->nr_tables,
				       .send = mysql_send_insert,
				       .to = s };
	s->spools = calloc(job->nr_tables, sizeof(*s->spools));
	if (!s->spools || inserts_init(&s->inserts) < 0)
		return err_set(err, -ENOMEM, "no memory for rows");
	rc = mysql_server_run(&s->server, strdup("START TRANSACTION"), "the server refuses", err);
	if (!rc && s->server.allows_local && !job->recording)
		rc = start_load(s, &job->tables[TABLE_EVENTS], err);
	return rc;
}

static int mysql_sink_open(struct sink_job *job, struct err *err)
{
	int rc = libmariadb_load(err);

	if (rc < 0)
		return rc;
	job->state = calloc(1, sizeof(struct mysql_state));
	if (!job->state)
		return err_set(err, -ENOMEM, "no memory for a connection");
	rc = mysql_begin(job, err);
	if (rc < 0)
		mysql_sink_close(job);
	return rc;
}

static int load_rest(const struct sink_job *job, struct err *err)
{
	struct mysql_state *s = job->state;
	size_t t;
	int rc = end_load(s, false, err);

	if (!rc)
		rc = inserts_flush(&s->inserts, err);
	for (t = 0; !rc && t < job->nr_tables; t++) {
		if (!row_spool_is_empty(&s->spools[t]))
			rc = load_spool(s, &job->tables[t], &s->spools[t], err);
	}
	return rc;
}

/* A connection that is lost here leaves open whether the server has committed. */
static int commit_rows(struct mysql_state *s, struct err *err)
{
	char *sql = strdup("COMMIT");
	bool is_sent = sql != NULL;
	int rc = mysql_server_run(&s->server, sql, "the server refuses", err);

	if (rc < 0 && is_sent)
		err_hint(err, "the server has either all rows or none: look before another export");
	return rc;
}

/* The rows are there already: making an index commits, and is faster afterwards. */
static int make_all_indexes(const struct sink_job *job, struct err *err)
{
	struct mysql_state *s = job->state;
	struct err why = { 0 };
	size_t t;
	int rc = 0;

	for (t = 0; !rc && t < job->nr_tables; t++)
		rc = mysql_server_make_indexes(&s->server, &job->tables[t], &why);
	if (rc < 0) {
		err_set(err, rc, "the rows are in the database, but not all indexes: %.400s",
			why.text);
		err_hint(err, "another export would add the rows again");
	}
	return rc;
}

static int mysql_sink_commit(struct sink_job *job, struct err *err)
{
	struct mysql_state *s = job->state;
	int rc = load_rest(job, err);

	if (!rc)
		rc = commit_rows(s, err);
	if (!rc)
		rc = make_all_indexes(job, err);
	if (!rc)
		snprintf(job->note, sizeof(job->note), "in %.60s, %.60s",
			 job->options->database ? job->options->database : TABLES_DATABASE,
			 job->tables[0].name);
	return rc;
}

const struct sink sink_mysql = {
	.name = "mysql",
	.about = "tables of a MySQL or MariaDB server",
	.is_database = true,
	.name_max = 64,
	.client = &client_mysql,
	.open = mysql_sink_open,
	.item = mysql_item,
	.row = mysql_row,
	.commit = mysql_sink_commit,
	.close = mysql_sink_close,
};
