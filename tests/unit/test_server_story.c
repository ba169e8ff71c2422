/* SPDX-License-Identifier: MIT */
/*
 * test_server_story.c - what an export says to PostgreSQL and MySQL servers, statement by
 * statement, and what it makes of their refusals; compared with a golden file.
 *
 * The libraries are tables of functions; here they are the test's.
 */
#include <ctype.h>
#include <errno.h>
#include <mysqld_error.h>
#include <stdarg.h>
#include <stdbool.h>

#include "export/export.h"
#include "export/libmariadb_loader.h"
#include "export/libpq_loader.h"
#include "golden.h"
#include "text_trace.h"
#include "trace/compact_block.h"

#define ROWS_MAX 32

struct pg_conn {
	bool is_bad;
};

struct answer_row {
	char *fields[3];
};

struct pg_result {
	ExecStatusType status;
};

static FILE *story;
static struct pg_conn pg_connection;
static unsigned pg_open_connections, pg_open_results;
static struct answer_row answer[ROWS_MAX];
static unsigned nr_answer, answer_at;
static char created[4096]; /* the last CREATE TABLE */

/* What goes wrong: the calls that contain the text, after @skip of them. */
static struct {
	const char *part;
	unsigned skip, times;
} fault;
static struct {
	const char *part, *rows; /* "a|b\n" */
} reply;
static bool is_missing; /* the database */
static bool has_local;
static unsigned nr_warnings, mysql_code;
static bool is_lost; /* the connection, with the fault */

static bool is_fault(const char *text)
{
	if (!fault.part || !fault.times || !strstr(text, fault.part))
		return false;
	if (fault.skip) {
		fault.skip--;
		return false;
	}
	fault.times--;
	fprintf(story, "    refused\n");
	pg_connection.is_bad = is_lost;
	return true;
}

static void clear_answer(void)
{
	unsigned i, k;

	for (i = 0; i < nr_answer; i++)
		for (k = 0; k < 3; k++) {
			free(answer[i].fields[k]);
			answer[i].fields[k] = NULL;
		}
	nr_answer = answer_at = 0;
}

static void add_answer(const char *first, const char *second, const char *third)
{
	CHECK(nr_answer < ROWS_MAX);
	answer[nr_answer].fields[0] = strdup(first);
	answer[nr_answer].fields[1] = strdup(second);
	answer[nr_answer++].fields[2] = strdup(third);
}

/* The columns of the table that was made last, as the catalog has them. */
static void answer_columns(void)
{
	char copy[sizeof(created)], *rest = copy, *line, *at;

	snprintf(copy, sizeof(copy), "%s", created);
	strsep(&rest, "\n");
	while ((line = strsep(&rest, "\n")) && line[0] == ' ') {
		char name[64], type[64];

		line += strspn(line, " \"");
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(line, " \""), line);
		at = strchr(line, ' ') + 1;
		if (!strncmp(at, "VARCHAR", 7))
			snprintf(type, sizeof(type), "character varying(18)");
		else if (!strncmp(at, "DOUBLE", 6))
			snprintf(type, sizeof(type), "double precision");
		else
			snprintf(type, sizeof(type), "%.*s",
				 (int)(strcspn(at, " ") - (at[strcspn(at, " ") - 1] == ',')), at);
		for (at = type; *at; at++)
			*at = (char)tolower((unsigned char)*at);
		add_answer(name, type, "");
	}
}

/* "a|b\nc|d\n". */
static void answer_rows(const char *rows)
{
	char *copy = strdup(rows), *rest = copy, *line;

	while ((line = strsep(&rest, "\n")) && *line) {
		char *second = strchr(line, '|');

		if (second)
			*second++ = '\0';
		add_answer(line, second ? second : "", second ? second : "");
	}
	free(copy);
}

static void answer_to(const char *text)
{
	clear_answer();
	if (reply.part && strstr(text, reply.part))
		answer_rows(reply.rows);
	else if (strstr(text, "pg_attribute a JOIN"))
		answer_columns();
	else if (strstr(text, "FROM pg_database") && !is_missing)
		add_answer("1", "", "");
	else if (strstr(text, "@@local_infile"))
		add_answer(has_local ? "1" : "0", "", "");
	else if (strstr(text, "SHOW WARNINGS"))
		add_answer("Warning", "1264", "Out of range");
}

