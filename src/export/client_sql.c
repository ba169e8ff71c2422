/* SPDX-License-Identifier: MIT */
/*
 * client_sql.c - the scripts for sqlite3, psql and mysql.
 *
 * Each script ends with the COMMIT and a word that the client prints: a command that exits with
 * status 0 and does not print the word is not a database client.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_file.h"
#include "export/client.h"
#include "export/copy_rows.h"
#include "export/row_spool.h"
#include "export/inserts.h"
#include "base/io.h"

struct client_state {
	struct client client;
	enum dialect dialect;
	struct inserts inserts;   /* sqlite3, mysql */
	struct row_spool *spools; /* psql: COPY loads one table after the other */
	struct outfile file;      /* sqlite3 */
};

static const char *client_sql_database_of(const struct export_options *o)
{
	return o->database ? o->database : TABLES_DATABASE;
}

static int client_sql_no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "no memory for a script");
}

/* ---- the script ---------------------------------------------------------- */

/* Frees @text. */
static int put_freed(struct client_state *s, char *text, struct err *err)
{
	bool good = text && bytes_put(&s->client.bytes, text, strlen(text));

	free(text);
	return good ? client_settle(&s->client, false, err) : client_sql_no_memory(err);
}

static int client_sql_put_text(struct client_state *s, const char *text, struct err *err)
{
	return put_freed(s, strdup(text), err);
}

static int put_tables(struct client_state *s, const struct sink_job *job, struct err *err)
{
	struct sql sql;
	size_t t;

	if (sql_begin(&sql)) {
		for (t = 0; t < job->nr_tables; t++) {
			table_put_create(sql.out, s->dialect, &job->tables[t],
					 s->dialect == DIALECT_MYSQL);
			fputs(";\n", sql.out);
		}
	}
	return put_freed(s, sql_end(&sql), err);
}

static int put_indexes(struct client_state *s, const struct sink_job *job, struct err *err)
{
	const char *const *columns;
	struct sql sql;
	size_t t;

	if (s->dialect == DIALECT_MYSQL)
		return 0; /* its tables are created with them */
	if (sql_begin(&sql)) {
		for (t = 0; t < job->nr_tables; t++) {
			for (columns = job->tables[t].indexes; *columns; columns++) {
				table_put_index(sql.out, s->dialect, &job->tables[t], *columns);
				fputs(";\n", sql.out);
			}
		}
	}
	return put_freed(s, sql_end(&sql), err);
}

/* ---- psql: COPY ---------------------------------------------------------- */

static int client_sql_begin_copy(struct client_state *s, const struct table *t, struct err *err)
{
	struct sql sql;

	if (sql_begin(&sql)) {
		fputs("COPY ", sql.out);
		table_put_name(sql.out, s->dialect, t);
		fputs(" (", sql.out);
		table_put_columns(sql.out, s->dialect, t);
		fputs(") FROM STDIN;\n", sql.out);
	}
	return put_freed(s, sql_end(&sql), err);
}

static int client_sql_copy_spool(struct client_state *s, const struct table *t,
				 struct row_spool *spool, struct err *err)
{
	char part[4096];
	int64_t got;
	int rc = client_sql_begin_copy(s, t, err);

	while (!rc && (got = row_spool_read(spool, part, sizeof(part))) != 0) {
		if (got < 0)
			return err_set(err, (int)got, "cannot read a temporary file: %s",
				       strerror((int)-got));
		if (!bytes_put(&s->client.bytes, part, (size_t)got))
			return client_sql_no_memory(err);
		rc = client_settle(&s->client, false, err);
	}
	return rc ? rc : client_sql_put_text(s, "\\.\n", err);
}

/* ---- rows ---------------------------------------------------------------- */

static int client_sql_send_insert(void *to, const char *sql, size_t size, struct err *err)
{
	struct client_state *s = to;

	if (!bytes_put(&s->client.bytes, sql, size) || !bytes_put(&s->client.bytes, ";\n", 2))
		return client_sql_no_memory(err);
	return client_settle(&s->client, false, err);
}

