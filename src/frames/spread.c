/* SPDX-License-Identifier: MIT */
/* spread.c - percentiles of a fair sample. */
#include "frames/spread.h"

#include <stdlib.h>

static uint64_t roll(struct spread *s)
{
	if (!s->random)
		s->random = UINT64_C(0x9e3779b97f4a7c15);
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return s->random;
}

void spread_add(struct spread *s, double value)
{
	uint64_t at = s->nr++;

	if (at == 0 || value < s->min)
		s->min = value;
	if (at == 0 || value > s->max)
		s->max = value;
	if (at >= SPREAD_SAMPLE)
		at = roll(s) % s->nr;
	if (at < SPREAD_SAMPLE)
		s->sample[at] = value;
}

void spread_reset(struct spread *s)
{
	s->nr = 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double spread_percentile(struct spread *s, double share)
{
	uint64_t nr = s->nr < SPREAD_SAMPLE ? s->nr : SPREAD_SAMPLE;

	if (!nr)
		return 0;
	qsort(s->sample, nr, sizeof(s->sample[0]), compare);
	return s->sample[(uint64_t)(share * (double)(nr - 1) + 0.5)];
}
