/* SPDX-License-Identifier: MIT */
/* query_functions.c - SQL functions of a query. */
#include "query/query_functions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"

/* ---- percentiles --------------------------------------------------------------- */

/* All values of a group: a percentile is exact. */
struct percentile_values {
	double *list;
	size_t nr, room;
	double p; /* of the first row; the same in all */
	bool has_p, is_wrong;
};

static bool percentile_reserve(struct percentile_values *v)
{
	size_t room = v->room ? 2 * v->room : 64;
	double *list;

	if (v->nr < v->room)
		return true;
	list = sqlite3_realloc64(v->list, room * sizeof(*list));
	if (!list)
		return false;
	v->list = list;
	v->room = room;
	return true;
}

static void percentile_failed(sqlite3_context *to, struct percentile_values *v, const char *text)
{
	v->is_wrong = true;
	sqlite3_result_error(to, text, -1);
}

static void percentile_add(sqlite3_context *to, struct percentile_values *v, sqlite3_value *x)
{
	switch (sqlite3_value_type(x)) {
	case SQLITE_NULL:
		return;
	case SQLITE_INTEGER:
	case SQLITE_FLOAT:
		if (!percentile_reserve(v))
			sqlite3_result_error_nomem(to);
		else if (!isnan(sqlite3_value_double(x)))
			v->list[v->nr++] = sqlite3_value_double(x);
		return;
	default:
		percentile_failed(to, v, "percentile(), median(): the value is not a number");
	}
}

static void percentile_step(sqlite3_context *to, int argc, sqlite3_value **argv)
{
	struct percentile_values *v = sqlite3_aggregate_context(to, sizeof(*v));
	double p = argc > 1 ? sqlite3_value_double(argv[1]) : 50;
	int type = argc > 1 ? sqlite3_value_numeric_type(argv[1]) : SQLITE_INTEGER;

	if (!v) {
		sqlite3_result_error_nomem(to);
		return;
	}
	if (v->is_wrong)
		return;
	if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || !(p >= 0 && p <= 100)) {
		percentile_failed(to, v, "percentile(x, p): p must be a number from 0 to 100");
		return;
	}
	if (v->has_p && v->p != p) {
		percentile_failed(to, v, "percentile(x, p): p must be the same for all rows");
		return;
	}
	v->has_p = true;
	v->p = p;
	percentile_add(to, v, argv[0]);
}

/* Moves the value of rank @rank to its place: those before are not above it. */
static double percentile_select(double *list, size_t nr, size_t rank)
{
	size_t low = 0, high = nr - 1;

	while (low < high) {
		double pivot = list[low + (high - low) / 2];
		size_t i = low, j = high;

		for (;;) {
			while (list[i] < pivot)
				i++;
			while (list[j] > pivot)
				j--;
			if (i >= j)
				break;
			double kept = list[i];

			list[i++] = list[j];
			list[j--] = kept;
		}
		if (rank <= j)
			high = j;
		else
			low = j + 1;
	}
	return list[rank];
}

static double percentile_of(struct percentile_values *v)
{
	double at = v->p / 100 * (double)(v->nr - 1);
	size_t rank = (size_t)at, i;
	double low = percentile_select(v->list, v->nr, rank), high = INFINITY;

	if (at == (double)rank)
		return low;
	for (i = rank + 1; i < v->nr; i++)
		high = v->list[i] < high ? v->list[i] : high;
	return low + (at - (double)rank) * (high - low);
}

static void percentile_final(sqlite3_context *to)
{
	struct percentile_values *v = sqlite3_aggregate_context(to, 0);

	if (!v)
		return;
	if (v->nr && !v->is_wrong)
		sqlite3_result_double(to, percentile_of(v));
	sqlite3_free(v->list);
}

/* ---- histogram ----------------------------------------------------------------- */

/* [0, 1), [1, 2), [2, 4), ... */
#define HISTOGRAM_BUCKETS 64

struct histogram_counts {
	sqlite3_int64 counts[HISTOGRAM_BUCKETS];
	sqlite3_int64 negative;
	bool has_any;
};

static unsigned histogram_bucket(double x)
{
	int exponent;

	if (x < 1)
		return 0;
	frexp(x, &exponent);
	return exponent < HISTOGRAM_BUCKETS ? (unsigned)exponent : HISTOGRAM_BUCKETS - 1;
}

static void histogram_step(sqlite3_context *to, int argc, sqlite3_value **argv)
{
	struct histogram_counts *h = sqlite3_aggregate_context(to, sizeof(*h));
	int type = sqlite3_value_type(argv[0]);
	double x = sqlite3_value_double(argv[0]);

	(void)argc;
	if (!h) {
		sqlite3_result_error_nomem(to);
		return;
	}
	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return;
	h->has_any = true;
	if (x < 0)
		h->negative++;
	else if (!isnan(x))
		h->counts[histogram_bucket(x)]++;
}

static double histogram_edge(unsigned bucket)
{
	return bucket ? ldexp(1, (int)bucket - 1) : 0;
}

static void histogram_put(struct json_writer *j, bool has_from, double from, double to,
			  sqlite3_int64 count)
{
	jw_array_begin(j);
	if (has_from)
		jw_double(j, from);
	else
		jw_null(j);
	jw_double(j, to);
	jw_i64(j, count);
	jw_array_end(j);
}