static int client_row(struct sink_job *job, size_t table, const struct cell *cells, struct err *err)
{
	struct client_state *s = job->state;

	if (s->dialect != DIALECT_POSTGRESQL)
		return inserts_row(&s->inserts, table, cells, err);
	if (!copy_row_text(&s->spools[table].bytes, s->dialect, &job->tables[table], cells))
		return client_sql_no_memory(err);
	return row_spool_settle(&s->spools[table], err);
}

static int put_copied(struct client_state *s, const struct trace_event *ev, struct err *err)
{
	char *p = bytes_room(&s->client.bytes, COPY_EVENT_MAX);

	if (!p)
		return client_sql_no_memory(err);
	s->client.bytes.size += (size_t)(copy_event_text(p, ev) - p);
	return client_settle(&s->client, false, err);
}

static int client_item(struct sink_job *job, const struct trace_item *item, struct err *err)
{
	struct client_state *s = job->state;

	if (item->type != TRACE_ITEM_EVENT || !trace_is_transition(&item->event))
		return 0;
	job->rows++;
	return s->dialect == DIALECT_POSTGRESQL ? put_copied(s, &item->event, err)
						: inserts_event(&s->inserts, &item->event, err);
}

/* ---- opening ------------------------------------------------------------- */

static void client_sink_close(struct sink_job *job)
{
	struct client_state *s = job->state;
	size_t t;

	client_close(&s->client);
	outfile_close(&s->file);
	for (t = 0; s->spools && t < job->nr_tables; t++)
		row_spool_release(&s->spools[t]);
	free(s->spools);
	inserts_release(&s->inserts);
	free(s);
}

static int make_state(struct sink_job *job, enum dialect dialect, struct err *err)
{
	struct client_state *s = calloc(1, sizeof(*s));

	if (!s)
		return client_sql_no_memory(err);
	job->state = s;
	s->dialect = dialect;
	s->client.input = s->client.output = -1;
	s->inserts = (struct inserts){
		.dialect = dialect,
		.tables = job->tables,
		.nr_tables = job->nr_tables,
		.guard = dialect == DIALECT_SQLITE && !job->options->exact_text,
		.send = client_sql_send_insert,
		.to = s,
	};
	s->spools = calloc(job->nr_tables, sizeof(*s->spools));
	return s->spools && inserts_init(&s->inserts) == 0 ? 0 : client_sql_no_memory(err);
}

typedef int client_begin(struct sink_job *job, struct client_state *s, struct err *err);

static int open_with(struct sink_job *job, enum dialect dialect, client_begin *begin,
		     struct err *err)
{
	int rc = make_state(job, dialect, err);

	if (!rc)
		rc = begin(job, job->state, err);
	if (rc < 0 && job->state)
		client_sink_close(job);
	return rc;
}

static int client_sql_start(struct sink_job *job, struct client_args *args, const char *variable,
			    struct err *err)
{
	struct client_state *s = job->state;
	int rc = client_start(&s->client, job->options->cli, args, variable, job->options->password,
			      err);

	client_args_release(args);
	return rc;
}

static const char *port_text(const struct export_options *o, char text[16])
{
	snprintf(text, 16, "%u", o->port);
	return o->port ? text : NULL;
}

static int begin_sqlite(struct sink_job *job, struct client_state *s, struct err *err)
{
	struct client_args args = { .nr = 0 };
	int rc = outfile_reserve(&s->file, job->output, err);

	if (rc < 0)
		return rc;
	client_arg(&args, "-bail", "");
	client_arg(&args, "-batch", "");
	client_arg(&args, "", s->file.temporary);
	rc = client_sql_start(job, &args, NULL, err);
	if (!rc)
		rc = client_sql_put_text(
			s, "PRAGMA journal_mode = OFF;\nPRAGMA synchronous = OFF;\nBEGIN;\n", err);
	return rc ? rc : put_tables(s, job, err);
}

