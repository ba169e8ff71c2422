/* SPDX-License-Identifier: MIT */
/* query_db.h - the database of a query: in memory, with virtual tables only, for reading. */
#ifndef QUERY_QUERY_DB_H
#define QUERY_QUERY_DB_H

#include "query/query_table.h"

/* NULL with a message in @err. */
struct query_db *query_db_open(struct query *q, struct err *err);

/* As query_run(). */
int query_db_run(struct query_db *d, const char *sql, const struct query_output *output,
		 int *position, struct err *err);

/* Accepts NULL. */
void query_db_close(struct query_db *d);

#endif
