/* SPDX-License-Identifier: MIT */
/*
 * postgresql.c - load a trace or a recording into a PostgreSQL server, by binary COPY.
 *
 * One transaction covers everything from the first table to the last index: a failure before
 * its end leaves nothing in the database.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/client.h"
#include "export/copy_rows.h"
#include "export/libpq_loader.h"
#include "export/row_spool.h"
#include "export/sink.h"

#define SEND_AT ((size_t)128 * 1024)

struct pg_state {
	PGconn *conn;
	struct bytes bytes;       /* of the events of a trace, not sent yet */
	struct row_spool *spools; /* of the other tables */
};

/* ---- talking ------------------------------------------------------------- */

/* Sets @err to the message of libpq, without its trailing newline. */
static int postgresql_set_failed(const char *what, const char *says, struct err *err)
{
	size_t size = strlen(says);

	while (size && says[size - 1] == '\n')
		size--;
	return err_set(err, -EIO, "%s: %.*s", what, (int)size, says);
}

static int postgresql_run(PGconn *conn, char *sql, ExecStatusType wanted, const char *what,
			  struct err *err)
{
	PGresult *r;
	int rc = 0;

	if (!sql)
		return err_set(err, -ENOMEM, "no memory for a statement");
	r = libpq.PQexec(conn, sql);
	if (libpq.PQresultStatus(r) != wanted)
		rc = postgresql_set_failed(what, libpq.PQerrorMessage(conn), err);
	libpq.PQclear(r);
	free(sql);
	return rc;
}

static int postgresql_command(struct pg_state *s, const char *sql, struct err *err)
{
	return postgresql_run(s->conn, strdup(sql), PGRES_COMMAND_OK, "the server refuses", err);
}

/* ---- the database -------------------------------------------------------- */

static const char *postgresql_database_of(const struct export_options *o)
{
	return o->database ? o->database : TABLES_DATABASE;
}

static PGconn *postgresql_connect_to(const struct export_options *o, const char *database)
{
	char port[16];
	/* libpq replaces NULL by its environment, pgpass, or its defaults. */
	const char *keys[] = { "host",
			       "port",
			       "user",
			       "password",
			       "dbname",
			       "sslmode",
			       "client_encoding",
			       "fallback_application_name",
			       NULL };
	const char *values[] = { o->host,  o->port ? port : NULL, o->user, o->password,
				 database, o->pg_sslmode,         "UTF8",  "corotracer",
				 NULL };

	snprintf(port, sizeof(port), "%u", o->port);
	return libpq.PQconnectdbParams(keys, values, 0);
}

static bool is_connected(const PGconn *conn)
{
	return conn && libpq.PQstatus(conn) == CONNECTION_OK;
}

/* Returns 1: it was created; 0: it exists, or the query failed; negative: an error. */
static int make_database(PGconn *conn, const char *name, struct err *err)
{
	const char *values[] = { name };
	PGresult *r = libpq.PQexecParams(conn, "SELECT 1 FROM pg_database WHERE datname = $1", 1,
					 NULL, values, NULL, NULL, 0);
	bool is_missing = libpq.PQresultStatus(r) == PGRES_TUPLES_OK && libpq.PQntuples(r) == 0;
	struct sql sql;
	int rc;

	libpq.PQclear(r);
	if (!is_missing)
		return 0;
	if (sql_begin(&sql)) {
		fputs("CREATE DATABASE ", sql.out);
		table_put_quoted(sql.out, DIALECT_POSTGRESQL, name);
	}
	rc = postgresql_run(conn, sql_end(&sql), PGRES_COMMAND_OK, "cannot make the database", err);
	if (rc < 0)
		err_hint(err, "name an existing database: --db-name");
	return rc < 0 ? rc : 1;
}

/* The connection failed: the database may only be missing. */
static int connect_by_way(struct pg_state *s, const struct export_options *o, struct err *err)
{
	PGconn *by = postgresql_connect_to(o, o->pg_maintenance_db ? o->pg_maintenance_db
								   : "postgres");
	int rc = is_connected(by) ? make_database(by, postgresql_database_of(o), err) : 0;

	libpq.PQfinish(by);
	if (rc > 0) {
		libpq.PQfinish(s->conn);
		s->conn = postgresql_connect_to(o, postgresql_database_of(o));
	}
	if (rc < 0 || is_connected(s->conn))
		return rc < 0 ? rc : 0;
	postgresql_set_failed("cannot connect to PostgreSQL",
			      s->conn ? libpq.PQerrorMessage(s->conn) : "no memory", err);
	err_hint(err, "see --db-host, --db-port, --db-user; the password: PGPASSWORD or ~/.pgpass");
	return err->code;
}