static int begin_mysql(struct sink_job *job, struct client_state *s, struct err *err)
{
	const struct export_options *o = job->options;
	struct client_args args = { .nr = 0 };
	struct sql sql;
	char port[16];
	int rc;

	client_arg(&args, "--batch", "");
	client_arg(&args, "--default-character-set=", "utf8mb4");
	if (!o->mysql_socket) {
		client_arg(&args, "--host=", o->host);
		client_arg(&args, "--port=", port_text(o, port));
	}
	client_arg(&args, "--socket=", o->mysql_socket);
	client_arg(&args, "--user=", o->user);
	rc = client_sql_start(job, &args, "MYSQL_PWD", err);
	if (rc < 0)
		return rc;
	if (sql_begin(&sql)) {
		fputs("SET SESSION sql_mode = 'STRICT_ALL_TABLES';\nCREATE DATABASE IF NOT EXISTS ",
		      sql.out);
		table_put_quoted(sql.out, s->dialect, client_sql_database_of(o));
		fputs(";\nUSE ", sql.out);
		table_put_quoted(sql.out, s->dialect, client_sql_database_of(o));
		fputs(";\n", sql.out);
	}
	rc = put_freed(s, sql_end(&sql), err);
	if (!rc)
		rc = put_tables(s, job, err);
	return rc ? rc : client_sql_put_text(s, "START TRANSACTION;\n", err);
}

/* A variable of psql: quotes in a name are harmless there. */
#define GOAL "corotracer_goal"

/* A value of a conninfo string, or of SQL with @quote_only. */
static void client_sql_put_value(FILE *out, const char *text, bool quote_only)
{
	putc('\'', out);
	for (; *text; text++) {
		if (*text == '\'')
			putc(quote_only ? '\'' : '\\', out);
		if (*text == '\\' && !quote_only)
			putc('\\', out);
		putc(*text, out);
	}
	putc('\'', out);
}

/* "dbname='x' sslmode='disable'": reaches psql through any wrapper command. */
static char *client_sql_conninfo(const struct export_options *o, const char *database)
{
	struct sql sql;

	if (sql_begin(&sql)) {
		fputs("dbname=", sql.out);
		client_sql_put_value(sql.out, database, false);
		if (o->pg_sslmode) {
			fputs(" sslmode=", sql.out);
			client_sql_put_value(sql.out, o->pg_sslmode, false);
		}
	}
	return sql_end(&sql);
}

/* Creates the database if it is missing; the script then connects psql to it. */
static int put_pg_database(struct client_state *s, const char *database, struct err *err)
{
	struct sql sql, create;
	char *created;

	if (sql_begin(&create)) {
		fputs("CREATE DATABASE ", create.out);
		table_put_quoted(create.out, s->dialect, database);
	}
	created = sql_end(&create);
	if (!created)
		return client_sql_no_memory(err);
	if (sql_begin(&sql)) {
		fputs("SET client_min_messages = warning;\nSET standard_conforming_strings = on;\n"
		      "SELECT ",
		      sql.out);
		client_sql_put_value(sql.out, created, true);
		fputs(" WHERE NOT EXISTS (SELECT 1 FROM pg_database WHERE datname = ", sql.out);
		client_sql_put_value(sql.out, database, true);
		fputs(") \\gexec\n\\connect -reuse-previous=on :" GOAL "\n"
		      "SET client_min_messages = warning;\nSET client_encoding = 'UTF8';\nBEGIN;\n",
		      sql.out);
	}
	free(created);
	return put_freed(s, sql_end(&sql), err);
}

/* The same for \connect, which reads its argument as an identifier first. */
static char *quoted_conninfo(const struct export_options *o, const char *database)
{
	char *info = client_sql_conninfo(o, database);
	struct sql sql;

	if (!info)
		return NULL;
	if (sql_begin(&sql))
		table_put_quoted(sql.out, DIALECT_POSTGRESQL, info);
	free(info);
	return sql_end(&sql);
}

