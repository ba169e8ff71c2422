/* SPDX-License-Identifier: MIT */
/*
 * percentiles.h - distribution of values: smallest, largest, and percentiles with a bounded error.
 *
 * A log-linear histogram: SPREAD_STEPS steps of equal width per power of two, on both sides of
 * zero, with the count and the sum of each.  A percentile is the mean of the step that contains
 * the exact value: the error is less than 1 / SPREAD_STEPS of the value (0.8 %).  A step that
 * contains a single value, as for integers below 2 * SPREAD_STEPS, is exact.
 */
#ifndef FRAMES_FILE_PERCENTILES_H
#define FRAMES_FILE_PERCENTILES_H

#include <stdint.h>

#define SPREAD_STEPS 128
#define SPREAD_PAGES 4096 /* powers of two of a double, of both signs */

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

/* Reset to empty; keeps the memory. */
void spread_reset(struct spread *s);
void spread_release(struct spread *s);

/*
 * The smallest value that at least @share of all values do not exceed (0.5: the median); 0 if
 * empty.
 */
double spread_percentile(const struct spread *s, double share);

#endif
