/* SPDX-License-Identifier: MIT */
/*
 * series.h - coroutines by state, and event counts, over time.
 *
 * Changes are summed per bucket, so their order does not matter.  The sum of each change times its
 * distance to the end of the bucket gives the exact mean of the bucket.
 */
#ifndef VIEW_SERIES_H
#define VIEW_SERIES_H

#include "view/axis.h"

#define SERIES_BUCKETS 2048u

enum series_gauge {
	SERIES_ALIVE,
	SERIES_RUNNING,
	SERIES_SUSPENDED,
	SERIES_READY,
	NR_SERIES_GAUGES
};
enum series_count {
	SERIES_EVENTS,
	SERIES_BIRTHS,
	SERIES_ENDS,
	SERIES_WAKES,
	SERIES_LOST,
	NR_SERIES_COUNTS,
};

struct series_bucket {
	int64_t changes[NR_SERIES_GAUGES];
	double areas[NR_SERIES_GAUGES]; /* sum of each change times the rest of the bucket */
	uint64_t counts[NR_SERIES_COUNTS];
	uint64_t changed; /* tick of the last change */
};

struct series {
	struct axis axis;
	struct axis_owner owner;
	struct series_bucket *buckets;
	uint64_t tick;         /* current tick, set by the owner */
	uint64_t axis_changed; /* tick when the axis changed its buckets */
};

/* The values of one bucket. */
struct series_point {
	uint64_t at_end[NR_SERIES_GAUGES];
	double mean[NR_SERIES_GAUGES];
	uint64_t counts[NR_SERIES_COUNTS];
};

/* 0 or -ENOMEM. */
int series_init(struct series *s);

void series_change(struct series *s, enum series_gauge gauge, int by, uint64_t ts);
void series_count(struct series *s, enum series_count count, uint64_t nr, uint64_t ts);

/*
 * All buckets up to @end_ts, where the last one is cut.  The caller frees them.  NULL: no memory.
 */
struct series_point *series_points(struct series *s, uint64_t end_ts, size_t *nr);

/* The first bucket that changed after tick @since; @nr is the count from series_points(). */
size_t series_changed_from(const struct series *s, uint64_t since, size_t nr);

void series_release(struct series *s);

#endif
