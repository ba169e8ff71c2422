/* SPDX-License-Identifier: MIT */
/* diff.c - compare two sets of runs, site by site. */
#include "analyze/diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more in an array.  0 or -ENOMEM. */
static int diff_reserve(void **array, size_t nr, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 32;
	void *grown = nr < *room ? *array : reallocarray(*array, more, size);

	if (!grown)
		return -ENOMEM;
	*room = nr < *room ? *room : more;
	*array = grown;
	return 0;
}

static struct diff_change *change_new(struct diff *d)
{
	if (diff_reserve((void **)&d->changes, d->nr, &d->room, sizeof(*d->changes)) < 0)
		return NULL;
	d->changes[d->nr] = (struct diff_change){ .detector = "", .path = "" };
	return &d->changes[d->nr++];
}

/* ---- durations at a site -------------------------------------------------------- */

struct site_durations {
	const struct histogram *runs[DIFF_RUNS_MAX];
	size_t nr;
};

static struct site_durations durations_of(const struct diff_profile *p, const struct diff_site *s,
					  enum diff_metric metric)
{
	struct site_durations d = { .nr = p->nr_runs };
	size_t i;

	for (i = 0; i < d.nr; i++)
		d.runs[i] = diff_site_runs(s, i, metric);
	return d;
}

static int numbers_of(const struct site_durations *d, unsigned permille, struct diff_numbers *out)
{
	struct histogram pool = { 0 };
	size_t i;
	int rc = 0;

	*out = (struct diff_numbers){ .low = UINT64_MAX };
	for (i = 0; !rc && i < d->nr; i++) {
		uint64_t q = histogram_quantile(d->runs[i], permille ? permille : 500);

		rc = histogram_join(&pool, d->runs[i]);
		out->low = q < out->low ? q : out->low;
		out->high = q > out->high ? q : out->high;
	}
	out->count = pool.nr;
	out->p50 = histogram_quantile(&pool, 500);
	out->p90 = histogram_quantile(&pool, 900);
	out->p99 = histogram_quantile(&pool, 990);
	histogram_release(&pool);
	return rc;
}

static void describe_site(struct diff_change *c, const struct diff_site *s)
{
	c->text = s->text;
	c->path = s->path;
	c->line = s->line;
}

static double impact_of(const struct diff *d, const struct diff_change *c)
{
	double change = c->verdict.permille == 900 ? (double)c->head.p90 - (double)c->base.p90
						   : (double)c->head.p50 - (double)c->base.p50;

	return change * (double)c->head.count / (double)d->head.nr_runs;
}

int diff_site_numbers(const struct diff_profile *p, const struct diff_site *s,
		      enum diff_metric metric, unsigned permille, struct diff_numbers *out)
{
	struct site_durations d = durations_of(p, s, metric);

	return numbers_of(&d, permille, out);
}

static int compare_durations(struct diff *d, struct diff_pair *pair, enum diff_metric metric)
{
	const struct diff_site *base = pair->base, *head = pair->head;
	struct site_durations b = durations_of(&d->base, base, metric);
	struct site_durations h = durations_of(&d->head, head, metric);
	struct diff_verdict v;
	struct diff_change *c;
	int rc = diff_durations(b.runs, b.nr, h.runs, h.nr, &d->limits, &v);

	pair->verdicts[metric] = v;
	if (rc || !v.direction)
		return rc;
	c = change_new(d);
	if (!c)
		return -ENOMEM;
	c->class = v.direction > 0 ? DIFF_WORSE : DIFF_BETTER;
	c->subject = (enum diff_subject)metric;
	c->verdict = v;
	describe_site(c, head);
	rc = numbers_of(&b, v.permille, &c->base);
	if (!rc)
		rc = numbers_of(&h, v.permille, &c->head);
	c->impact_ns = impact_of(d, c);
	return rc;
}

/* NULL: no memory. */
static struct diff_pair *pair_new(struct diff *d, const struct diff_site *base,
				  const struct diff_site *head)
{
	if (diff_reserve((void **)&d->pairs, d->nr_pairs, &d->pairs_room, sizeof(*d->pairs)) < 0)
		return NULL;
	d->pairs[d->nr_pairs] = (struct diff_pair){ .base = base, .head = head };
	return &d->pairs[d->nr_pairs++];
}

static int compare_site(struct diff *d, const struct diff_site *base, const struct diff_site *head)
{
	struct diff_pair *pair = pair_new(d, base, head);
	int metric, rc = pair ? 0 : -ENOMEM;

	d->compared++;
	for (metric = 0; !rc && metric < NR_DIFF_METRICS; metric++)
		rc = compare_durations(d, pair, (enum diff_metric)metric);
	return rc;
}

/* ---- sites on one side only -------------------------------------------------------- */

