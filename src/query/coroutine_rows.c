/* SPDX-License-Identifier: MIT */
/*
 * coroutine_rows.c - the table of coroutines, with the rows of an export.
 *
 * A scan of all coroutines is a stream.  One coroutine is looked up in the trace; a statement that
 * looks up many, because it joins the table, gets them from memory after the first few.
 */
#include "query/coroutine_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "export/detail_rows.h"
#include "query/row_store.h"

/* Number of coroutines that are looked up in the trace. */
#define COROUTINE_LOOKUPS 2

struct coroutine_cache {
	unsigned lookups;
	bool is_loaded;
	struct row_store rows;
	struct u64map first; /* coroutine to 1 + its last row */
	size_t *next;        /* by row: 1 + another one of the same coroutine; 0: none */
};

struct coroutine_rows {
	struct query_rows rows; /* first member: cast to and from */
	struct query *query;
	size_t nr_columns;
	struct cell cells[TABLE_COLUMNS_MAX];
	/* From the cache: 1 + the next row. */
	bool is_cached;
	size_t cached;
	/* Or from the trace. */
	struct query_filter filter;
	struct query_scan scan;
	struct rows *maker;
	bool is_finished;
	struct row_store made;
	size_t at;
};

/* ---- from the trace ------------------------------------------------------------ */

static int coroutine_rows_put(void *to, enum table_id table, const struct cell *cells,
			      struct err *err)
{
	struct coroutine_rows *r = to;

	if (table != TABLE_COROUTINES || row_store_add(&r->made, cells, r->nr_columns))
		return 0;
	return err_set(err, -ENOMEM, "no memory for the coroutines of '%s'", r->query->trace.path);
}

/* 1: the row is in r->cells; 0; or a negative errno. */
static int coroutine_rows_read(struct coroutine_rows *r, struct err *err)
{
	struct trace_item item;
	int rc = 0;

	while (rc >= 0 && r->at == r->made.nr && !r->is_finished) {
		row_store_clear(&r->made);
		r->at = 0;
		rc = query_scan_next(&r->scan, &item, err);
		if (rc > 0) {
			rc = rows_item(r->maker, &item, err);
		} else if (rc == 0) {
			r->is_finished = true;
			rc = rows_finish(r->maker, err);
		}
	}
	if (rc < 0 || r->at == r->made.nr)
		return rc < 0 ? rc : 0;
	row_store_get(&r->made, r->at++, r->cells, r->nr_columns);
	return 1;
}

static int coroutine_rows_next(struct query_rows *rows, struct err *err)
{
	struct coroutine_rows *r = (struct coroutine_rows *)rows;
	const struct coroutine_cache *cache = r->query->coroutines;

	if (!r->is_cached)
		return coroutine_rows_read(r, err);
	if (!r->cached)
		return 0;
	row_store_get(&cache->rows, r->cached - 1, r->cells, r->nr_columns);
	r->cached = cache->next[r->cached - 1];
	return 1;
}

/* The table has the run last, an export has it first. */
static void coroutine_rows_cell(struct query_rows *rows, size_t column, struct cell *c)
{
	const struct coroutine_rows *r = (const struct coroutine_rows *)rows;

	*c = r->cells[column + 1 < r->nr_columns ? column + 1 : 0];
}

static void coroutine_rows_close(struct query_rows *rows)
{
	struct coroutine_rows *r = (struct coroutine_rows *)rows;

	query_scan_end(&r->scan);
	query_filter_release(&r->filter);
	rows_free(r->maker);
	row_store_release(&r->made);
	free(r);
}

static const struct query_rows_ops coroutine_rows_ops = { .next = coroutine_rows_next,
							  .cell = coroutine_rows_cell,
							  .close = coroutine_rows_close };

static struct coroutine_rows *coroutine_rows_new(struct query *q, const struct query_table *t,
						 struct err *err)
{
	struct coroutine_rows *r = calloc(1, sizeof(*r));

