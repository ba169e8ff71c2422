/* SPDX-License-Identifier: MIT */
/*
 * query_db.c - the database of a query: in memory, with virtual tables only, for reading.
 *
 * What a statement may do is a list: read tables and call functions.  Everything else is refused
 * when the statement is prepared: no table is created or changed, no file is attached, no extension
 * is loaded, no setting is changed.
 */
#include "query/query_db.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "query/frame_views.h"
#include "query/query_functions.h"
#include "query/query_vtab.h"

/* The longest text or blob, so that a statement cannot ask for all memory at once. */
#define QUERY_TEXT_MAX (256 << 20)

struct query_db {
	struct query *query;
	sqlite3 *db;
	char refused[160]; /* what the last statement may not do; empty: nothing */
};

/* ---- what a statement may do ----------------------------------------------------- */

static bool query_is_listed(const char *const *list, const char *name)
{
	for (; name && *list; list++) {
		if (!strcasecmp(*list, name))
			return true;
	}
	return false;
}

static int query_db_refuse(struct query_db *d, const char *what, const char *name)
{
	snprintf(d->refused, sizeof(d->refused), "%s%s%s%s", what, name ? " '" : "",
		 name ? name : "", name ? "'" : "");
	return SQLITE_DENY;
}

static int query_db_authorize(void *arg, int action, const char *first, const char *second,
			      const char *database, const char *trigger)
{
	static const char *const functions[] = { "load_extension", "fts3_tokenizer", "readfile",
						 "writefile",      "edit",           NULL };
	static const char *const pragmas[] = { "table_info",    "table_xinfo",     "table_list",
					       "function_list", "compile_options", NULL };
	struct query_db *d = arg;

	(void)database;
	(void)trigger;
	if (d->query->is_declaring)
		return SQLITE_OK;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return query_is_listed(functions, second)
			       ? query_db_refuse(d, "the function", second)
			       : SQLITE_OK;
	case SQLITE_PRAGMA:
		return query_is_listed(pragmas, first) ? SQLITE_OK
						       : query_db_refuse(d, "PRAGMA", first);
	case SQLITE_ATTACH:
	case SQLITE_DETACH:
		return query_db_refuse(d, "ATTACH and DETACH", NULL);
	case SQLITE_TRANSACTION:
	case SQLITE_SAVEPOINT:
		return query_db_refuse(d, "transactions", NULL);
	default:
		return query_db_refuse(d, "statements that create or change something", NULL);
	}
}

/* ---- opening -------------------------------------------------------------------- */