static int postgresql_connect_server(struct pg_state *s, const struct export_options *o,
				     struct err *err)
{
	s->conn = postgresql_connect_to(o, postgresql_database_of(o));
	return is_connected(s->conn) ? 0 : connect_by_way(s, o, err);
}

/* ---- tables -------------------------------------------------------------- */

static void postgresql_quiet(void *arg, const char *message)
{
	(void)arg;
	(void)message; /* "relation exists already, skipping" */
}

static int other_shape(const char *table, const char *column, const char *is, const char *wanted,
		       struct err *err)
{
	err_set(err, -EINVAL, "table '%s' has another layout: its column %s is %s, not %s", table,
		column, is, wanted);
	err_hint(err, "name another table with --db-table");
	return err->code;
}

/* "numeric(20,0)" is NUMERIC(20,0) here; one without limits is accepted too. */
static bool postgresql_type_fits(enum column_type type, const char *is)
{
	switch (type) {
	case COLUMN_ID:
	case COLUMN_U64:
		return !strcmp(is, "numeric(20,0)") || !strcmp(is, "numeric");
	case COLUMN_ADDR:
		return !strcmp(is, "character varying(18)") || !strcmp(is, "text");
	case COLUMN_BOOL:
		return !strcmp(is, "boolean");
	case COLUMN_I64:
		return !strcmp(is, "bigint");
	case COLUMN_REAL:
		return !strcmp(is, "double precision");
	default:
		return !strcmp(is, "text");
	}
}

static int postgresql_compare_columns(const PGresult *r, const struct table *t, struct err *err)
{
	size_t i;
	int row;

	for (i = 0; i < t->nr_columns; i++) {
		const struct column *c = &t->columns[i];
		const char *is = "not there";

		for (row = 0; row < libpq.PQntuples(r); row++) {
			if (!strcmp(libpq.PQgetvalue(r, row, 0), c->name))
				is = libpq.PQgetvalue(r, row, 1);
		}
		if (!postgresql_type_fits(c->type, is))
			return other_shape(t->name, c->name, is,
					   table_type_name(DIALECT_POSTGRESQL, c->type), err);
	}
	return 0;
}

static int postgresql_check_shape(struct pg_state *s, const struct table *t, struct err *err)
{
	const char *values[] = { t->name };
	PGresult *r = libpq.PQexecParams(
		s->conn,
		"SELECT a.attname, format_type(a.atttypid, a.atttypmod)"
		" FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
		" JOIN pg_namespace n ON n.oid = c.relnamespace"
		" WHERE n.nspname = 'public' AND c.relname = $1"
		" AND a.attnum > 0 AND NOT a.attisdropped",
		1, NULL, values, NULL, NULL, 0);
	int rc;

	if (libpq.PQresultStatus(r) != PGRES_TUPLES_OK)
		rc = postgresql_set_failed("cannot query the table", libpq.PQerrorMessage(s->conn),
					   err);
	else
		rc = postgresql_compare_columns(r, t, err);
	libpq.PQclear(r);
	return rc;
}

static int postgresql_make_table(struct pg_state *s, const struct table *t, struct err *err)
{
	struct sql sql;
	int rc;

	if (sql_begin(&sql))
		table_put_create(sql.out, DIALECT_POSTGRESQL, t, false);
	rc = postgresql_run(s->conn, sql_end(&sql), PGRES_COMMAND_OK, "cannot make the table", err);
	return rc < 0 ? rc : postgresql_check_shape(s, t, err);
}

static int postgresql_make_tables(struct pg_state *s, const struct sink_job *job, struct err *err)
{
	size_t t;
	int rc = 0;

	for (t = 0; !rc && t < job->nr_tables; t++)
		rc = postgresql_make_table(s, &job->tables[t], err);
	return rc;
}

/* The columns of each index of the table, "probe_id, seq": index names do not identify them. */
static PGresult *postgresql_list_indexes(struct pg_state *s, const struct table *t)
{
	const char *values[] = { t->name };

	return libpq.PQexecParams(
		s->conn,
		"SELECT string_agg(a.attname, ', ' ORDER BY k.nr)"
		" FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid"
		" JOIN pg_namespace n ON n.oid = c.relnamespace,"
		" unnest(i.indkey) WITH ORDINALITY k(att, nr), pg_attribute a"
		" WHERE n.nspname = 'public' AND c.relname = $1"
		" AND a.attrelid = c.oid AND a.attnum = k.att GROUP BY i.indexrelid",
		1, NULL, values, NULL, NULL, 0);
}