/* A site that is reached only at times is not new: it must be in every run. */
static bool is_in_every_run(const struct diff_profile *p, const struct diff_site *s)
{
	size_t i;

	for (i = 0; i < p->nr_runs; i++) {
		if (!diff_site_runs(s, i, DIFF_RUN)->nr && !diff_site_runs(s, i, DIFF_WAIT)->nr)
			return false;
	}
	return true;
}

static int add_one_sided(struct diff *d, const struct diff_site *s, enum diff_class class)
{
	const struct diff_profile *p = class == DIFF_NEW ? &d->head : &d->base;
	struct site_durations waits = durations_of(p, s, DIFF_WAIT);
	struct diff_change *c;

	if (!pair_new(d, class == DIFF_GONE ? s : NULL, class == DIFF_NEW ? s : NULL))
		return -ENOMEM;
	if (!is_in_every_run(p, s))
		return 0;
	c = change_new(d);
	if (!c)
		return -ENOMEM;
	c->class = class;
	c->subject = DIFF_OF_SITE;
	describe_site(c, s);
	return numbers_of(&waits, 500, class == DIFF_NEW ? &c->head : &c->base);
}

/* ---- pairs of sites ---------------------------------------------------------------- */

static int function_order(const struct diff_site *a, const struct diff_site *b)
{
	int order = strcmp(a->file, b->file);

	return order ? order : strcmp(a->function, b->function);
}

/* Sites of one function, from @first on: sorted by line. */
static size_t function_size(const struct diff_profile *p, size_t first)
{
	size_t nr = 0;

	while (first + nr < p->nr_sites && !function_order(&p->sites[first], &p->sites[first + nr]))
		nr++;
	return nr;
}

/*
 * Pair the sites of one function.  As many on both sides: in their order, since an edit moves
 * lines.  Otherwise by line; a line without a partner is new or gone.
 */
static int pair_function(struct diff *d, const struct diff_site *base, size_t nr_base,
			 const struct diff_site *head, size_t nr_head)
{
	size_t b = 0, h = 0;
	int rc = 0;

	while (!rc && (b < nr_base || h < nr_head)) {
		bool has_both = b < nr_base && h < nr_head;

		if (nr_base == nr_head || (has_both && base[b].line == head[h].line)) {
			rc = compare_site(d, &base[b], &head[h]);
			b++;
			h++;
		} else if (h == nr_head || (has_both && base[b].line < head[h].line)) {
			rc = add_one_sided(d, &base[b++], DIFF_GONE);
		} else {
			rc = add_one_sided(d, &head[h++], DIFF_NEW);
		}
	}
	return rc;
}

static int compare_sites(struct diff *d)
{
	const struct diff_profile *base = &d->base, *head = &d->head;
	size_t b = 0, h = 0;
	int rc = 0;

	while (!rc && (b < base->nr_sites || h < head->nr_sites)) {
		int order = b == base->nr_sites ? 1
			    : h == head->nr_sites
				    ? -1
				    : function_order(&base->sites[b], &head->sites[h]);
		size_t nr_base = order <= 0 ? function_size(base, b) : 0;
		size_t nr_head = order >= 0 ? function_size(head, h) : 0;

		rc = pair_function(d, &base->sites[b], nr_base, &head->sites[h], nr_head);
		b += nr_base;
		h += nr_head;
	}
	return rc;
}

/* ---- kinds and findings -------------------------------------------------------------- */

static const uint64_t no_runs[DIFF_RUNS_MAX];

static struct diff_numbers count_numbers(const uint64_t *runs, size_t nr)
{
	struct diff_numbers n = { .low = UINT64_MAX };
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		sum += runs[i];
		n.low = runs[i] < n.low ? runs[i] : n.low;
		n.high = runs[i] > n.high ? runs[i] : n.high;
	}
	n.count = nr ? sum / nr : 0;
	return n;
}

struct diff_numbers diff_kind_numbers(const struct diff_profile *p, const struct diff_row *row)
{
	return count_numbers(row ? row->runs : no_runs, p->nr_runs);
}

static int compare_kind(struct diff *d, const struct diff_row *base, const struct diff_row *head)
{
	const uint64_t *b = base ? base->runs : no_runs, *h = head ? head->runs : no_runs;
	const struct diff_row *row = head ? head : base;
	struct diff_verdict v = diff_counts(b, d->base.nr_runs, h, d->head.nr_runs, &d->limits);
	struct diff_change *c;

	if (diff_reserve((void **)&d->kinds, d->nr_kinds, &d->kinds_room, sizeof(*d->kinds)) < 0)
		return -ENOMEM;
	d->kinds[d->nr_kinds++] = (struct diff_kind_pair){ base, head, v };
	if (!v.direction || !row)
		return 0;
	c = change_new(d);
	if (!c)
		return -ENOMEM;
	c->class = v.direction > 0 ? DIFF_WORSE : DIFF_BETTER;
	c->subject = DIFF_OF_ALIVE;
	c->verdict = v;
	c->text = row->text;
	c->base = diff_kind_numbers(&d->base, base);
	c->head = diff_kind_numbers(&d->head, head);
	return 0;
}

