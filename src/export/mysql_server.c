/* SPDX-License-Identifier: MIT */
/* mysql_server.c - connection, database and tables of an export to MySQL. */
#include "export/mysql_server.h"

#include <errno.h>
#include <errmsg.h>
#include <mysqld_error.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CONNECT_SECONDS 10

int mysql_server_failed(struct mysql_server *m, const char *what, struct err *err)
{
	return err_set(err, -EIO, "%s: %s", what, libmariadb.mysql_error(m->conn));
}

int mysql_server_run(struct mysql_server *m, char *sql, const char *what, struct err *err)
{
	int rc = 0;

	if (!sql)
		return err_set(err, -ENOMEM, "no memory for a statement");
	if (libmariadb.mysql_query(m->conn, sql) != 0)
		rc = mysql_server_failed(m, what, err);
	free(sql);
	return rc;
}

/* Runs a query and returns its result.  NULL: it failed, and @err is set. */
static MYSQL_RES *mysql_server_ask(struct mysql_server *m, char *sql, struct err *err)
{
	MYSQL_RES *r;

	if (mysql_server_run(m, sql, "cannot query the server", err) < 0)
		return NULL;
	r = libmariadb.mysql_store_result(m->conn);
	if (!r)
		mysql_server_failed(m, "cannot query the server", err);
	return r;
}

/* ---- connection ---------------------------------------------------------- */

static int mysql_server_connect_server(struct mysql_server *m, const struct export_options *o,
				       struct err *err)
{
	const char *password = o->password ? o->password : getenv("MYSQL_PWD");
	const char *host = o->mysql_socket ? "localhost" : o->host;
	unsigned local = 1, seconds = CONNECT_SECONDS;

	m->conn = libmariadb.mysql_init(NULL);
	/* ~/.my.cnf supplies options that are not given here. */
	if (!m->conn || libmariadb.mysql_options(m->conn, MYSQL_READ_DEFAULT_GROUP, "corotracer") ||
	    libmariadb.mysql_options(m->conn, MYSQL_SET_CHARSET_NAME, "utf8mb4") ||
	    libmariadb.mysql_options(m->conn, MYSQL_OPT_LOCAL_INFILE, &local) ||
	    libmariadb.mysql_options(m->conn, MYSQL_OPT_CONNECT_TIMEOUT, &seconds))
		return err_set(err, -ENOMEM, "no memory for a connection");
	if (libmariadb.mysql_real_connect(m->conn, host, o->user, password, NULL,
					  o->mysql_socket ? 0 : o->port, o->mysql_socket, 0))
		return 0;
	mysql_server_failed(m, "cannot connect to MySQL", err);
	err_hint(err,
		 "see --db-host, --db-port, --mysql-socket, --db-user; the password: MYSQL_PWD "
		 "or ~/.my.cnf");
	return err->code;
}

/* Settings of the server or of its user must not change the meaning of values. */
static int set_session(struct mysql_server *m, struct err *err)
{
	MYSQL_RES *r;
	MYSQL_ROW row;

	if (mysql_server_run(m, strdup("SET SESSION sql_mode = 'STRICT_ALL_TABLES'"),
			     "the server refuses", err) < 0)
		return err->code;
	r = mysql_server_ask(m, strdup("SELECT @@local_infile"), err);
	if (!r)
		return err->code;
	row = libmariadb.mysql_fetch_row(r);
	m->allows_local = row && row[0] && !strcmp(row[0], "1");
	libmariadb.mysql_free_result(r);
	return 0;
}

static int choose_database(struct mysql_server *m, const char *name, struct err *err)
{
	struct sql sql;

	/* A user with access to the database may not have the right to create it. */
	if (libmariadb.mysql_select_db(m->conn, name) == 0)
		return 0;
	if (libmariadb.mysql_errno(m->conn) != ER_BAD_DB_ERROR &&
	    libmariadb.mysql_errno(m->conn) != ER_DBACCESS_DENIED_ERROR)
		return mysql_server_failed(m, "cannot use the database", err);
	if (sql_begin(&sql)) {
		fputs("CREATE DATABASE IF NOT EXISTS ", sql.out);
		table_put_quoted(sql.out, DIALECT_MYSQL, name);
	}
	if (mysql_server_run(m, sql_end(&sql), "cannot make the database", err) < 0) {
		err_hint(err, "name an existing database of yours: --db-name");
		return err->code;
	}
	return libmariadb.mysql_select_db(m->conn, name)
		       ? mysql_server_failed(m, "cannot use the database", err)
		       : 0;
}

/* ---- tables -------------------------------------------------------------- */

/* Runs the query @before 'TEXT' @after, with special characters of @text escaped. */
static MYSQL_RES *mysql_server_ask_about(struct mysql_server *m, const char *before,
					 const char *text, const char *after, struct err *err)
{
	size_t size = strlen(text);
	char *escaped = malloc(2 * size + 1), *sql = NULL;

	if (escaped) {
		libmariadb.mysql_real_escape_string(m->conn, escaped, text, size);
		if (asprintf(&sql, "%s'%s'%s", before, escaped, after) < 0)
			sql = NULL;
	}
	free(escaped);
	return mysql_server_ask(m, sql, err);
}

