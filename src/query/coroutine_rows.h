/* SPDX-License-Identifier: MIT */
/* coroutine_rows.h - the table of coroutines. */
#ifndef QUERY_COROUTINE_ROWS_H
#define QUERY_COROUTINE_ROWS_H

#include "query/query_table.h"

/* The scan of a table whose columns are those of an export, with the run last. */
struct query_rows *coroutine_rows_scan(struct query *q, const struct query_table *t,
				       const struct query_want *want, struct err *err);

#endif
