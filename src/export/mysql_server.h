/* SPDX-License-Identifier: MIT */
/*
 * mysql_server.h - connection, database and tables of an export to MySQL.
 *
 * In MySQL a statement that creates a table or an index commits the transaction.  Tables are
 * therefore created before the transaction and indexes after it; the rows are loaded in one
 * transaction between them.
 */
#ifndef EXPORT_MYSQL_SERVER_H
#define EXPORT_MYSQL_SERVER_H

#include "export/libmariadb_loader.h"
#include "export/sink.h"
#include "export/tables.h"

struct mysql_server {
	MYSQL *conn;
	bool allows_local; /* LOAD DATA LOCAL */
};

/* Connects, selects the database, and creates or checks the tables. */
int mysql_server_open(struct mysql_server *m, const struct sink_job *job, struct err *err);

/* Creates the indexes that the table does not have. */
int mysql_server_make_indexes(struct mysql_server *m, const struct table *t, struct err *err);

/* Runs @sql and frees it; NULL means that memory ran out. */
int mysql_server_run(struct mysql_server *m, char *sql, const char *what, struct err *err);

/* Sets @err to @what and the message of the server. */
int mysql_server_failed(struct mysql_server *m, const char *what, struct err *err);

/* The server rolls back what is not committed.  Harmless on a struct that is all zero. */
void mysql_server_close(struct mysql_server *m);

#endif
