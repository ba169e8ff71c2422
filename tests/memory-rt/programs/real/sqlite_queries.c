/* SPDX-License-Identifier: MIT */
/* sqlite_queries.c - a database in memory with known answers: sqlite_queries ROWS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sqlite3.h"

static sqlite3 *db;

static void run_sql(const char *sql)
{
	char *why = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) {
		fprintf(stderr, "%s: %s\n", sql, why);
		exit(1);
	}
}

static void print_answer(const char *sql)
{
	sqlite3_stmt *s;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW) {
		fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
		exit(1);
	}
	printf("%s\n", sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
}

static void insert_rows(int rows)
{
	sqlite3_stmt *s;
	char name[32];
	int i;

	run_sql("BEGIN");
	sqlite3_prepare_v2(db, "INSERT INTO t(id, key, name) VALUES(?, ?, ?)", -1, &s, NULL);
	for (i = 1; i <= rows; i++) {
		snprintf(name, sizeof(name), "name-%d", i);
		sqlite3_bind_int(s, 1, i);
		sqlite3_bind_int(s, 2, (int)((long long)i * 7919 % rows));
		sqlite3_bind_text(s, 3, name, -1, SQLITE_TRANSIENT);
		sqlite3_step(s);
		sqlite3_reset(s);
	}
	sqlite3_finalize(s);
	run_sql("COMMIT");
}

int main(int argc, char **argv)
{
	int rows = argc > 1 ? atoi(argv[1]) : 1000;

	if (sqlite3_open(":memory:", &db) != SQLITE_OK)
		return 1;
	run_sql("CREATE TABLE t(id INTEGER PRIMARY KEY, key INTEGER, name TEXT)");
	insert_rows(rows);
	run_sql("CREATE INDEX by_key ON t(key)");
	print_answer("SELECT count(*) FROM t");
	print_answer("SELECT sum(key) FROM t WHERE id % 3 = 0");
	print_answer("SELECT name FROM t WHERE key = 10 ORDER BY id");
	print_answer("SELECT sum(a.id * b.key % 97) FROM t a JOIN t b ON a.id = b.key");
	print_answer("SELECT count(*) FROM (SELECT substr(name, 1, 7) AS s FROM t GROUP BY s)");
	sqlite3_close(db);
	return 0;
}