/* From the first bucket with values to the last. */
static void histogram_final(sqlite3_context *to)
{
	const struct histogram_counts *h = sqlite3_aggregate_context(to, 0);
	unsigned first = 0, last = HISTOGRAM_BUCKETS, i;
	struct json_writer j;

	if (!h || !h->has_any)
		return;
	while (first < HISTOGRAM_BUCKETS && !h->counts[first])
		first++;
	while (last > first && !h->counts[last - 1])
		last--;
	jw_init_buffer(&j);
	jw_array_begin(&j);
	if (h->negative)
		histogram_put(&j, false, 0, 0, h->negative);
	for (i = first; i < last; i++)
		histogram_put(&j, true, histogram_edge(i), histogram_edge(i + 1), h->counts[i]);
	jw_array_end(&j);
	if (jw_text(&j, NULL))
		sqlite3_result_text(to, jw_text(&j, NULL), -1, SQLITE_TRANSIENT);
	else
		sqlite3_result_error_nomem(to);
	jw_release(&j);
}

/* ---- times and sites ------------------------------------------------------------ */

/* "10s", "500ms" as nanoseconds; NaN: it is no time. */
static double query_time_of(const char *text)
{
	static const struct {
		const char *suffix;
		double ns;
	} units[] = { { "", 1e9 }, { "s", 1e9 },  { "ms", 1e6 },  { "us", 1e3 },
		      { "ns", 1 }, { "m", 6e10 }, { "h", 3.6e12 } };
	char *end;
	double value = strtod(text, &end);
	size_t i;

	for (i = 0; end > text && i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcmp(end, units[i].suffix))
			return value * units[i].ns;
	}
	return NAN;
}

static void query_call_at(sqlite3_context *to, int argc, sqlite3_value **argv)
{
	const struct query *q = sqlite3_user_data(to);
	const char *text = (const char *)sqlite3_value_text(argv[0]);
	double ns;

	(void)argc;
	if (!text)
		return;
	ns = query_time_of(text);
	if (fabs(ns) < 1e18)
		sqlite3_result_int64(to, (sqlite3_int64)q->trace.start_ts + llround(ns));
	else
		sqlite3_result_error(to, "at(time): expected a time such as '10s', '500ms' or 1.5",
				     -1);
}

static void query_call_elapsed(sqlite3_context *to, int argc, sqlite3_value **argv)
{
	const struct query *q = sqlite3_user_data(to);
	sqlite3_int64 start = (sqlite3_int64)q->trace.start_ts;

	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_INTEGER)
		sqlite3_result_double(to, (double)(sqlite3_value_int64(argv[0]) - start) / 1e9);
	else if (sqlite3_value_type(argv[0]) == SQLITE_FLOAT)
		sqlite3_result_double(to, (sqlite3_value_double(argv[0]) - (double)start) / 1e9);
}

static void query_call_site_name(sqlite3_context *to, int argc, sqlite3_value **argv)
{
	const struct query *q = sqlite3_user_data(to);
	const struct trace_site *site = NULL;
	char text[2 * SITE_NAME_SIZE + 32];

	(void)argc;
	if (sqlite3_value_type(argv[0]) == SQLITE_INTEGER && sqlite3_value_int64(argv[0]) > 0)
		site = query_trace_site(&q->trace, (uint64_t)sqlite3_value_int64(argv[0]));
	if (!site)
		return;
	site_text(text, sizeof(text), site->file, site->line, site->function);
	sqlite3_result_text(to, text, -1, SQLITE_TRANSIENT);
}

/* The part of a merged trace that a coroutine is in; NULL: the trace is not merged. */
static void query_call_part_of(sqlite3_context *to, int argc, sqlite3_value **argv)
{
	const struct query *q = sqlite3_user_data(to);
	struct trace_item item = { .type = TRACE_ITEM_COROUTINE };
	uint64_t part;

	(void)argc;
	if (sqlite3_value_type(argv[0]) != SQLITE_INTEGER || sqlite3_value_int64(argv[0]) < 0)
		return;
	item.coroutine.probe_id = (uint64_t)sqlite3_value_int64(argv[0]);
	part = trace_parts_of(&q->trace.parts, &item);
	if (part)
		sqlite3_result_int64(to, (sqlite3_int64)part);
}

/* ---- registration --------------------------------------------------------------- */

int query_functions_register(sqlite3 *db, struct query *q)
{
	static const struct {
		const char *name;
		int nr_args;
		void (*call)(sqlite3_context *, int, sqlite3_value **);
		void (*step)(sqlite3_context *, int, sqlite3_value **);
		void (*final)(sqlite3_context *);
	} functions[] = {
		{ "percentile", 2, NULL, percentile_step, percentile_final },
		{ "median", 1, NULL, percentile_step, percentile_final },
		{ "histogram", 1, NULL, histogram_step, histogram_final },
		{ "at", 1, query_call_at, NULL, NULL },
		{ "elapsed", 1, query_call_elapsed, NULL, NULL },
		{ "site_name", 1, query_call_site_name, NULL, NULL },
		{ "part_of", 1, query_call_part_of, NULL, NULL },
	};
	size_t i;
	int rc = SQLITE_OK;

	for (i = 0; rc == SQLITE_OK && i < sizeof(functions) / sizeof(functions[0]); i++)
		rc = sqlite3_create_function_v2(
			db, functions[i].name, functions[i].nr_args,
			SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, q, functions[i].call,
			functions[i].step, functions[i].final, NULL);
	return rc;
}