	if (!r) {
		err_set(err, -ENOMEM, "no memory to read '%s'", q->trace.path);
		return NULL;
	}
	r->rows.ops = &coroutine_rows_ops;
	r->query = q;
	r->nr_columns = t->nr_columns;
	return r;
}

static struct coroutine_rows *coroutine_rows_begin(struct query *q, const struct query_table *t,
						   const struct query_want *want, struct err *err)
{
	struct coroutine_rows *r = coroutine_rows_new(q, t, err);
	struct query_want events = { .to_ts = UINT64_MAX,
				     .has_coroutine = want && want->has_coroutine,
				     .coroutine = want ? want->coroutine : 0,
				     .kinds = 1u << TRACE_BIRTH | 1u << TRACE_END |
					      1u << TRACE_DESTROY };

	if (!r)
		return NULL;
	query_filter_set(&r->filter, &q->trace, &events);
	r->maker = rows_new(coroutine_rows_put, r);
	if (!r->maker)
		err_set(err, -ENOMEM, "no memory to read '%s'", q->trace.path);
	if (r->maker && query_scan_begin(&r->scan, q, &r->filter.filter, err) == 0)
		return r;
	coroutine_rows_close(&r->rows);
	return NULL;
}

/* ---- from memory --------------------------------------------------------------- */

/* The rows of a coroutine form a chain, the last one first. */
static bool coroutine_cache_add(struct coroutine_cache *cache, const struct coroutine_rows *r)
{
	size_t row = cache->rows.nr, room = cache->rows.room;
	uint64_t *first;

	if (!row_store_add(&cache->rows, r->cells, r->nr_columns))
		return false;
	if (cache->rows.room != room) {
		size_t *next = reallocarray(cache->next, cache->rows.room, sizeof(*next));

		if (!next)
			return false;
		cache->next = next;
	}
	first = u64map_at(&cache->first, r->cells[1].u); /* behind the run: the coroutine */
	if (!first)
		return false;
	cache->next[row] = *first;
	*first = row + 1;
	return true;
}

static int coroutine_cache_load(struct query *q, const struct query_table *t, struct err *err)
{
	struct coroutine_rows *r = coroutine_rows_begin(q, t, NULL, err);
	int rc;

	if (!r)
		return err->code;
	while ((rc = coroutine_rows_read(r, err)) > 0) {
		if (!coroutine_cache_add(q->coroutines, r)) {
			rc = err_set(err, -ENOMEM, "no memory for the coroutines of '%s'",
				     q->trace.path);
			break;
		}
	}
	coroutine_rows_close(&r->rows);
	q->coroutines->is_loaded = rc == 0;
	return rc;
}

static struct query_rows *coroutine_rows_find(struct query *q, const struct query_table *t,
					      uint64_t coroutine, struct err *err)
{
	struct coroutine_rows *r;

	if (!q->coroutines->is_loaded && coroutine_cache_load(q, t, err) < 0)
		return NULL;
	r = coroutine_rows_new(q, t, err);
	if (!r)
		return NULL;
	r->is_cached = true;
	u64map_get(&q->coroutines->first, coroutine, &r->cached);
	return &r->rows;
}

struct query_rows *coroutine_rows_scan(struct query *q, const struct query_table *t,
				       const struct query_want *want, struct err *err)
{
	struct coroutine_rows *r;

	if (!q->coroutines)
		q->coroutines = calloc(1, sizeof(*q->coroutines));
	if (!q->coroutines) {
		err_set(err, -ENOMEM, "no memory to read '%s'", q->trace.path);
		return NULL;
	}
	if (want->has_coroutine && q->coroutines->lookups++ >= COROUTINE_LOOKUPS)
		return coroutine_rows_find(q, t, want->coroutine, err);
	r = coroutine_rows_begin(q, t, want, err);
	return r ? &r->rows : NULL;
}

void coroutine_rows_release(struct coroutine_cache *cache)
{
	if (!cache)
		return;
	row_store_release(&cache->rows);
	u64map_release(&cache->first);
	free(cache->next);
	free(cache);
}