static void tell_sql(const char *text)
{
	fprintf(story, "  %s\n", text);
	if (!strncmp(text, "CREATE TABLE", 12))
		snprintf(created, sizeof(created), "%s", text);
}

/* ---- libpq --------------------------------------------------------------------- */

static PGconn *fake_connect(const char *const *keys, const char *const *values, int expand)
{
	unsigned i;
	const char *database = "";

	CHECK_EQ(expand, 0);
	fprintf(story, "  connect");
	for (i = 0; keys[i]; i++) {
		if (values[i])
			fprintf(story, " %s=%s", keys[i], values[i]);
		if (!strcmp(keys[i], "dbname"))
			database = values[i];
	}
	fprintf(story, "\n");
	pg_open_connections++;
	pg_connection.is_bad = is_missing && strcmp(database, "postgres") != 0;
	is_fault(database);
	return &pg_connection;
}

static ConnStatusType fake_status(const PGconn *conn)
{
	return conn->is_bad ? CONNECTION_BAD : CONNECTION_OK;
}

static void fake_finish(PGconn *conn)
{
	if (conn)
		pg_open_connections--;
}

static char *fake_message(const PGconn *conn)
{
	(void)conn;
	return (char *)"ERROR:  it went wrong\n\n";
}

static PGresult *pg_result_new(ExecStatusType status)
{
	PGresult *r = calloc(1, sizeof(*r));

	CHECK(r);
	r->status = status;
	pg_open_results++;
	return r;
}

static PGresult *fake_exec(PGconn *conn, const char *sql)
{
	(void)conn;
	tell_sql(sql);
	if (!strncmp(sql, "CREATE DATABASE", 15))
		is_missing = false;
	if (is_fault(sql))
		return pg_result_new(PGRES_FATAL_ERROR);
	return pg_result_new(strncmp(sql, "COPY", 4) ? PGRES_COMMAND_OK : PGRES_COPY_IN);
}

static PGresult *fake_exec_params(PGconn *conn, const char *sql, int nr, const Oid *types,
				  const char *const *values, const int *sizes, const int *formats,
				  int format)
{
	(void)conn;
	CHECK(nr == 1 && !types && !sizes && !formats && !format);
	fprintf(story, "  %s; $1 = %s\n", sql, values[0]);
	answer_to(sql);
	return pg_result_new(is_fault(sql) ? PGRES_FATAL_ERROR : PGRES_TUPLES_OK);
}

static void fake_clear(PGresult *r)
{
	pg_open_results--;
	free(r);
}

static ExecStatusType fake_result_status(const PGresult *r)
{
	return r->status;
}

static int fake_ntuples(const PGresult *r)
{
	(void)r;
	return (int)nr_answer;
}

static char *fake_getvalue(const PGresult *r, int row, int column)
{
	(void)r;
	return answer[row].fields[column];
}

static unsigned nr_results_left;

static int fake_put(PGconn *conn, const char *data, int size)
{
	(void)conn;
	fprintf(story, "    %d bytes, %08x\n", size, compact_crc(data, (size_t)size));
	return is_fault("put") ? -1 : 1;
}

static int fake_put_end(PGconn *conn, const char *why)
{
	(void)conn;
	fprintf(story, "    end%s%s\n", why ? ": " : "", why ? why : "");
	nr_results_left = 1;
	return is_fault("end") ? -1 : 1;
}

static PGresult *fake_get_result(PGconn *conn)
{
	(void)conn;
	if (!nr_results_left)
		return NULL;
	nr_results_left--;
	return pg_result_new(is_fault("result") ? PGRES_FATAL_ERROR : PGRES_COMMAND_OK);
}

static char *fake_result_message(const PGresult *r)
{
	(void)r;
	return (char *)"ERROR:  a row was refused\n";
}

static PQnoticeProcessor fake_notices(PGconn *conn, PQnoticeProcessor f, void *arg)
{
	(void)conn;
	f(arg, "nothing of this is told");
	return NULL;
}

static char *fake_db(const PGconn *conn)
{
	(void)conn;
	return (char *)"thedb";
}

