/* SPDX-License-Identifier: MIT */
/*
 * query_functions.h - SQL functions of a query.
 *
 *	percentile(x, p)  aggregate: the value below which p percent are, between two by proportion
 *	median(x)         percentile(x, 50)
 *	histogram(x)      aggregate: JSON, [from, to, count] per power of two
 *	at(time)          time since the start of the run ('10s', '500ms', or seconds) as a ts
 *	elapsed(ts)       seconds since the start of the run
 *	site_name(site)   'src/io.c:42 wait'
 */
#ifndef QUERY_QUERY_FUNCTIONS_H
#define QUERY_QUERY_FUNCTIONS_H

#include <sqlite3.h>

#include "query/query_table.h"

/* A code of SQLite. */
int query_functions_register(sqlite3 *db, struct query *q);

#endif
