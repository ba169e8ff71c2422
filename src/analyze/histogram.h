/* SPDX-License-Identifier: MIT */
/*
 * histogram.h - durations in bounded memory, with quantiles of bounded error.
 *
 * Log-linear: 64 steps of equal width to each power of two, so that a quantile is at most 1/64
 * (1.6 %) above the exact one; values below 64 are exact.  An octave (256 bytes) is allocated with
 * its first value.
 */
#ifndef ANALYZE_HISTOGRAM_H
#define ANALYZE_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

/* Coarse steps, four to each power of two, for drawing; steps 4 to 7 stay empty. */
#define HISTOGRAM_COARSE 256

/* All zero is empty. */
struct histogram {
	uint32_t **octaves;
	uint64_t nr, max;
};

/* 0 or -ENOMEM. */
int histogram_add(struct histogram *h, uint64_t ns);

/* At most 1/64 above the value that @permille of all values do not exceed; 0 when empty. */
uint64_t histogram_quantile(const struct histogram *h, unsigned permille);

/* Number of values in coarse step @step. */
uint64_t histogram_coarse(const struct histogram *h, unsigned step);

/*
 * Walk the values in ascending order: *@step starts at 0.  Sets the largest value of the next step
 * that is not empty, and how many values are in it; false at the end.
 */
bool histogram_next(const struct histogram *h, unsigned *step, uint64_t *value, uint64_t *nr);

/* Add all of @from to @to.  0 or -ENOMEM. */
int histogram_join(struct histogram *to, const struct histogram *from);

void histogram_release(struct histogram *h);

#endif
