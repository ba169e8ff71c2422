/* SPDX-License-Identifier: MIT */
/* diff_stats.c - decide whether a difference between two sets of runs is more than noise. */
#include "analyze/diff_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RANK_LEAST     30   /* values on each side for a rank test */
#define RANK_Z         4.0  /* p < 0.0001 */
#define RANK_EFFECT    0.14 /* distance of diff_rank.larger from 0.5: a medium effect */
#define REPEAT_EFFECT  0.10
#define SINGLE_PERCENT 50
#define TAIL_RUNS      4
#define COUNT_LEAST    10
#define COUNT_SINGLE   20
#define IMPACT_NS      UINT64_C(1000000) /* change of the sum over a run: less is not reported */

/* ---- rank test --------------------------------------------------------------- */

struct diff_rank diff_rank_test(const struct histogram *base, const struct histogram *head)
{
	struct diff_rank rank = { 0.5, 0 };
	double u = 0, below = 0, nb = (double)base->nr, nh = (double)head->nr;
	uint64_t vb = 0, vh = 0, cb = 0, ch = 0;
	unsigned sb = 0, sh = 0;
	bool has_b = histogram_next(base, &sb, &vb, &cb),
	     has_h = histogram_next(head, &sh, &vh, &ch);

	if (!base->nr || !head->nr)
		return rank;
	while (has_h) {
		if (has_b && sb < sh) {
			below += (double)cb;
			has_b = histogram_next(base, &sb, &vb, &cb);
			continue;
		}
		/* Values in the same step are ties. */
		u += (double)ch * (below + (has_b && sb == sh ? (double)cb / 2 : 0));
		has_h = histogram_next(head, &sh, &vh, &ch);
	}
	rank.larger = u / (nb * nh);
	rank.z = (u - nb * nh / 2) / sqrt(nb * nh * (nb + nh + 1) / 12);
	return rank;
}

/* ---- repeats ----------------------------------------------------------------- */

struct range {
	double low, high;
};

static struct range range_of(const uint64_t *values, size_t nr)
{
	struct range r = { INFINITY, -INFINITY };
	size_t i;

	for (i = 0; i < nr; i++) {
		double v = log((double)values[i] + 1);

		r.low = v < r.low ? v : r.low;
		r.high = v > r.high ? v : r.high;
	}
	return r;
}

/*
 * By how many spreads two sets must be apart.  For equal distributions that happens by chance in
 * 1 % (two repeats), 0.1 to 0.4 % (three), 0.1 % (four) and 0.02 % (five) of comparisons.
 */
static double spreads_needed(size_t nr_base, size_t nr_head)
{
	static const double needed[] = { 0, 0, 5, 2 };
	size_t nr = nr_base < nr_head ? nr_base : nr_head;

	return nr < sizeof(needed) / sizeof(needed[0]) ? needed[nr] : 1;
}

int diff_beyond_spread(const uint64_t *base, size_t nr_base, const uint64_t *head, size_t nr_head)
{
	struct range b = range_of(base, nr_base), h = range_of(head, nr_head);
	double spread = fmax(b.high - b.low, h.high - h.low);
	double needed = spread * spreads_needed(nr_base, nr_head);

	if (nr_base < 2 || nr_head < 2)
		return 0;
	if (h.low - b.high > needed)
		return 1;
	return b.low - h.high > needed ? -1 : 0;
}

static int values_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t median_of(const uint64_t *values, size_t nr)
{
	uint64_t sorted[DIFF_RUNS_MAX];

	memcpy(sorted, values, nr * sizeof(*values));
	qsort(sorted, nr, sizeof(*sorted), values_compare);
	return sorted[nr / 2];
}

/* True if the change is large enough to matter. */
static bool diff_is_large(uint64_t base, uint64_t head, unsigned percent, uint64_t least)
{
	uint64_t low = base < head ? base : head, high = base < head ? head : base;

	return high - low >= least && (double)(high - low) * 100 >= (double)low * percent;
}

static double ratio_of(uint64_t base, uint64_t head)
{
	return ((double)head + 1) / ((double)base + 1);
}

/* The quantile of each run; false: a run has too few values for it. */
static bool quantiles_of(const struct histogram *const *runs, size_t nr, unsigned permille,
			 uint64_t *out)
{
	/* At least five values beyond the quantile. */
	uint64_t least = 5000 / (1000 - permille);
	size_t i;

	for (i = 0; i < nr; i++) {
		if (runs[i]->nr < least)
			return false;
		out[i] = histogram_quantile(runs[i], permille);
	}
	return nr > 0;
}

