/* SPDX-License-Identifier: MIT */
/* test_diff_stats.c - the statistics of `diff`: ranks, spreads, and no alarm on noise alone. */
#include <math.h>

#include "analyze/diff_stats.h"
#include "check.h"

#define US     UINT64_C(1000)
#define RUNS   3
#define VALUES 200

static struct diff_verdict durations_differ(const struct histogram *const *base, size_t nr_base,
					    const struct histogram *const *head, size_t nr_head,
					    const struct diff_limits *limits)
{
	struct diff_verdict v;

	CHECK_EQ(diff_durations(base, nr_base, head, nr_head, limits, &v), 0);
	return v;
}

static uint64_t random_state = 1;

/* From 0 to 1. */
static double random_share(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (double)(random_state >> 11) / (double)(UINT64_C(1) << 53);
}

/* Durations with a long tail, as waits have; @noise: how much this run differs from others. */
static void fill_run(struct histogram *h, double median_us, double noise)
{
	double factor = exp((random_share() - 0.5) * 2 * noise);
	int i;

	for (i = 0; i < VALUES; i++) {
		double us = median_us * factor * exp((random_share() + random_share() - 1) * 1.5);

		CHECK_EQ(histogram_add(h, (uint64_t)(us * 1000)), 0);
	}
}

static void fill_runs(struct histogram *runs, const struct histogram **list, double median_us,
		      double noise)
{
	int i;

	for (i = 0; i < RUNS; i++) {
		runs[i] = (struct histogram){ 0 };
		fill_run(&runs[i], median_us, noise);
		list[i] = &runs[i];
	}
}

static void release_runs(struct histogram *runs)
{
	int i;

	for (i = 0; i < RUNS; i++)
		histogram_release(&runs[i]);
}

static void the_rank_test_counts_pairs(void)
{
	uint64_t b[] = { 10, 20, 30, 40, 50 }, h[] = { 25, 35, 45, 50, 60, 5 };
	struct histogram base = { 0 }, head = { 0 };
	struct diff_rank rank;
	double pairs = 0;
	size_t i, k;

	for (i = 0; i < 5; i++)
		histogram_add(&base, b[i]);
	for (k = 0; k < 6; k++)
		histogram_add(&head, h[k]);
	for (i = 0; i < 5; i++) {
		for (k = 0; k < 6; k++)
			pairs += h[k] > b[i] ? 1 : h[k] == b[i] ? 0.5 : 0;
	}
	rank = diff_rank_test(&base, &head);
	CHECK(fabs(rank.larger - pairs / 30) < 1e-9);
	CHECK(fabs(diff_rank_test(&head, &base).larger - (1 - rank.larger)) < 1e-9);
	CHECK(fabs(diff_rank_test(&base, &base).larger - 0.5) < 1e-9);
	histogram_release(&head);
	CHECK(fabs(diff_rank_test(&base, &head).larger - 0.5) < 1e-9); /* empty */
	histogram_release(&base);
}

static void a_difference_must_exceed_the_spread(void)
{
	uint64_t tight[] = { 100, 101, 102 }, above[] = { 200, 202, 204 };
	uint64_t wide[] = { 100, 150, 190 }, near[] = { 195, 220, 300 };

	CHECK_EQ(diff_beyond_spread(tight, 3, above, 3), 1);
	CHECK_EQ(diff_beyond_spread(above, 3, tight, 3), -1);
	CHECK_EQ(diff_beyond_spread(wide, 3, near, 3), 0); /* apart, by less than the spread */
	CHECK_EQ(diff_beyond_spread(tight, 3, tight, 3), 0);
	CHECK_EQ(diff_beyond_spread(tight, 1, above, 3), 0); /* one run has no spread */
}

/* Runs that differ from each other for no reason; less if there is one run of each. */
static void noise_alone_is_no_difference(void)
{
	const struct diff_limits limits = { .percent = 25, .ns = 50 * US };
	struct histogram b[RUNS], h[RUNS];
	const struct histogram *base[RUNS], *head[RUNS];
	int i, repeated = 0, single = 0;

	for (i = 0; i < 1000; i++) {
		fill_runs(b, base, 1000, 0.3);
		fill_runs(h, head, 1000, 0.3);
		repeated += durations_differ(base, RUNS, head, RUNS, &limits).direction != 0;
		release_runs(b);
		release_runs(h);
		fill_runs(b, base, 1000, 0.15);
		fill_runs(h, head, 1000, 0.15);
		single += durations_differ(base, 1, head, 1, &limits).direction != 0;
		release_runs(b);
		release_runs(h);
	}
	printf("of 1,000 comparisons of noise: %d alarms with repeats, %d without\n", repeated,
	       single);
	CHECK(repeated <= 8 && single <= 4);
}

static void a_change_beyond_the_noise_is_found(void)
{
	const struct diff_limits limits = { .percent = 25, .ns = 50 * US };
	struct histogram b[RUNS], h[RUNS];
	const struct histogram *base[RUNS], *head[RUNS];
	struct diff_verdict v;
	int i, found = 0;

	for (i = 0; i < 100; i++) {
		fill_runs(b, base, 1000, 0.1);
		fill_runs(h, head, 2500, 0.1);
		v = durations_differ(base, RUNS, head, RUNS, &limits);
		found += v.direction == 1 && v.ratio > 2 && v.ratio < 3;
		found += durations_differ(head, RUNS, base, RUNS, &limits).direction == -1;
		found += durations_differ(base, 1, head, 1, &limits).direction == 1;
		release_runs(b);
		release_runs(h);
	}
	CHECK(found >= 290);
}

static void a_change_below_the_limits_is_none(void)
{
	const struct diff_limits limits = { .percent = 25, .ns = 50 * US };
	struct histogram b[RUNS], h[RUNS];
	const struct histogram *base[RUNS], *head[RUNS];

	fill_runs(b, base, 1000, 0.001);
	fill_runs(h, head, 1150, 0.001); /* clear, and 15 % only */
	CHECK_EQ(durations_differ(base, RUNS, head, RUNS, &limits).direction, 0);
	release_runs(b);
	release_runs(h);
	fill_runs(b, base, 10, 0.001);
	fill_runs(h, head, 40, 0.001); /* clear, and 30 us only */
	CHECK_EQ(durations_differ(base, RUNS, head, RUNS, &limits).direction, 0);
	release_runs(b);
	release_runs(h);
}

static void counts_are_compared_by_their_spread(void)
{
	const struct diff_limits limits = { .percent = 25 };
	uint64_t none[] = { 0, 0, 0 }, some[] = { 60, 61, 60 }, few[] = { 3, 4, 3 };

	CHECK_EQ(diff_counts(none, 3, some, 3, &limits).direction, 1);
	CHECK_EQ(diff_counts(some, 3, none, 3, &limits).direction, -1);
	CHECK_EQ(diff_counts(none, 3, few, 3, &limits).direction, 0);
	CHECK_EQ(diff_counts(none, 1, some, 1, &limits).direction, 1);
	CHECK_EQ(diff_counts(none, 1, few, 1, &limits).direction, 0);
}

int main(void)
{
	RUN(the_rank_test_counts_pairs);
	RUN(a_difference_must_exceed_the_spread);
	RUN(noise_alone_is_no_difference);
	RUN(a_change_beyond_the_noise_is_found);
	RUN(a_change_below_the_limits_is_none);
	RUN(counts_are_compared_by_their_spread);
	return 0;
}