static bool postgresql_has_index(const PGresult *r, const char *columns)
{
	int row;

	for (row = 0; row < libpq.PQntuples(r); row++) {
		if (!strcmp(libpq.PQgetvalue(r, row, 0), columns))
			return true;
	}
	return false;
}

static int postgresql_make_indexes(struct pg_state *s, const struct table *t, struct err *err)
{
	PGresult *there = postgresql_list_indexes(s, t);
	const char *const *columns;
	int rc = 0;

	if (libpq.PQresultStatus(there) != PGRES_TUPLES_OK)
		rc = postgresql_set_failed("cannot query the indexes",
					   libpq.PQerrorMessage(s->conn), err);
	for (columns = t->indexes; !rc && *columns; columns++) {
		struct sql sql;

		if (postgresql_has_index(there, *columns))
			continue;
		if (sql_begin(&sql))
			table_put_index(sql.out, DIALECT_POSTGRESQL, t, *columns);
		rc = postgresql_run(s->conn, sql_end(&sql), PGRES_COMMAND_OK,
				    "cannot make an index", err);
	}
	libpq.PQclear(there);
	return rc;
}

/* ---- COPY ---------------------------------------------------------------- */

/* Reports the error of the server, or of the connection if it is closed. */
static int copy_failed(struct pg_state *s, struct err *err)
{
	PGresult *r;
	bool said = false;

	libpq.PQputCopyEnd(s->conn, "the export failed");
	while ((r = libpq.PQgetResult(s->conn))) {
		if (libpq.PQresultStatus(r) == PGRES_FATAL_ERROR && !said) {
			postgresql_set_failed("the load failed", libpq.PQresultErrorMessage(r),
					      err);
			said = true;
		}
		libpq.PQclear(r);
		if (libpq.PQstatus(s->conn) == CONNECTION_BAD)
			break;
	}
	if (!said)
		postgresql_set_failed("the load failed", libpq.PQerrorMessage(s->conn), err);
	err_hint(err, "nothing of it is in the database");
	return err->code;
}

static int send_bytes(struct pg_state *s, const void *data, size_t size, struct err *err)
{
	return libpq.PQputCopyData(s->conn, data, (int)size) == 1 ? 0 : copy_failed(s, err);
}

static int postgresql_begin_copy(struct pg_state *s, const struct table *t, struct err *err)
{
	struct sql sql;
	int rc;

	if (sql_begin(&sql)) {
		fputs("COPY ", sql.out);
		table_put_name(sql.out, DIALECT_POSTGRESQL, t);
		fputs(" (", sql.out);
		table_put_columns(sql.out, DIALECT_POSTGRESQL, t);
		fputs(") FROM STDIN BINARY", sql.out);
	}
	rc = postgresql_run(s->conn, sql_end(&sql), PGRES_COPY_IN, "cannot load", err);
	if (rc < 0)
		return rc;
	return send_bytes(s, copy_binary_head, sizeof(copy_binary_head), err);
}

static int end_copy(struct pg_state *s, struct err *err)
{
	PGresult *r;
	int rc = send_bytes(s, copy_binary_tail, sizeof(copy_binary_tail), err);

	if (rc < 0)
		return rc;
	if (libpq.PQputCopyEnd(s->conn, NULL) != 1)
		return copy_failed(s, err);
	while ((r = libpq.PQgetResult(s->conn))) {
		if (libpq.PQresultStatus(r) != PGRES_COMMAND_OK && !rc) {
			rc = postgresql_set_failed("the load failed", libpq.PQerrorMessage(s->conn),
						   err);
			err_hint(err, "nothing of it is in the database");
		}
		libpq.PQclear(r);
		if (libpq.PQstatus(s->conn) == CONNECTION_BAD)
			break;
	}
	return rc;
}

static int send_rows(struct pg_state *s, struct err *err)
{
	int rc = send_bytes(s, s->bytes.data, s->bytes.size, err);

	s->bytes.size = 0;
	return rc;
}

/* Loads a table whose rows were spooled. */
static int postgresql_copy_spool(struct pg_state *s, const struct table *t, struct row_spool *spool,
				 struct err *err)
{
	int rc = postgresql_begin_copy(s, t, err);
	int64_t got;

