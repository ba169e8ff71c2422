/* SPDX-License-Identifier: MIT */
/*
 * axis.h - a time axis with a bounded number of equal buckets.
 *
 * Bucket n covers n << shift to (n + 1) << shift, so doubling the width merges two neighbours into
 * one, and the result does not depend on the order of the times.
 */
#ifndef VIEW_AXIS_H
#define VIEW_AXIS_H

#include <stddef.h>
#include <stdint.h>

struct axis {
	unsigned shift;
	uint64_t first; /* number of the first bucket */
	size_t nr, max;
};

/* Callbacks of the axis to change its owner's buckets. */
struct axis_owner {
	/*
	 * Merge pairs: bucket i goes to axis_merged(axis, i).  The axis still has its old values.
	 */
	void (*merge)(void *arg);
	/* Move all buckets up by @by; the first @by become empty. */
	void (*move)(void *arg, size_t by);
	void *arg;
};

/* Extend the axis to cover @ts. */
void axis_stretch(struct axis *ax, uint64_t ts, const struct axis_owner *owner);

/* Double the width of the buckets. */
void axis_merge(struct axis *ax, const struct axis_owner *owner);

static inline size_t axis_merged(const struct axis *ax, size_t i)
{
	return (size_t)(((ax->first + i) >> 1) - (ax->first >> 1));
}

static inline uint64_t axis_width(const struct axis *ax)
{
	return UINT64_C(1) << ax->shift;
}

static inline uint64_t axis_start(const struct axis *ax, size_t i)
{
	return (ax->first + i) << ax->shift;
}

/* End of bucket i, exclusive; the last representable bucket ends at its last nanosecond. */
static inline uint64_t axis_end(const struct axis *ax, size_t i)
{
	uint64_t end = (ax->first + i + 1) << ax->shift;

	return end ? end : UINT64_MAX;
}

/* The bucket of @ts; extends the axis if necessary. */
static inline size_t axis_at(struct axis *ax, uint64_t ts, const struct axis_owner *owner)
{
	uint64_t i = (ts >> ax->shift) - ax->first;

	if (i >= ax->nr) {
		axis_stretch(ax, ts, owner);
		i = (ts >> ax->shift) - ax->first;
	}
	return (size_t)i;
}

#endif
