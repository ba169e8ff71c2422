/* SPDX-License-Identifier: MIT */
/* query_vtab.h - the tables of a query as virtual tables of SQLite. */
#ifndef QUERY_QUERY_VTAB_H
#define QUERY_QUERY_VTAB_H

#include <sqlite3.h>

#include "query/query_table.h"

/* Makes every table of @q known to @db.  A code of SQLite. */
int query_vtab_register(sqlite3 *db, struct query *q);

/* "INTEGER", "TEXT": the type that a column has in SQL. */
const char *query_vtab_type(enum column_type type);

#endif