	while (!rc && (got = row_spool_read(spool, s->bytes.data, SEND_AT)) != 0) {
		if (got < 0)
			return err_set(err, (int)got, "cannot read a temporary file: %s",
				       strerror((int)-got));
		rc = send_bytes(s, s->bytes.data, (size_t)got, err);
	}
	return rc ? rc : end_copy(s, err);
}

/* ---- the sink ------------------------------------------------------------ */

static int pg_row(struct sink_job *job, size_t table, const struct cell *cells, struct err *err)
{
	struct pg_state *s = job->state;

	if (!copy_row_binary(&s->spools[table].bytes, &job->tables[table], cells))
		return err_set(err, -ENOMEM, "no memory for a row");
	return row_spool_settle(&s->spools[table], err);
}

static int pg_item(struct sink_job *job, const struct trace_item *item, struct err *err)
{
	struct pg_state *s = job->state;
	char *at = (char *)s->bytes.data + s->bytes.size; /* postgresql_begin() made room for it */

	if (item->type != TRACE_ITEM_EVENT || !trace_is_transition(&item->event))
		return 0;
	s->bytes.size += (size_t)(copy_event_binary(at, &item->event) - at);
	job->rows++;
	return s->bytes.size >= SEND_AT ? send_rows(s, err) : 0;
}

static void pg_close(struct sink_job *job)
{
	struct pg_state *s = job->state;
	size_t t;

	libpq.PQfinish(s->conn); /* the server rolls back what is not committed */
	for (t = 0; s->spools && t < job->nr_tables; t++)
		row_spool_release(&s->spools[t]);
	free(s->spools);
	bytes_release(&s->bytes);
	free(s);
}

static int postgresql_begin(struct sink_job *job, struct err *err)
{
	struct pg_state *s = job->state;
	int rc;

	s->spools = calloc(job->nr_tables, sizeof(*s->spools));
	if (!s->spools || !bytes_room(&s->bytes, SEND_AT + COPY_EVENT_MAX))
		return err_set(err, -ENOMEM, "no memory for rows");
	rc = postgresql_connect_server(s, job->options, err);
	if (rc < 0)
		return rc;
	libpq.PQsetNoticeProcessor(s->conn, postgresql_quiet, NULL);
	rc = postgresql_command(s, "BEGIN", err);
	if (!rc)
		rc = postgresql_make_tables(s, job, err);
	if (!rc && !job->recording)
		rc = postgresql_begin_copy(s, &job->tables[TABLE_EVENTS], err);
	return rc;
}

static int pg_open(struct sink_job *job, struct err *err)
{
	int rc = libpq_load(err);

	if (rc < 0)
		return rc;
	job->state = calloc(1, sizeof(struct pg_state));
	if (!job->state)
		return err_set(err, -ENOMEM, "no memory for a connection");
	rc = postgresql_begin(job, err);
	if (rc < 0)
		pg_close(job);
	return rc;
}

static int load_all(struct sink_job *job, struct err *err)
{
	struct pg_state *s = job->state;
	size_t t;
	int rc = 0;

	for (t = 0; !rc && t < job->nr_tables; t++) {
		if (job->recording || t != TABLE_EVENTS)
			rc = postgresql_copy_spool(s, &job->tables[t], &s->spools[t], err);
		else if (!(rc = send_rows(s, err)))
			rc = end_copy(s, err);
		if (!rc)
			rc = postgresql_make_indexes(s, &job->tables[t], err);
	}
	return rc;
}

/* A connection that is lost here leaves open whether the server has committed. */
static int commit_all(struct pg_state *s, struct err *err)
{
	int rc = postgresql_command(s, "COMMIT", err);

	if (rc < 0 && !is_connected(s->conn))
		err_hint(err, "the server has either all rows or none: look before another export");
	return rc;
}

static int pg_commit(struct sink_job *job, struct err *err)
{
	struct pg_state *s = job->state;
	int rc = load_all(job, err);

	if (!rc)
		rc = commit_all(s, err);
	if (!rc)
		snprintf(job->note, sizeof(job->note), "in %.60s, %.60s", libpq.PQdb(s->conn),
			 job->tables[0].name);
	return rc;
}

const struct sink sink_postgresql = {
	.name = "postgresql",
	.alias = "postgres",
	.about = "tables of a PostgreSQL server",
	.is_database = true,
	.name_max = 63,
	.client = &client_postgresql,
	.open = pg_open,
	.item = pg_item,
	.row = pg_row,
	.commit = pg_commit,
	.close = pg_close,
};
