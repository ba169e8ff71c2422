/* SPDX-License-Identifier: MIT */
/* histogram.c - how long things took, in little memory. */
#include "analyze/histogram.h"

#include <errno.h>
#include <stdlib.h>

static unsigned step_of(uint64_t ns)
{
	unsigned top;

	if (ns < 4)
		return (unsigned)ns;
	top = 63 - (unsigned)__builtin_clzll(ns);
	return top * 4 + (unsigned)(ns >> (top - 2) & 3);
}

/* The largest value of a step. */
static uint64_t step_end(unsigned step)
{
	unsigned top = step / 4;

	if (step < 8)
		return step;
	return (UINT64_C(4) + step % 4 + 1) * (UINT64_C(1) << (top - 2)) - 1;
}

int histogram_add(struct histogram *h, uint64_t ns)
{
	uint32_t *count;

	if (!h->steps) {
		h->steps = calloc(HISTOGRAM_STEPS, sizeof(*h->steps));
		if (!h->steps)
			return -ENOMEM;
	}
	count = &h->steps[step_of(ns)];
	*count += *count != UINT32_MAX;
	h->nr++;
	if (ns > h->max)
		h->max = ns;
	return 0;
}

uint64_t histogram_quantile(const struct histogram *h, unsigned permille)
{
	uint64_t wanted = (h->nr * permille + 999) / 1000, seen = 0;
	unsigned i;

	if (!h->nr)
		return 0;
	for (i = 0; i < HISTOGRAM_STEPS; i++) {
		seen += h->steps[i];
		if (seen >= wanted && seen)
			return step_end(i) < h->max ? step_end(i) : h->max;
	}
	return h->max;
}

int histogram_join(struct histogram *to, const struct histogram *from)
{
	unsigned i;

	if (!from->steps)
		return 0;
	if (!to->steps)
		to->steps = calloc(HISTOGRAM_STEPS, sizeof(*to->steps));
	if (!to->steps)
		return -ENOMEM;
	for (i = 0; i < HISTOGRAM_STEPS; i++) {
		uint64_t sum = (uint64_t)to->steps[i] + from->steps[i];

		to->steps[i] = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
	}
	to->nr += from->nr;
	if (from->max > to->max)
		to->max = from->max;
	return 0;
}

void histogram_release(struct histogram *h)
{
	free(h->steps);
	*h = (struct histogram){ 0 };
}
