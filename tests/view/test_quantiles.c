/* SPDX-License-Identifier: MIT */
/* test_quantiles.c - quantiles of durations against sorted values, and the coarse steps of the
 * page. */
#include <stdlib.h>

#include "analyze/histogram.h"
#include "check.h"

#define NR 20000u

static uint64_t seed = 1;
static uint64_t values[NR];

static uint64_t random_bits(void)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return seed >> 16;
}

static int compare_values(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The smallest value of a coarse step, as docs/view-format.md defines it. */
static uint64_t step_start(unsigned s)
{
	return s < 4 ? s : (UINT64_C(4) + s % 4) << (s / 4 - 2);
}

static void check_quantiles(const struct histogram *h)
{
	static const unsigned permilles[] = { 1, 100, 500, 900, 990, 999, 1000 };
	size_t i;

	qsort(values, NR, sizeof(*values), compare_values);
	for (i = 0; i < sizeof(permilles) / sizeof(permilles[0]); i++) {
		uint64_t exact = values[((uint64_t)NR * permilles[i] + 999) / 1000 - 1];
		uint64_t got = histogram_quantile(h, permilles[i]);

		CHECK(got >= exact && got - exact <= exact / 64);
	}
	CHECK(h->max == values[NR - 1]);
}

static void check_coarse_steps(const struct histogram *h)
{
	uint64_t sum = 0;
	unsigned s, i = 0;

	for (s = 0; s < HISTOGRAM_COARSE; s++) {
		uint64_t nr = histogram_coarse(h, s), expected = 0;

		sum += nr;
		if (s >= 4 && s < 8) {
			CHECK(nr == 0);
			continue;
		}
		while (i < NR && values[i] >= step_start(s) &&
		       (s == HISTOGRAM_COARSE - 1 || values[i] < step_start(s == 3 ? 8 : s + 1))) {
			i++;
			expected++;
		}
		CHECK(nr == expected);
	}
	CHECK(sum == NR);
}

/* Every magnitude from 1 to 2^@bits is as frequent as any other. */
static void check_spread_over(unsigned bits)
{
	struct histogram h = { 0 }, half = { 0 };
	unsigned i;

	for (i = 0; i < NR; i++) {
		unsigned size = (unsigned)(random_bits() % bits) + 1;

		values[i] = (random_bits() << 16 | random_bits()) >> (64 - size);
		CHECK(histogram_add(i % 2 ? &half : &h, values[i]) == 0);
	}
	CHECK(histogram_join(&h, &half) == 0);
	check_quantiles(&h);
	check_coarse_steps(&h);
	histogram_release(&half);
	histogram_release(&h);
}

static void quantiles_are_within_a_64th_of_the_exact_ones(void)
{
	check_spread_over(10);
	check_spread_over(36);
	check_spread_over(64);
}

static void an_empty_histogram_has_no_quantile(void)
{
	struct histogram h = { 0 };

	CHECK(histogram_quantile(&h, 500) == 0 && histogram_coarse(&h, 40) == 0);
	histogram_release(&h);
}

int main(void)
{
	quantiles_are_within_a_64th_of_the_exact_ones();
	an_empty_histogram_has_no_quantile();
	return 0;
}