static struct diff_verdict quantile_verdict(const struct histogram *const *base, size_t nr_base,
					    const struct histogram *const *head, size_t nr_head,
					    unsigned permille, const struct diff_limits *limits)
{
	uint64_t b[DIFF_RUNS_MAX], h[DIFF_RUNS_MAX], mb, mh;
	struct diff_verdict none = { 0 };

	if (!quantiles_of(base, nr_base, permille, b) || !quantiles_of(head, nr_head, permille, h))
		return none;
	mb = median_of(b, nr_base);
	mh = median_of(h, nr_head);
	if (!diff_is_large(mb, mh, limits->percent, limits->ns))
		return none;
	return (struct diff_verdict){ .direction = diff_beyond_spread(b, nr_base, h, nr_head),
				      .permille = permille,
				      .ratio = ratio_of(mb, mh) };
}

/* ---- durations --------------------------------------------------------------- */

static int pool_runs(struct histogram *pool, const struct histogram *const *runs, size_t nr)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < nr; i++)
		rc = histogram_join(pool, runs[i]);
	return rc;
}

static uint64_t diff_distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The change at the median times the values of a run is worth a line. */
static bool has_impact(const struct histogram *base, size_t nr_base, const struct histogram *head,
		       size_t nr_head, unsigned permille)
{
	uint64_t change = diff_distance(histogram_quantile(base, permille),
					histogram_quantile(head, permille));
	uint64_t per_run = (base->nr / nr_base + head->nr / nr_head) / 2;

	return (double)change * (double)per_run * (1000 - permille) / 500 >= (double)IMPACT_NS;
}

static struct diff_verdict diff_repeated(const struct histogram *const *base, size_t nr_base,
					 const struct histogram *const *head, size_t nr_head,
					 const struct diff_rank *rank,
					 const struct diff_limits *limits)
{
	struct diff_verdict v = quantile_verdict(base, nr_base, head, nr_head, 500, limits);

	/* A shift of the median moves the ranks, too. */
	if (v.direction && (rank->larger - 0.5) * v.direction >= REPEAT_EFFECT)
		return v;
	/* The tail varies more between runs than the median: few repeats say nothing about it. */
	if (nr_base < TAIL_RUNS || nr_head < TAIL_RUNS)
		return (struct diff_verdict){ 0 };
	return quantile_verdict(base, nr_base, head, nr_head, 900, limits);
}

/* One run on a side: the noise between runs is unknown, so the effect must be larger. */
static struct diff_verdict diff_single(const struct histogram *base, const struct histogram *head,
				       const struct diff_rank *rank,
				       const struct diff_limits *limits)
{
	unsigned percent = limits->percent > SINGLE_PERCENT ? limits->percent : SINGLE_PERCENT;
	uint64_t b = histogram_quantile(base, 500), h = histogram_quantile(head, 500);
	struct diff_verdict none = { 0 };

	if (base->nr < RANK_LEAST || head->nr < RANK_LEAST || fabs(rank->z) < RANK_Z ||
	    fabs(rank->larger - 0.5) < RANK_EFFECT || !diff_is_large(b, h, percent, limits->ns))
		return none;
	if ((h > b) != (rank->larger > 0.5))
		return none;
	return (struct diff_verdict){ .direction = h > b ? 1 : -1,
				      .permille = 500,
				      .ratio = ratio_of(b, h) };
}

int diff_durations(const struct histogram *const *base, size_t nr_base,
		   const struct histogram *const *head, size_t nr_head,
		   const struct diff_limits *limits, struct diff_verdict *out)
{
	struct histogram b = { 0 }, h = { 0 };
	struct diff_verdict v = { 0 };
	struct diff_rank rank;
	int rc = pool_runs(&b, base, nr_base);

	if (!rc)
		rc = pool_runs(&h, head, nr_head);
	if (!rc && b.nr && h.nr) {
		rank = diff_rank_test(&b, &h);
		v = nr_base > 1 && nr_head > 1
			    ? diff_repeated(base, nr_base, head, nr_head, &rank, limits)
			    : diff_single(&b, &h, &rank, limits);
		if (v.direction && !has_impact(&b, nr_base, &h, nr_head, v.permille))
			v.direction = 0;
		v.rank = rank;
	}
	histogram_release(&b);
	histogram_release(&h);
	*out = v;
	return rc;
}

/* ---- counts ------------------------------------------------------------------ */

struct diff_verdict diff_counts(const uint64_t *base, size_t nr_base, const uint64_t *head,
				size_t nr_head, const struct diff_limits *limits)
{
	uint64_t b = median_of(base, nr_base), h = median_of(head, nr_head);
	struct diff_verdict v = { .ratio = ratio_of(b, h) };

	if (nr_base > 1 && nr_head > 1) {
		if (diff_is_large(b, h, limits->percent, COUNT_LEAST))
			v.direction = diff_beyond_spread(base, nr_base, head, nr_head);
	} else if (diff_is_large(b, h, 100, COUNT_SINGLE)) {
		v.direction = h > b ? 1 : -1;
	}
	return v;
}