/* "decimal(20,0)" is DECIMAL(20,0) here, "tinyint(1)" is BOOLEAN. */
static bool mysql_server_type_fits(enum column_type type, const char *is)
{
	switch (type) {
	case COLUMN_ID:
	case COLUMN_U64:
		return !strncmp(is, "decimal(20,0)", 13) ||
		       (!strncmp(is, "bigint", 6) && strstr(is, "unsigned"));
	case COLUMN_ADDR:
		return !strcmp(is, "varchar(18)") || !strcmp(is, "text");
	case COLUMN_BOOL:
		return !strncmp(is, "tinyint", 7);
	case COLUMN_I64:
		return !strncmp(is, "bigint", 6) && !strstr(is, "unsigned");
	case COLUMN_REAL:
		return !strcmp(is, "double");
	default:
		return strstr(is, "text") != NULL;
	}
}

static int mysql_server_compare_columns(MYSQL_RES *r, const struct table *t, struct err *err)
{
	size_t i;

	for (i = 0; i < t->nr_columns; i++) {
		const struct column *c = &t->columns[i];
		const char *is = "not there";
		MYSQL_ROW row;

		libmariadb.mysql_data_seek(r, 0);
		while ((row = libmariadb.mysql_fetch_row(r))) {
			if (!strcasecmp(row[0], c->name))
				is = row[1];
		}
		if (mysql_server_type_fits(c->type, is))
			continue;
		err_set(err, -EINVAL, "table '%s' has another layout: its column %s is %s, not %s",
			t->name, c->name, is, table_type_name(DIALECT_MYSQL, c->type));
		err_hint(err, "name another table with --db-table");
		return err->code;
	}
	return 0;
}

/* Returns 1: the table exists with the right columns; 0: it does not exist; negative: an error. */
static int look_at_table(struct mysql_server *m, const struct table *t, struct err *err)
{
	MYSQL_RES *r = mysql_server_ask_about(
		m,
		"SELECT COLUMN_NAME, COLUMN_TYPE FROM information_schema.COLUMNS"
		" WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ",
		t->name, "", err);
	int rc;

	if (!r)
		return err->code;
	rc = libmariadb.mysql_num_rows(r) ? mysql_server_compare_columns(r, t, err) : 0;
	if (!rc)
		rc = libmariadb.mysql_num_rows(r) > 0;
	libmariadb.mysql_free_result(r);
	return rc;
}

static int mysql_server_make_table(struct mysql_server *m, const struct table *t, struct err *err)
{
	struct sql sql;
	int rc = look_at_table(m, t, err);

	if (rc)
		return rc < 0 ? rc : 0;
	if (sql_begin(&sql))
		table_put_create(sql.out, DIALECT_MYSQL, t, false);
	return mysql_server_run(m, sql_end(&sql), "cannot make the table", err);
}

static int mysql_server_make_tables(struct mysql_server *m, const struct sink_job *job,
				    struct err *err)
{
	size_t t;
	int rc = 0;

	for (t = 0; !rc && t < job->nr_tables; t++)
		rc = mysql_server_make_table(m, &job->tables[t], err);
	return rc;
}

/* ---- indexes ------------------------------------------------------------- */

static bool mysql_server_has_index(MYSQL_RES *there, const char *columns)
{
	MYSQL_ROW row;

	libmariadb.mysql_data_seek(there, 0);
	while ((row = libmariadb.mysql_fetch_row(there))) {
		if (!strcasecmp(row[0], columns))
			return true;
	}
	return false;
}

/* The columns of each index of the table, "probe_id, seq": index names do not identify them. */
static MYSQL_RES *mysql_server_list_indexes(struct mysql_server *m, const struct table *t,
					    struct err *err)
{
	return mysql_server_ask_about(
		m,
		"SELECT GROUP_CONCAT(COLUMN_NAME ORDER BY SEQ_IN_INDEX SEPARATOR ', ')"
		" FROM information_schema.STATISTICS"
		" WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ",
		t->name, " GROUP BY INDEX_NAME", err);
}

int mysql_server_make_indexes(struct mysql_server *m, const struct table *t, struct err *err)
{
	MYSQL_RES *there = mysql_server_list_indexes(m, t, err);
	const char *const *columns;
	struct sql sql;
	bool any = false;

	if (!there)
		return err->code;
	if (sql_begin(&sql)) {
		fputs("ALTER TABLE ", sql.out);
		table_put_name(sql.out, DIALECT_MYSQL, t);
		for (columns = t->indexes; *columns; columns++) {
			if (mysql_server_has_index(there, *columns))
				continue;
			fputs(any ? ", " : " ", sql.out);
			table_put_add_index(sql.out, t, *columns);
			any = true;
		}
	}
	libmariadb.mysql_free_result(there);
	if (!any) {
		free(sql_end(&sql));
		return 0;
	}
	return mysql_server_run(m, sql_end(&sql), "cannot make an index", err);
}

/* ---- all of it ----------------------------------------------------------- */

int mysql_server_open(struct mysql_server *m, const struct sink_job *job, struct err *err)
{
	const struct export_options *o = job->options;
	int rc = mysql_server_connect_server(m, o, err);

	if (!rc)
		rc = set_session(m, err);
	if (!rc)
		rc = choose_database(m, o->database ? o->database : TABLES_DATABASE, err);
	if (!rc)
		rc = mysql_server_make_tables(m, job, err);
	return rc;
}

void mysql_server_close(struct mysql_server *m)
{
	if (m->conn)
		libmariadb.mysql_close(m->conn);
	memset(m, 0, sizeof(*m));
}