struct libpq libpq = { .PQclear = fake_clear,
		       .PQconnectdbParams = fake_connect,
		       .PQdb = fake_db,
		       .PQerrorMessage = fake_message,
		       .PQexec = fake_exec,
		       .PQexecParams = fake_exec_params,
		       .PQfinish = fake_finish,
		       .PQgetResult = fake_get_result,
		       .PQgetvalue = fake_getvalue,
		       .PQntuples = fake_ntuples,
		       .PQputCopyData = fake_put,
		       .PQputCopyEnd = fake_put_end,
		       .PQresultErrorMessage = fake_result_message,
		       .PQresultStatus = fake_result_status,
		       .PQsetNoticeProcessor = fake_notices,
		       .PQstatus = fake_status };

int libpq_load(struct err *err)
{
	(void)err;
	return 0;
}

/* ---- libmariadb ------------------------------------------------------------------ */

static MYSQL mysql_connection;
static MYSQL_RES mysql_result;
static int (*infile_begin)(void **, const char *, void *);
static int (*infile_read)(void *, char *, unsigned);
static void (*infile_done)(void *);
static int (*infile_why)(void *, char *, unsigned);
static void *infile_from;

static MYSQL *fake_init(MYSQL *m)
{
	CHECK(!m);
	return &mysql_connection;
}

static int fake_options(MYSQL *m, enum mysql_option option, const void *value)
{
	(void)m;
	if (option == MYSQL_OPT_LOCAL_INFILE || option == MYSQL_OPT_CONNECT_TIMEOUT)
		fprintf(story, "  option %d = %u\n", (int)option, *(const unsigned *)value);
	else
		fprintf(story, "  option %d = %s\n", (int)option, (const char *)value);
	return 0;
}

static const char *or_none(const char *text)
{
	return text ? text : "-";
}

static MYSQL *fake_real_connect(MYSQL *m, const char *host, const char *user, const char *password,
				const char *database, unsigned port, const char *socket,
				unsigned long flags)
{
	fprintf(story, "  connect %s %s %s %s %u %s %lu\n", or_none(host), or_none(user),
		or_none(password), or_none(database), port, or_none(socket), flags);
	return is_fault("connect") ? NULL : m;
}

static void fake_close(MYSQL *m)
{
	(void)m;
	fprintf(story, "  close\n");
}

static unsigned fake_errno(MYSQL *m)
{
	(void)m;
	return mysql_code;
}

static const char *fake_error(MYSQL *m)
{
	(void)m;
	return "it went wrong";
}

static int fake_select_db(MYSQL *m, const char *name)
{
	(void)m;
	fprintf(story, "  use %s\n", name);
	return is_fault("use");
}

/* The server reads the rows in small pieces. */
static int fake_infile(void)
{
	char piece[33], why[64] = "";
	void *handle = NULL;
	int size;

	CHECK_EQ(infile_begin(&handle, "/etc/passwd", infile_from), 0);
	while ((size = infile_read(handle, piece, sizeof(piece) - 1)) > 0)
		fprintf(story, "%.*s", size, piece);
	if (size < 0) {
		infile_why(handle, why, sizeof(why));
		fprintf(story, "    %s\n", why);
	}
	infile_done(handle);
	return size < 0;
}

static int fake_query(MYSQL *m, const char *sql)
{
	(void)m;
	tell_sql(sql);
	answer_to(sql);
	if (is_fault(sql))
		return 1;
	return strncmp(sql, "LOAD DATA", 9) ? 0 : fake_infile();
}

static int fake_real_query(MYSQL *m, const char *sql, unsigned long size)
{
	(void)m;
	fprintf(story, "  %.*s\n", (int)size, sql);
	return is_fault("real query");
}

static MYSQL_RES *fake_store(MYSQL *m)
{
	(void)m;
	return is_fault("store") ? NULL : &mysql_result;
}

static MYSQL_ROW fake_fetch(MYSQL_RES *r)
{
	(void)r;
	return answer_at < nr_answer ? answer[answer_at++].fields : NULL;
}

static void fake_seek(MYSQL_RES *r, unsigned long long row)
{
	(void)r;
	answer_at = (unsigned)row;
}

static unsigned long long fake_num_rows(MYSQL_RES *r)
{
	(void)r;
	return nr_answer;
}

static void fake_free_result(MYSQL_RES *r)
{
	CHECK(r == &mysql_result);
}

static unsigned long fake_escape(MYSQL *m, char *to, const char *from, unsigned long size)
{
	(void)m;
	memcpy(to, from, size + 1);
	return size;
}

