/* SPDX-License-Identifier: MIT */
/* query.c - SQL on a trace and on a recording of frames: open, run, close. */
#include "query/query.h"

#include <errno.h>
#include <stdlib.h>

#include "query/frame_views.h"
#include "query/query_db.h"
#include "query/query_table.h"
#include "query/query_vtab.h"

bool query_tables_add(struct query *q, const struct query_table *table)
{
	struct query_tables *t = &q->tables;
	struct query_table *list = reallocarray(t->list, t->nr + 1, sizeof(*list));

	if (!list)
		return false;
	list[t->nr++] = *table;
	t->list = list;
	return true;
}

static int query_add_tables(struct query *q, const struct query_options *o, struct err *err)
{
	int rc = 0;

	if (o->trace) {
		rc = query_trace_open(q, err);
		if (rc == 0)
			rc = event_rows_add(q, err);
		if (rc == 0)
			rc = interval_rows_add(q, err);
		if (rc == 0)
			rc = fact_rows_add(q, err);
	}
	if (rc == 0 && o->recording)
		rc = frame_rows_add(q, o->recording, err);
	return rc;
}

struct query *query_open(const struct query_options *options, struct err *err)
{
	struct query *q = calloc(1, sizeof(*q));

	if (!q) {
		err_set(err, -ENOMEM, "no memory for a query");
		return NULL;
	}
	q->trace.path = options->trace;
	q->trace.may_grow = options->may_grow;
	if (query_add_tables(q, options, err) == 0)
		q->db = query_db_open(q, err);
	if (q->db)
		return q;
	query_close(q);
	return NULL;
}

int query_run(struct query *q, const char *sql, const struct query_output *output, int *position,
	      struct err *err)
{
	return query_db_run(q->db, sql, output, position, err);
}

void query_describe(const struct query *q, query_show_column *show, void *to)
{
	size_t t, c;

	for (t = 0; t < q->tables.nr; t++) {
		const struct query_table *table = &q->tables.list[t];

		for (c = 0; c < table->nr_columns; c++) {
			if (!table->columns[c].is_hidden)
				show(to, table->name, table->columns[c].name,
				     query_vtab_type(table->columns[c].type));
		}
	}
	frame_views_describe(q, show, to);
}

const struct query_stats *query_stats_of(const struct query *q)
{
	return &q->stats;
}

void query_close(struct query *q)
{
	if (!q)
		return;
	query_db_close(q->db);
	fact_rows_release(q->facts);
	coroutine_rows_release(q->coroutines);
	frame_rows_release(q->frames);
	frame_views_release(q->views);
	query_trace_release(&q->trace);
	free(q->tables.list);
	free(q);
}