static int query_db_set_up(struct query_db *d)
{
	int rc = sqlite3_open_v2(":memory:", &d->db,
				 SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
				 NULL);

	if (rc != SQLITE_OK)
		return rc;
	/* "text" in double quotes is a name and never a text, so that a wrong name is an error. */
	sqlite3_db_config(d->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_db_config(d->db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	sqlite3_db_config(d->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite3_db_config(d->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_limit(d->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(d->db, SQLITE_LIMIT_LENGTH, QUERY_TEXT_MAX);
	rc = query_functions_register(d->db, d->query);
	if (rc == SQLITE_OK)
		rc = query_vtab_register(d->db, d->query);
	if (rc == SQLITE_OK)
		rc = frame_views_create(d->db, d->query);
	if (rc == SQLITE_OK)
		rc = sqlite3_set_authorizer(d->db, query_db_authorize, d);
	return rc;
}

struct query_db *query_db_open(struct query *q, struct err *err)
{
	struct query_db *d = calloc(1, sizeof(*d));

	if (!d) {
		err_set(err, -ENOMEM, "no memory for a query");
		return NULL;
	}
	d->query = q;
	if (query_db_set_up(d) == SQLITE_OK)
		return d;
	err_set(err, -EIO, "cannot set up SQLite: %s", d->db ? sqlite3_errmsg(d->db) : "no memory");
	query_db_close(d);
	return NULL;
}

void query_db_close(struct query_db *d)
{
	if (!d)
		return;
	sqlite3_close(d->db);
	free(d);
}

/* ---- errors --------------------------------------------------------------------- */

static void query_db_hint_tables(const struct query_db *d, struct err *err)
{
	const struct query_tables *t = &d->query->tables;
	char names[400] = "";
	size_t i, used = 0;

	for (i = 0; i < t->nr && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 t->list[i].name);
	err_hint(err, "the tables are %s", names);
}

/* The columns of the tables that @sql names. */
static void query_db_hint_columns(const struct query_db *d, const char *sql, struct err *err)
{
	const struct query_tables *t = &d->query->tables;
	char names[480] = "";
	size_t i, c, used = 0;

	for (i = 0; i < t->nr; i++) {
		if (!strcasestr(sql, t->list[i].name))
			continue;
		for (c = 0; c < t->list[i].nr_columns && used < sizeof(names) &&
			    !t->list[i].columns[c].is_hidden;
		     c++)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 c      ? ", "
						 : used ? "; "
							: "",
						 t->list[i].columns[c].name);
	}
	if (used)
		err_hint(err, "the columns are %s", names);
	else
		query_db_hint_tables(d, err);
}

static int query_db_failed(const struct query_db *d, const char *sql, int *position,
			   struct err *err)
{
	const char *text = sqlite3_errmsg(d->db);

	if (d->refused[0]) {
		err_set(err, -EPERM, "a query can only read: %s: not allowed", d->refused);
		err_hint(err, "write one SELECT; 'corotracer export sqlite' makes a database that "
			      "can be changed");
		return err->code;
	}
#if SQLITE_VERSION_NUMBER >= 3038000
	*position = sqlite3_error_offset(d->db);
#endif
	err_set(err, sqlite3_errcode(d->db) == SQLITE_NOMEM ? -ENOMEM : -EINVAL, "%s", text);
	if (strstr(text, "no such column"))
		query_db_hint_columns(d, sql, err);
	else if (strstr(text, "no such table"))
		query_db_hint_tables(d, err);
	return err->code;
}

/* ---- running -------------------------------------------------------------------- */

static int query_db_begin_output(sqlite3_stmt *st, const struct query_output *output, size_t nr,
				 struct err *err)
{
	const char **names = calloc(nr + 1, sizeof(*names));
	size_t i;
	int rc;

	if (!names)
		return err_set(err, -ENOMEM, "no memory for the columns");
	for (i = 0; i < nr; i++)
		names[i] = sqlite3_column_name(st, (int)i);
	rc = output->begin(output->to, names, nr, err);
	free(names);
	return rc;
}

static struct cell query_db_cell(sqlite3_stmt *st, int column)
{
	switch (sqlite3_column_type(st, column)) {
	case SQLITE_INTEGER:
		return (struct cell){ .kind = CELL_SIGNED, .i = sqlite3_column_int64(st, column) };
	case SQLITE_FLOAT:
		return (struct cell){ .kind = CELL_DOUBLE, .d = sqlite3_column_double(st, column) };
	case SQLITE_TEXT:
		return cell_text((const char *)sqlite3_column_text(st, column),
				 (size_t)sqlite3_column_bytes(st, column));
	case SQLITE_BLOB:
		return cell_text(sqlite3_column_blob(st, column),
				 (size_t)sqlite3_column_bytes(st, column));
	default:
		return query_null();
	}
}

static int query_db_step(struct query_db *d, sqlite3_stmt *st, const char *sql,
			 const struct query_output *output, int *position, struct err *err)
{
	size_t i, nr = (size_t)sqlite3_column_count(st);
	struct cell *cells = calloc(nr + 1, sizeof(*cells));
	int rc, step = SQLITE_ROW;

	if (!cells)
		return err_set(err, -ENOMEM, "no memory for a row");
	rc = query_db_begin_output(st, output, nr, err);
	while (rc == 0 && (step = sqlite3_step(st)) == SQLITE_ROW) {
		for (i = 0; i < nr; i++)
			cells[i] = query_db_cell(st, (int)i);
		rc = output->row(output->to, cells, nr, err);
	}
	if (rc == 0 && step != SQLITE_DONE)
		rc = query_db_failed(d, sql, position, err);
	free(cells);
	return rc;
}

/* Only the first statement is run: refuse a second one. */
static int query_db_expect_end(struct query_db *d, const char *sql, const char *tail, int *position,
			       struct err *err)
{
	sqlite3_stmt *more = NULL;
	int rc = sqlite3_prepare_v2(d->db, tail, -1, &more, NULL);

	sqlite3_finalize(more);
	if (rc == SQLITE_OK && !more)
		return 0; /* blanks and comments */
	*position = (int)(tail - sql) + (int)strspn(tail, " \t\r\n;");
	err_set(err, -EINVAL, "a second statement follows the first");
	err_hint(err, "run one statement at a time; WITH names parts of a statement");
	return err->code;
}

int query_db_run(struct query_db *d, const char *sql, const struct query_output *output,
		 int *position, struct err *err)
{
	sqlite3_stmt *st = NULL;
	const char *tail = NULL;
	int rc;

	*position = -1;
	d->refused[0] = '\0';
	if (sqlite3_prepare_v2(d->db, sql, -1, &st, &tail) != SQLITE_OK)
		return query_db_failed(d, sql, position, err);
	if (!st) {
		err_set(err, -EINVAL, "the statement is empty");
		err_hint(err, "for example: SELECT kind, count(*) FROM events GROUP BY kind");
		return err->code;
	}
	rc = query_db_expect_end(d, sql, tail, position, err);
	if (rc == 0 && (!sqlite3_stmt_readonly(st) || !sqlite3_column_count(st))) {
		query_db_refuse(d, "statements that return no rows", NULL);
		rc = query_db_failed(d, sql, position, err);
	}
	if (rc == 0)
		rc = query_db_step(d, st, sql, output, position, err);
	sqlite3_finalize(st);
	return rc;
}
