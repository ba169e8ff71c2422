/* SPDX-License-Identifier: MIT */
/* query_sql.h - run an SQL statement on a trace or a recording, and print the result. */
#ifndef TOOL_QUERY_SQL_H
#define TOOL_QUERY_SQL_H

#include "query_output.h"

struct query_sql {
	const char *trace;     /* NULL: that of the collector of pid, or none */
	const char *recording; /* NULL: none */
	const char *sql;       /* NULL: print the tables */
	uint64_t pid;          /* 0: none */
	enum query_form form;
	bool exact_text, stats;
};

/* Returns the exit status, after messages. */
int query_sql_run(const struct query_sql *job);

#endif