static int begin_psql(struct sink_job *job, struct client_state *s, struct err *err)
{
	const struct export_options *o = job->options;
	const char *by = o->pg_maintenance_db ? o->pg_maintenance_db : "postgres";
	struct client_args args = { .nr = 0 };
	char port[16], *info = client_sql_conninfo(o, by),
		       *goal = quoted_conninfo(o, client_sql_database_of(o));
	int rc;

	client_arg(&args, "--no-psqlrc", "");
	client_arg(&args, "--quiet", "");
	client_arg(&args, "--no-password", "");
	client_arg(&args, "--set=", "ON_ERROR_STOP=1");
	client_arg(&args, "--host=", o->host);
	client_arg(&args, "--port=", port_text(o, port));
	client_arg(&args, "--username=", o->user);
	client_arg(&args, "--dbname=", info);
	client_arg(&args, "--set=" GOAL "=", goal);
	args.failed |= !info || !goal;
	free(info);
	free(goal);
	rc = client_sql_start(job, &args, "PGPASSWORD", err);
	if (!rc)
		rc = put_pg_database(s, client_sql_database_of(o), err);
	if (!rc)
		rc = put_tables(s, job, err);
	return rc || job->recording ? rc
				    : client_sql_begin_copy(s, &job->tables[TABLE_EVENTS], err);
}

/* ---- the end ------------------------------------------------------------- */

#define DONE "corotracer-export-done"

static int end_rows(struct client_state *s, const struct sink_job *job, struct err *err)
{
	size_t t = job->recording ? 0 : 1; /* the events are there already */
	int rc = 0;

	if (s->dialect != DIALECT_POSTGRESQL)
		return inserts_flush(&s->inserts, err);
	if (!job->recording)
		rc = client_sql_put_text(s, "\\.\n", err);
	for (; !rc && t < job->nr_tables; t++)
		rc = client_sql_copy_spool(s, &job->tables[t], &s->spools[t], err);
	return rc;
}

static int check_done(struct client_state *s, struct err *err)
{
	char text[512] = "";
	off_t end = lseek(s->client.output, 0, SEEK_END);
	off_t from = end > (off_t)sizeof(text) - 1 ? end - ((off_t)sizeof(text) - 1) : 0;
	ssize_t got = end > 0 ? io_pread(s->client.output, text, sizeof(text) - 1, from) : 0;

	if (got > 0 && memmem(text, (size_t)got, DONE, strlen(DONE)))
		return 0;
	err_set(err, -EIO, "'%s' ended well, but does not say that it loaded anything",
		s->client.command);
	err_hint(err, "--db-cli names the database's own client: psql, mysql, sqlite3");
	return err->code;
}

static int client_commit(struct sink_job *job, struct err *err)
{
	struct client_state *s = job->state;
	int rc = end_rows(s, job, err);

	if (!rc)
		rc = put_indexes(s, job, err);
	if (!rc)
		rc = client_sql_put_text(s, "COMMIT;\nSELECT '" DONE "';\n", err);
	if (!rc)
		rc = client_settle(&s->client, true, err);
	if (!rc)
		rc = client_finish(&s->client, err);
	if (!rc)
		rc = check_done(s, err);
	if (!rc && s->file.path)
		rc = outfile_commit(&s->file, err);
	if (!rc)
		snprintf(job->note, sizeof(job->note), "through %.120s", s->client.command);
	return rc;
}

static void client_drop(struct sink_job *job)
{
	struct client_state *s = job->state;

	outfile_drop(&s->file);
}

static int open_sqlite(struct sink_job *job, struct err *err)
{
	return open_with(job, DIALECT_SQLITE, begin_sqlite, err);
}

static int open_mysql(struct sink_job *job, struct err *err)
{
	return open_with(job, DIALECT_MYSQL, begin_mysql, err);
}

static int open_psql(struct sink_job *job, struct err *err)
{
	return open_with(job, DIALECT_POSTGRESQL, begin_psql, err);
}

#define CLIENT_SINK(opens)                                                            \
	.is_database = true, .open = (opens), .item = client_item, .row = client_row, \
	.commit = client_commit, .close = client_sink_close, .drop = client_drop

const struct sink client_sqlite = { .name = "sqlite",
				    .suffix = ".sqlite",
				    CLIENT_SINK(open_sqlite) };
const struct sink client_mysql = { .name = "mysql", .name_max = 64, CLIENT_SINK(open_mysql) };
const struct sink client_postgresql = { .name = "postgresql",
					.name_max = 63,
					CLIENT_SINK(open_psql) };
