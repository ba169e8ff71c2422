/* SPDX-License-Identifier: MIT */
/*
 * diff_stats.h - decide whether a difference between two sets of runs is more than noise.
 *
 * With repeats on both sides the noise is known: it is the spread between repeats.  With one run
 * the values of that run are compared, by a rank test and a larger least effect.
 */
#ifndef ANALYZE_DIFF_STATS_H
#define ANALYZE_DIFF_STATS_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/histogram.h"

/* What must be exceeded besides the noise. */
struct diff_limits {
	unsigned percent; /* least relative change */
	uint64_t ns;      /* least absolute change of a duration */
};

/* Probability that a value of @head is larger than one of @base; 0.5: no difference. */
struct diff_rank {
	double larger;
	double z; /* deviation from 0.5, in standard errors */
};

/* Result of a comparison; all zero but the rank: no difference. */
struct diff_verdict {
	int direction;         /* +1: head is larger, -1: smaller, 0: none beyond noise */
	unsigned permille;     /* the quantile that differs most clearly; 0: a count */
	double ratio;          /* head to base, at that quantile */
	struct diff_rank rank; /* of durations, over the merged values; all zero: no values */
};

struct diff_rank diff_rank_test(const struct histogram *base, const struct histogram *head);

/*
 * +1 or -1 if the ranges of the two sets of values are apart by more than the spread within each
 * set demands, on a logarithmic scale; otherwise 0.  At least two values on each side.
 */
int diff_beyond_spread(const uint64_t *base, size_t nr_base, const uint64_t *head, size_t nr_head);

/* Compare durations; one histogram per run.  0 or -ENOMEM. */
int diff_durations(const struct histogram *const *base, size_t nr_base,
		   const struct histogram *const *head, size_t nr_head,
		   const struct diff_limits *limits, struct diff_verdict *out);

/* Compare counts; one per run. */
struct diff_verdict diff_counts(const uint64_t *base, size_t nr_base, const uint64_t *head,
				size_t nr_head, const struct diff_limits *limits);

#define DIFF_RUNS_MAX 64

#endif