/* The row of @other with the key of row @number of @rows; NULL: none. */
static const struct diff_row *row_in(const struct diff_rows *other, const struct diff_rows *rows,
				     size_t number)
{
	return diff_row_find(other, strtab_text(&rows->keys, number));
}

static int compare_kinds(struct diff *d)
{
	const struct diff_rows *base = &d->base.kinds, *head = &d->head.kinds;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < head->nr; i++)
		rc = compare_kind(d, row_in(base, head, i), &head->all[i]);
	for (i = 0; !rc && i < base->nr; i++) {
		if (!row_in(head, base, i))
			rc = compare_kind(d, &base->all[i], NULL);
	}
	return rc;
}

static uint64_t runs_with(const struct diff_row *row, size_t nr_runs)
{
	uint64_t nr = 0;
	size_t i;

	for (i = 0; row && i < nr_runs; i++)
		nr += row->runs[i] > 0;
	return nr;
}

/* In more than half of the runs of one side, and in no run of the other. */
static int compare_finding(struct diff *d, const struct diff_profile *with, size_t number,
			   const struct diff_profile *without)
{
	const struct diff_row *row = &with->findings.all[number];
	uint64_t nr = runs_with(row, with->nr_runs);
	struct diff_change *c;

	if (2 * nr <= with->nr_runs ||
	    runs_with(row_in(&without->findings, &with->findings, number), without->nr_runs))
		return 0;
	c = change_new(d);
	if (!c)
		return -ENOMEM;
	c->class = with == &d->head ? DIFF_WORSE : DIFF_BETTER;
	c->subject = DIFF_OF_FINDING;
	c->text = row->text;
	c->detector = row->detector;
	*(with == &d->head ? &c->head : &c->base) = (struct diff_numbers){ .count = nr };
	return 0;
}

static int compare_findings(struct diff *d)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < d->head.findings.nr; i++)
		rc = compare_finding(d, &d->head, i, &d->base);
	for (i = 0; !rc && i < d->base.findings.nr; i++)
		rc = compare_finding(d, &d->base, i, &d->head);
	return rc;
}

/* ---- all of it ------------------------------------------------------------------------ */

static double diff_magnitude(double value)
{
	return value < 0 ? -value : value;
}

static int change_compare(const void *a, const void *b)
{
	const struct diff_change *x = a, *y = b;
	double ix = diff_magnitude(x->impact_ns), iy = diff_magnitude(y->impact_ns);
	/* Findings first, then kinds: they say more than a duration. */
	bool px = x->subject >= DIFF_OF_ALIVE, py = y->subject >= DIFF_OF_ALIVE;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (px != py)
		return px ? -1 : 1;
	if (px && x->subject != y->subject)
		return x->subject > y->subject ? -1 : 1;
	if (ix != iy)
		return ix > iy ? -1 : 1;
	return strcmp(x->text, y->text);
}

int diff_compare(struct diff *d)
{
	size_t i;
	int rc;

	diff_profile_sort(&d->base);
	diff_profile_sort(&d->head);
	rc = compare_sites(d);
	if (!rc)
		rc = compare_kinds(d);
	if (!rc)
		rc = compare_findings(d);
	if (rc)
		return rc;
	if (d->nr)
		qsort(d->changes, d->nr, sizeof(*d->changes), change_compare);
	for (i = 0; i < d->nr; i++)
		d->by_class[d->changes[i].class]++;
	return 0;
}

const char *diff_title(const struct diff_change *c)
{
	static const char *const titles[][2] = {
		[DIFF_OF_WAIT] = { "waits longer", "waits shorter" },
		[DIFF_OF_READY] = { "ready longer before it runs", "ready shorter before it runs" },
		[DIFF_OF_RUN] = { "runs longer", "runs shorter" },
		[DIFF_OF_ALIVE] = { "more coroutines left", "fewer coroutines left" },
		[DIFF_OF_FINDING] = { "new finding", "finding gone" },
		[DIFF_OF_SITE] = { "new site", "site gone" },
	};

	return titles[c->subject][c->class == DIFF_BETTER || c->class == DIFF_GONE];
}

void diff_release(struct diff *d)
{
	diff_profile_release(&d->base);
	diff_profile_release(&d->head);
	free(d->changes);
	free(d->pairs);
	free(d->kinds);
	*d = (struct diff){ 0 };
}
