/* SPDX-License-Identifier: MIT */
/* percentiles.c - percentiles with a bounded error. */
#include "frames/file/percentiles.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An integer that sorts like the value: sign, exponent and the first bits of the fraction. */
static uint64_t order_of(double value)
{
	uint64_t bits;

	value += 0.0; /* no negative zero */
	memcpy(&bits, &value, sizeof(bits));
	return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static struct spread_step *spread_step_of(struct spread *s, double value)
{
	uint64_t order = order_of(value);
	struct spread_step **page;

	if (!s->pages)
		s->pages = calloc(SPREAD_PAGES, sizeof(struct spread_step *)); // NOLINT
	if (!s->pages)
		return NULL;
	page = &s->pages[order >> 52];
	if (!*page)
		*page = calloc(SPREAD_STEPS, sizeof(**page));
	return *page ? &(*page)[order >> 45 & (SPREAD_STEPS - 1)] : NULL;
}

int spread_add(struct spread *s, double value)
{
	struct spread_step *step = spread_step_of(s, value);

	if (!step)
		return -ENOMEM;
	step->nr++;
	step->sum += value;
	if (!s->nr || value < s->min)
		s->min = value;
	if (!s->nr || value > s->max)
		s->max = value;
	s->nr++;
	return 0;
}

void spread_reset(struct spread *s)
{
	unsigned i;

	for (i = 0; s->pages && i < SPREAD_PAGES; i++) {
		if (s->pages[i])
			memset(s->pages[i], 0, SPREAD_STEPS * sizeof(*s->pages[i]));
	}
	s->nr = 0;
}

void spread_release(struct spread *s)
{
	unsigned i;

	for (i = 0; s->pages && i < SPREAD_PAGES; i++)
		free(s->pages[i]);
	free(s->pages);
	*s = (struct spread){ 0 };
}

/* Clamp: sums of very large values overflow, and sums of many values are rounded. */
static double spread_mean_of(const struct spread *s, const struct spread_step *step)
{
	double mean = step->sum / (double)step->nr;

	if (!isfinite(mean))
		return step->sum < 0 ? s->min : s->max;
	return mean < s->min ? s->min : mean > s->max ? s->max : mean;
}

double spread_percentile(const struct spread *s, double share)
{
	double rank = ceil(share * (double)s->nr);
	uint64_t wanted = rank < 1 ? 1 : (uint64_t)rank, seen = 0;
	unsigned page, i;

	if (!s->nr || wanted >= s->nr)
		return s->nr ? s->max : 0;
	for (page = 0; page < SPREAD_PAGES; page++) {
		for (i = 0; s->pages[page] && i < SPREAD_STEPS; i++) {
			seen += s->pages[page][i].nr;
			if (seen >= wanted)
				return spread_mean_of(s, &s->pages[page][i]);
		}
	}
	return s->max;
}
