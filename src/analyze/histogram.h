/* SPDX-License-Identifier: MIT */
/*
 * histogram.h - how long things took, in little memory.
 *
 * Four steps to each power of two: a quantile is right to within a quarter.  One
 * kilobyte, asked for with the first value.
 */
#ifndef ANALYZE_HISTOGRAM_H
#define ANALYZE_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_STEPS 256

/* All zero is empty. */
struct histogram {
	uint32_t *steps;
	uint64_t nr, max;
};

/* 0 or -ENOMEM. */
int histogram_add(struct histogram *h, uint64_t ns);

/* No more than a quarter above the value that @permille of all do not exceed; 0 of none. */
uint64_t histogram_quantile(const struct histogram *h, unsigned permille);

/* @to has all of @from, too.  0 or -ENOMEM. */
int histogram_join(struct histogram *to, const struct histogram *from);

void histogram_release(struct histogram *h);

#endif
