/* SPDX-License-Identifier: MIT */
/*
 * mysql_server.h - the server's side of an export to MySQL: connection, database, tables.
 *
 * A statement that makes a table ends the transaction there, so tables come before it and
 * indexes after: between them is what must happen as a whole, the rows.
 */
#ifndef EXPORT_MYSQL_SERVER_H
#define EXPORT_MYSQL_SERVER_H

#include "export/libmariadb_loader.h"
#include "export/sink.h"
#include "export/tables.h"

struct mysql_server {
	MYSQL *conn;
	char *names[NR_TABLES];
	bool allows_local; /* LOAD DATA LOCAL */
};

/* Connected, the database chosen, the tables there and of our shape. */
int mysql_server_open(struct mysql_server *m, const struct export_options *o, struct err *err);

/* Those that the tables do not have yet. */
int mysql_server_make_indexes(struct mysql_server *m, enum table_id id, struct err *err);

/* Run @sql, which is freed; NULL is for want of memory. */
int mysql_server_run(struct mysql_server *m, char *sql, const char *what, struct err *err);

/* What the server says, behind @what. */
int mysql_server_failed(struct mysql_server *m, const char *what, struct err *err);

/* What is not committed is undone.  Harmless on one that is all zero. */
void mysql_server_close(struct mysql_server *m);

#endif
