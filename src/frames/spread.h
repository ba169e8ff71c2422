/* SPDX-License-Identifier: MIT */
/*
 * spread.h - how values are spread: smallest, largest, and percentiles with a bounded error.
 *
 * A log-linear histogram: SPREAD_STEPS steps of equal width to each power of two, on both sides of
 * zero, with the count and the sum of each.  A percentile is the mean of the step that holds the
 * exact one: it differs from that by less than 1 / SPREAD_STEPS of it (0.8 %).  A step that
 * holds one value only, as those of integers below 2 * SPREAD_STEPS do, is exact.
 */
#ifndef FRAMES_SPREAD_H
#define FRAMES_SPREAD_H

#include <stdint.h>

#define SPREAD_STEPS 128
#define SPREAD_PAGES 4096 /* powers of two that a double has, of both signs */

struct spread_step {
	uint64_t nr;
	double sum;
};

/* All zero is empty. */
struct spread {
	uint64_t nr;
	double min, max;
	struct spread_step **pages; /* allocated as values need them */
};

/* @value is finite.  0 or -ENOMEM. */
int spread_add(struct spread *s, double value);

/* Empty again; keeps its memory. */
void spread_reset(struct spread *s);
void spread_release(struct spread *s);

/* The smallest value that at least @share of all do not exceed (0.5: the median); 0 of none. */
double spread_percentile(const struct spread *s, double share);

#endif
