/* SPDX-License-Identifier: MIT */
/*
 * diff_pairs_json.c - every site and kind of a comparison as JSON, for a page: those that did not
 * change, too, each with the numbers that the verdict was made of.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/diff.h"
#include "base/json_writer.h"

static const char *const metric_names[NR_DIFF_METRICS] = { "wait", "ready", "run" };

/* ---- a site -------------------------------------------------------------------------- */

/* [[step, count], ...]; docs/view-format.md has the steps. */
static void diff_put_steps(struct json_writer *j, const struct histogram *h)
{
	unsigned step;

	jw_key(j, "steps");
	jw_array_begin(j);
	for (step = 0; step < HISTOGRAM_COARSE; step++) {
		uint64_t nr = histogram_coarse(h, step);

		if (!nr)
			continue;
		jw_array_begin(j);
		jw_u64(j, step);
		jw_u64(j, nr);
		jw_array_end(j);
	}
	jw_array_end(j);
}

static int diff_put_histogram(struct json_writer *j, const struct diff_profile *p,
			      const struct diff_site *s, enum diff_metric metric)
{
	struct histogram pool = { 0 };
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < p->nr_runs; i++)
		rc = histogram_join(&pool, diff_site_runs(s, i, metric));
	jw_field_u64(j, "max_ns", pool.max);
	diff_put_steps(j, &pool);
	histogram_release(&pool);
	return rc;
}

/* One side of a site; null: the side does not have it. */
static int diff_put_side(struct json_writer *j, const char *key, const struct diff_profile *p,
			 const struct diff_site *s, enum diff_metric metric, unsigned permille)
{
	struct diff_numbers n;
	int rc;

	if (!s) {
		jw_field_null(j, key);
		return 0;
	}
	rc = diff_site_numbers(p, s, metric, permille, &n);
	if (rc < 0)
		return rc;
	jw_key(j, key);
	jw_object_begin(j);
	jw_field_u64(j, "count", n.count);
	jw_field_u64(j, "p50_ns", n.p50);
	jw_field_u64(j, "p90_ns", n.p90);
	jw_field_u64(j, "p99_ns", n.p99);
	jw_field_u64(j, "least_run_ns", n.low);
	jw_field_u64(j, "greatest_run_ns", n.high);
	rc = diff_put_histogram(j, p, s, metric);
	jw_object_end(j);
	return rc;
}

static int diff_put_metric(struct json_writer *j, const struct diff *d,
			   const struct diff_pair *pair, enum diff_metric metric)
{
	const struct diff_verdict *v = &pair->verdicts[metric];
	int rc;

	jw_key(j, metric_names[metric]);
	jw_object_begin(j);
	jw_field_i64(j, "direction", v->direction);
	jw_field_u64(j, "quantile", v->permille / 10);
	jw_field_double(j, "larger", v->rank.larger);
	jw_field_double(j, "z", v->rank.z);
	rc = diff_put_side(j, "base", &d->base, pair->base, metric, v->permille);
	if (!rc)
		rc = diff_put_side(j, "head", &d->head, pair->head, metric, v->permille);
	jw_object_end(j);
	return rc;
}

static void diff_put_place(struct json_writer *j, const char *key, const struct diff_site *s)
{
	if (!s) {
		jw_field_null(j, key);
		return;
	}
	jw_key(j, key);
	jw_object_begin(j);
	jw_field_string(j, "text", s->text);
	jw_field_string(j, "file", s->path[0] ? s->path : NULL);
	jw_field_u64(j, "line", s->line);
	jw_object_end(j);
}

static int diff_put_pair(struct json_writer *j, const struct diff *d, const struct diff_pair *pair)
{
	int metric, rc = 0;

	jw_object_begin(j);
	diff_put_place(j, "base_place", pair->base);
	diff_put_place(j, "head_place", pair->head);
	for (metric = 0; !rc && metric < NR_DIFF_METRICS; metric++)
		rc = diff_put_metric(j, d, pair, (enum diff_metric)metric);
	jw_object_end(j);
	return rc;
}

