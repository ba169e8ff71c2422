/* SPDX-License-Identifier: MIT */
/*
 * axis.h - time in at most so many equal buckets, whatever comes.
 *
 * Bucket n covers n << shift to (n + 1) << shift, so two neighbours become one by doubling
 * the width, and nothing depends on the order in which times come.
 */
#ifndef VIEW_AXIS_H
#define VIEW_AXIS_H

#include <stddef.h>
#include <stdint.h>

struct axis {
	unsigned shift;
	uint64_t first; /* bucket */
	size_t nr, max;
};

/* What an axis does to the buckets of its owner. */
struct axis_owner {
	/* Two become one: bucket i goes to axis_merged(axis, i). The axis is still as before. */
	void (*merge)(void *arg);
	/* All go up by @by, empty ones come in at the front. */
	void (*move)(void *arg, size_t by);
	void *arg;
};

/* Make a bucket for @ts. */
void axis_stretch(struct axis *ax, uint64_t ts, const struct axis_owner *owner);

/* Twice as wide. */
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

/* Behind the last nanosecond; of the very last bucket that there can be, at it. */
static inline uint64_t axis_end(const struct axis *ax, size_t i)
{
	uint64_t end = (ax->first + i + 1) << ax->shift;

	return end ? end : UINT64_MAX;
}

/* The bucket of @ts. */
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
