/* SPDX-License-Identifier: MIT */
/* series.c - coroutines by state, and event counts, over time. */
#include "view/series.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SHIFT 10 /* about a microsecond */

/* Changes in the lower half persist through the upper half. */
static void series_join(struct series_bucket *to, const struct series_bucket *from,
			double area_after)
{
	unsigned k;

	for (k = 0; k < NR_SERIES_GAUGES; k++) {
		to->areas[k] += from->areas[k] + (double)from->changes[k] * area_after;
		to->changes[k] += from->changes[k];
	}
	for (k = 0; k < NR_SERIES_COUNTS; k++)
		to->counts[k] += from->counts[k];
	if (from->changed > to->changed)
		to->changed = from->changed;
}

static void series_merge(void *arg)
{
	struct series *s = arg;
	const struct axis *ax = &s->axis;
	size_t i;

	s->axis_changed = s->tick;
	for (i = 0; i < ax->nr; i++) {
		struct series_bucket from = s->buckets[i];
		bool is_lower = !((ax->first + i) & 1);

		memset(&s->buckets[i], 0, sizeof(from));
		series_join(&s->buckets[axis_merged(ax, i)], &from,
			    is_lower ? (double)axis_width(ax) : 0);
	}
}

static void series_move(void *arg, size_t by)
{
	struct series *s = arg;

	s->axis_changed = s->tick;
	memmove(s->buckets + by, s->buckets, s->axis.nr * sizeof(*s->buckets));
	memset(s->buckets, 0, by * sizeof(*s->buckets));
}

int series_init(struct series *s)
{
	s->buckets = calloc(SERIES_BUCKETS, sizeof(*s->buckets));
	s->axis = (struct axis){ .shift = FIRST_SHIFT, .max = SERIES_BUCKETS };
	s->owner = (struct axis_owner){ series_merge, series_move, s };
	return s->buckets ? 0 : -ENOMEM;
}

void series_change(struct series *s, enum series_gauge gauge, int by, uint64_t ts)
{
	size_t i = axis_at(&s->axis, ts, &s->owner);

	s->buckets[i].changes[gauge] += by;
	s->buckets[i].areas[gauge] += by * (double)(axis_end(&s->axis, i) - ts);
	s->buckets[i].changed = s->tick;
}

void series_count(struct series *s, enum series_count count, uint64_t nr, uint64_t ts)
{
	struct series_bucket *b = &s->buckets[axis_at(&s->axis, ts, &s->owner)];

	b->counts[count] += nr;
	b->changed = s->tick;
}

static double series_mean_of(int64_t before, const struct series_bucket *b, unsigned gauge,
			     double width, double cut)
{
	double area = (double)before * width + b->areas[gauge];

	/* The part after the end was counted with the bucket's last value. */
	area -= (double)(before + b->changes[gauge]) * cut;
	area /= width > cut ? width - cut : 1;
	return area > 0 ? area : 0;
}

struct series_point *series_points(struct series *s, uint64_t end_ts, size_t *nr)
{
	struct series_point *points;
	int64_t now[NR_SERIES_GAUGES] = { 0 };
	size_t i;
	unsigned k;

	*nr = 0;
	if (s->axis.nr) {
		size_t last = axis_at(&s->axis, end_ts, &s->owner);

		/* The bucket is cut at the end, so it changes with the next tick. */
		s->buckets[last].changed = s->tick;
		*nr = last + 1;
	}
	points = calloc(*nr + 1, sizeof(*points));
	for (i = 0; points && i < *nr; i++) {
		const struct series_bucket *b = &s->buckets[i];
		uint64_t end = axis_end(&s->axis, i);
		double cut = end > end_ts ? (double)(end - end_ts) : 0;

		for (k = 0; k < NR_SERIES_GAUGES; k++) {
			points[i].mean[k] = series_mean_of(now[k], b, k,
							   (double)axis_width(&s->axis), cut);
			now[k] += b->changes[k];
			points[i].at_end[k] = now[k] > 0 ? (uint64_t)now[k] : 0;
		}
		memcpy(points[i].counts, b->counts, sizeof(b->counts));
	}
	return points;
}

size_t series_changed_from(const struct series *s, uint64_t since, size_t nr)
{
	size_t i = 0;

	if (!since || s->axis_changed > since)
		return 0;
	while (i < nr && s->buckets[i].changed <= since)
		i++;
	return i;
}

void series_release(struct series *s)
{
	free(s->buckets);
	*s = (struct series){ 0 };
}