/* ---- which of them -------------------------------------------------------------------- */

struct pair_rank {
	const struct diff_pair *pair;
	bool differs;
	uint64_t values;
};

static uint64_t pair_values(const struct diff_profile *p, const struct diff_site *s)
{
	uint64_t nr = 0;
	size_t i;

	for (i = 0; s && i < p->nr_runs; i++)
		nr += diff_site_runs(s, i, DIFF_WAIT)->nr + diff_site_runs(s, i, DIFF_RUN)->nr;
	return nr;
}

static struct pair_rank pair_rank_of(const struct diff *d, const struct diff_pair *pair)
{
	struct pair_rank r = { .pair = pair, .differs = !pair->base || !pair->head };
	int metric;

	for (metric = 0; metric < NR_DIFF_METRICS; metric++)
		r.differs |= pair->verdicts[metric].direction != 0;
	r.values = pair_values(&d->base, pair->base) + pair_values(&d->head, pair->head);
	return r;
}

static int pair_rank_compare(const void *a, const void *b)
{
	const struct pair_rank *x = a, *y = b;

	if (x->differs != y->differs)
		return x->differs ? -1 : 1;
	if (x->values != y->values)
		return x->values > y->values ? -1 : 1;
	return x->pair < y->pair ? -1 : x->pair > y->pair;
}

static int diff_put_sites(struct json_writer *j, const struct diff *d, size_t most)
{
	struct pair_rank *ranks = calloc(d->nr_pairs + 1, sizeof(*ranks));
	size_t i;
	int rc = ranks ? 0 : -ENOMEM;

	for (i = 0; ranks && i < d->nr_pairs; i++)
		ranks[i] = pair_rank_of(d, &d->pairs[i]);
	if (ranks)
		qsort(ranks, d->nr_pairs, sizeof(*ranks), pair_rank_compare);
	jw_key(j, "sites");
	jw_array_begin(j);
	for (i = 0; !rc && i < d->nr_pairs && i < most; i++)
		rc = diff_put_pair(j, d, ranks[i].pair);
	jw_array_end(j);
	jw_field_u64(j, "sites_omitted", d->nr_pairs > most ? d->nr_pairs - most : 0);
	free(ranks);
	return rc;
}

/* ---- kinds -------------------------------------------------------------------------- */

static void diff_put_left(struct json_writer *j, const char *key, const struct diff_profile *p,
			  const struct diff_row *row)
{
	struct diff_numbers n = diff_kind_numbers(p, row);

	jw_key(j, key);
	jw_object_begin(j);
	jw_field_u64(j, "count", n.count);
	jw_field_u64(j, "least_run", n.low);
	jw_field_u64(j, "greatest_run", n.high);
	jw_object_end(j);
}

static void diff_put_kind(struct json_writer *j, const struct diff *d,
			  const struct diff_kind_pair *k)
{
	jw_object_begin(j);
	jw_field_string(j, "text", k->head ? k->head->text : k->base->text);
	jw_field_i64(j, "direction", k->verdict.direction);
	jw_field_bool(j, "in_base", k->base != NULL);
	jw_field_bool(j, "in_head", k->head != NULL);
	diff_put_left(j, "base", &d->base, k->base);
	diff_put_left(j, "head", &d->head, k->head);
	jw_object_end(j);
}

/* Those that differ first. */
static void diff_put_kinds(struct json_writer *j, const struct diff *d, size_t most)
{
	size_t i, nr = 0;
	int pass;

	jw_key(j, "kinds");
	jw_array_begin(j);
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < d->nr_kinds && nr < most; i++) {
			if ((d->kinds[i].verdict.direction == 0) != pass)
				continue;
			diff_put_kind(j, d, &d->kinds[i]);
			nr++;
		}
	}
	jw_array_end(j);
	jw_field_u64(j, "kinds_omitted", d->nr_kinds - nr);
}

int diff_put_pairs(struct json_writer *j, const struct diff *d, size_t most)
{
	int rc = diff_put_sites(j, d, most);

	diff_put_kinds(j, d, most);
	return rc;
}