static void fake_handler(MYSQL *m, int (*begin)(void **, const char *, void *),
			 int (*more)(void *, char *, unsigned), void (*done)(void *),
			 int (*why)(void *, char *, unsigned), void *from)
{
	(void)m;
	infile_begin = begin;
	infile_read = more;
	infile_done = done;
	infile_why = why;
	infile_from = from;
}

static void fake_thread_end(void)
{
}

static unsigned fake_warnings(MYSQL *m)
{
	(void)m;
	return nr_warnings;
}

struct libmariadb libmariadb = { .mysql_close = fake_close,
				 .mysql_data_seek = fake_seek,
				 .mysql_errno = fake_errno,
				 .mysql_error = fake_error,
				 .mysql_fetch_row = fake_fetch,
				 .mysql_free_result = fake_free_result,
				 .mysql_init = fake_init,
				 .mysql_num_rows = fake_num_rows,
				 .mysql_options = fake_options,
				 .mysql_query = fake_query,
				 .mysql_real_connect = fake_real_connect,
				 .mysql_real_escape_string = fake_escape,
				 .mysql_real_query = fake_real_query,
				 .mysql_select_db = fake_select_db,
				 .mysql_set_local_infile_handler = fake_handler,
				 .mysql_store_result = fake_store,
				 .mysql_thread_end = fake_thread_end,
				 .mysql_warning_count = fake_warnings };

int libmariadb_load(struct err *err)
{
	(void)err;
	return 0;
}

/* ---- stories ---------------------------------------------------------------------- */

static const char lines[] = "{\"probe_id\":1,\"tid\":7,\"addr\":\"0x10\",\"seq\":2,"
			    "\"is_active\":true,\"ts\":1000}\n"
			    "{\"probe_id\":1,\"tid\":7,\"addr\":\"0x10\",\"seq\":3,"
			    "\"is_active\":false,\"ts\":1100}\n"
			    "{\"probe_id\":18446744073709551615,\"tid\":8,\"addr\":\"0x20\","
			    "\"seq\":2,\"is_active\":true,\"ts\":1200}\n";
static const char facts[] =
	"{\"type\":\"run\",\"format\":1,\"tool\":\"t\",\"command\":[\"./a\"],\"pid\":50,"
	"\"start_ts\":900,\"start_realtime\":5000,\"arch\":\"x86_64\",\"stations\":2}\n"
	"{\"type\":\"site\",\"id\":1,\"file\":\"a.c\",\"line\":3,\"function\":\"it's\\t\\\\\"}\n"
	"{\"type\":\"birth\",\"ts\":950,\"probe_id\":1,\"tid\":7,\"name\":\"worker\",\"site\":1}\n";

static void begin_story(const char *title)
{
	fprintf(story, "\n%s\n", title);
	memset(&fault, 0, sizeof(fault));
	memset(&reply, 0, sizeof(reply));
	is_missing = is_lost = false;
	has_local = true;
	nr_warnings = 0;
	mysql_code = 0;
	nr_results_left = 0;
}

static void fail_at(const char *part, unsigned skip)
{
	fault.part = part;
	fault.skip = skip;
	fault.times = 1;
}

static void export_to(const char *format, struct export_options options)
{
	struct export_result result;
	struct err err = { 0 };
	int rc;

	options.trace = text_path("t.jsonl");
	options.quiet = true;
	rc = export_run(sink_find(format), &options, &result, &err);
	fprintf(story, "  %d %s\n", rc, rc < 0 ? err.text : result.note);
	if (rc < 0 && err.hint[0])
		fprintf(story, "  hint: %s\n", err.hint);
	export_result_release(&result);
	clear_answer();
	CHECK_EQ(pg_open_connections, 0);
	CHECK_EQ(pg_open_results, 0);
}

#define EXPORT(format, ...) export_to(format, (struct export_options){ __VA_ARGS__ })

static void fails_at_each(const char *format, const char *const *parts, size_t nr)
{
	size_t i;
	char title[200];

	for (i = 0; i < nr; i++) {
		snprintf(title, sizeof(title), "%s refuses %s", format, parts[i]);
		begin_story(title);
		fail_at(parts[i], 0);
		EXPORT(format, .full = false);
	}
}

