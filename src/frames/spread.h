/* SPDX-License-Identifier: MIT */
/*
 * spread.h - how values are spread: smallest, largest, and percentiles of a fair sample.
 *
 * The sample is a reservoir: of all values since the last reset each is in it with the same
 * chance.  With fewer values than it holds, percentiles are exact.
 */
#ifndef FRAMES_SPREAD_H
#define FRAMES_SPREAD_H

#include <stdint.h>

#define SPREAD_SAMPLE 2048

/* All zero is empty. */
struct spread {
	uint64_t nr;
	double min, max;
	uint64_t random;
	double sample[SPREAD_SAMPLE];
};

void spread_add(struct spread *s, double value);
void spread_reset(struct spread *s);

/* @share: 0.5 is the median.  Sorts the sample; nothing is added afterwards but by a reset. */
double spread_percentile(struct spread *s, double share);

#endif
