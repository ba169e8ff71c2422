/* SPDX-License-Identifier: MIT */
/* histogram.c - durations in bounded memory, with quantiles of bounded error. */
#include "analyze/histogram.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define STEP_BITS  6
#define STEPS      (1u << STEP_BITS)     /* of an octave */
#define NR_OCTAVES (64u - STEP_BITS + 1) /* the first one holds the values below STEPS */

static unsigned step_of(uint64_t ns)
{
	unsigned top;

	if (ns < STEPS)
		return (unsigned)ns;
	top = 63 - (unsigned)__builtin_clzll(ns);
	return (top - STEP_BITS + 1) * STEPS + (unsigned)(ns >> (top - STEP_BITS) & (STEPS - 1));
}

/* The largest value of a step. */
static uint64_t step_end(unsigned step)
{
	unsigned octave = step / STEPS;

	if (!octave)
		return step;
	return ((uint64_t)(STEPS + step % STEPS + 1) << (octave - 1)) - 1;
}

/* The smallest value of a coarse step; 0 after the last one, as 2^64 does not fit. */
static uint64_t coarse_start(unsigned step)
{
	if (step < 8)
		return step < 4 ? step : 4;
	return step < HISTOGRAM_COARSE ? (UINT64_C(4) + step % 4) << (step / 4 - 2) : 0;
}

/* The steps of an octave, allocated with its first value; NULL without memory. */
static uint32_t *octave_at(struct histogram *h, unsigned octave)
{
	if (!h->octaves)
		h->octaves = calloc(NR_OCTAVES, sizeof(*h->octaves));
	if (!h->octaves)
		return NULL;
	if (!h->octaves[octave])
		h->octaves[octave] = calloc(STEPS, sizeof(**h->octaves));
	return h->octaves[octave];
}

static void count_add(uint32_t *count, uint64_t nr)
{
	uint64_t sum = *count + nr;

	*count = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}

int histogram_add(struct histogram *h, uint64_t ns)
{
	unsigned step = step_of(ns);
	uint32_t *octave = octave_at(h, step / STEPS);

	if (!octave)
		return -ENOMEM;
	count_add(&octave[step % STEPS], 1);
	h->nr++;
	if (ns > h->max)
		h->max = ns;
	return 0;
}

static uint32_t count_of(const struct histogram *h, unsigned step)
{
	const uint32_t *octave = h->octaves ? h->octaves[step / STEPS] : NULL;

	return octave ? octave[step % STEPS] : 0;
}

uint64_t histogram_quantile(const struct histogram *h, unsigned permille)
{
	uint64_t wanted = (h->nr * permille + 999) / 1000, seen = 0;
	unsigned step;

	if (!h->nr)
		return 0;
	for (step = 0; step < NR_OCTAVES * STEPS; step++) {
		seen += count_of(h, step);
		if (seen >= wanted && seen)
			return step_end(step) < h->max ? step_end(step) : h->max;
	}
	return h->max;
}

uint64_t histogram_coarse(const struct histogram *h, unsigned step)
{
	uint64_t nr = 0;
	unsigned i, last;

	if (step >= 4 && step < 8)
		return 0;
	last = step_of(coarse_start(step == 3 ? 8 : step + 1) - 1);
	for (i = step_of(coarse_start(step)); i <= last; i++)
		nr += count_of(h, i);
	return nr;
}

bool histogram_next(const struct histogram *h, unsigned *step, uint64_t *value, uint64_t *nr)
{
	while (h->octaves && *step < NR_OCTAVES * STEPS) {
		unsigned at = (*step)++;

		if (!h->octaves[at / STEPS]) {
			*step = (at / STEPS + 1) * STEPS;
			continue;
		}
		*nr = count_of(h, at);
		if (!*nr)
			continue;
		*value = step_end(at) < h->max ? step_end(at) : h->max;
		return true;
	}
	return false;
}

static int join_octave(struct histogram *to, unsigned octave, const uint32_t *from)
{
	uint32_t *counts = octave_at(to, octave);
	unsigned i;

	if (!counts)
		return -ENOMEM;
	for (i = 0; i < STEPS; i++)
		count_add(&counts[i], from[i]);
	return 0;
}

int histogram_join(struct histogram *to, const struct histogram *from)
{
	unsigned i;

	for (i = 0; from->octaves && i < NR_OCTAVES; i++) {
		if (from->octaves[i] && join_octave(to, i, from->octaves[i]) < 0)
			return -ENOMEM;
	}
	to->nr += from->nr;
	if (from->max > to->max)
		to->max = from->max;
	return 0;
}

void histogram_release(struct histogram *h)
{
	unsigned i;

	for (i = 0; h->octaves && i < NR_OCTAVES; i++)
		free(h->octaves[i]);
	free(h->octaves);
	*h = (struct histogram){ 0 };
}