static void postgresql_gets_tables_and_rows(void)
{
	static const char *const parts[] = { "BEGIN",  "CREATE TABLE", "pg_attribute a JOIN",
					     "COPY",   "put",          "end",
					     "result", "pg_index",     "CREATE INDEX",
					     "COMMIT" };

	begin_story("PostgreSQL: all tables");
	EXPORT("postgresql", .full = true, .host = "h", .port = 99, .user = "u", .password = "p",
	       .database = "d", .table = "my table", .pg_sslmode = "require");
	begin_story("PostgreSQL: the database is missing; an index is there");
	is_missing = true;
	reply.part = "pg_index";
	reply.rows = "tid, ts\nts\n";
	EXPORT("postgres", .full = false);
	begin_story("PostgreSQL: the database cannot be made");
	is_missing = true;
	fail_at("CREATE DATABASE", 0);
	EXPORT("postgresql", .pg_maintenance_db = "postgres");
	begin_story("PostgreSQL: no connection");
	is_lost = true;
	fault.part = "";
	fault.times = 2;
	EXPORT("postgresql", .full = false);
	begin_story("PostgreSQL: other columns");
	reply.part = "pg_attribute a JOIN";
	reply.rows = "probe_id|numeric\ntid|numeric\naddr|text\nseq|bigint\n";
	EXPORT("postgresql", .full = false);
	reply.rows = "probe_id|numeric\ntid|numeric\naddr|text\nseq|numeric\nis_active|boolean\n";
	EXPORT("postgresql", .full = false);
	begin_story("PostgreSQL: lost at the end");
	is_lost = true;
	fail_at("COMMIT", 0);
	EXPORT("postgresql", .full = false);
	fails_at_each("postgresql", parts, sizeof(parts) / sizeof(parts[0]));
}

static void mysql_gets_tables_and_rows(void)
{
	static const char *const parts[] = { "connect",
					     "SET SESSION",
					     "@@local_infile",
					     "store",
					     "use",
					     "information_schema.COLUMNS",
					     "CREATE TABLE",
					     "START TRANSACTION",
					     "LOAD DATA",
					     "COMMIT",
					     "information_schema.STATISTICS",
					     "ALTER TABLE" };

	begin_story("MySQL: all tables");
	EXPORT("mysql", .full = true, .host = "h", .port = 99, .user = "u", .password = "p",
	       .database = "d", .table = "my`table");
	begin_story("MySQL: by INSERT, through a socket");
	has_local = false;
	EXPORT("mysql", .full = true, .host = "h", .port = 99, .mysql_socket = "/run/s");
	begin_story("MySQL: an INSERT is refused");
	has_local = false;
	fail_at("real query", 0);
	EXPORT("mysql", .full = false);
	begin_story("MySQL: the database is made");
	mysql_code = ER_BAD_DB_ERROR;
	fail_at("use", 0);
	EXPORT("mysql", .full = false);
	begin_story("MySQL: the database cannot be made");
	mysql_code = ER_DBACCESS_DENIED_ERROR;
	fault.part = "";
	fault.skip = 4;
	fault.times = 2;
	EXPORT("mysql", .full = false);
	begin_story("MySQL: a table is there, with an index");
	reply.part = "information_schema";
	reply.rows =
		"PROBE_ID|bigint(20) unsigned\ntid|decimal(20,0)\naddr|text\nseq|decimal(20,0)\n"
		"is_active|tinyint(1)\nts|decimal(20,0)\nprobe_id, seq|\nTID, TS|\n";
	EXPORT("mysql", .full = false);
	reply.rows = "probe_id|bigint(20)\n";
	EXPORT("mysql", .full = false);
	begin_story("MySQL: warnings");
	nr_warnings = 2;
	EXPORT("mysql", .full = false);
	fails_at_each("mysql", parts, sizeof(parts) / sizeof(parts[0]));
}

static void statements_are_as_in_the_golden_file(void)
{
	char *text = NULL;
	size_t size;

	story = open_memstream(&text, &size);
	CHECK(story);
	postgresql_gets_tables_and_rows();
	mysql_gets_tables_and_rows();
	fclose(story);
	golden_check("servers.txt", text);
	free(text);
}

int main(void)
{
	text_make_dir();
	text_trace("t", lines, facts);
	unsetenv("MYSQL_PWD");
	RUN(statements_are_as_in_the_golden_file);
	return 0;
}
