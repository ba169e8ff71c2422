/* SPDX-License-Identifier: MIT */
/*
 * grouped_rows.h - the rows of a scan, group by group, for GROUP BY.
 *
 * SQLite sorts all rows to group them, which takes most of the time of such a statement.  It does
 * without if a table returns rows of equal columns one after the other, in any order of the groups.
 */
#ifndef QUERY_GROUPED_ROWS_H
#define QUERY_GROUPED_ROWS_H

#include "query/query_table.h"

/*
 * True if the rows of @t can be grouped by the columns in @keys, if the columns in @used are read:
 * bit c is column c.
 */
bool grouped_rows_can(const struct query *q, const struct query_table *t, uint32_t keys,
		      uint32_t used);

/* As the scan of the table, with the rows grouped.  NULL with a message in @err. */
struct query_rows *grouped_rows_scan(struct query *q, const struct query_table *t,
				     const struct query_want *want, uint32_t keys, struct err *err);

#endif
