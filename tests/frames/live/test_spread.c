/* SPDX-License-Identifier: MIT */
/* test_spread.c - percentiles are within their bound of the exact ones; shares are exact. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "frames/file/slot_shares.h"
#include "frames/file/percentiles.h"

#define NR 200000

static struct spread s;
static double values[NR];

static uint64_t roll(void)
{
	static uint64_t x = UINT64_C(0x9e3779b97f4a7c15);

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Compares all percentiles of values[0..nr) with the sorted values. */
static void check_bound(size_t nr)
{
	size_t i, p;

	spread_reset(&s);
	for (i = 0; i < nr; i++)
		CHECK_EQ(spread_add(&s, values[i]), 0);
	qsort(values, nr, sizeof(values[0]), compare);
	CHECK(s.min == values[0] && s.max == values[nr - 1]);
	for (p = 1; p <= 1000; p++) {
		size_t rank = (size_t)ceil((double)p / 1000 * (double)nr);
		double exact = values[rank ? rank - 1 : 0];
		double got = spread_percentile(&s, (double)p / 1000);

		CHECK(fabs(got - exact) <= fabs(exact) / SPREAD_STEPS);
	}
}

static void small_integers_are_exact(void)
{
	int i;

	spread_reset(&s);
	CHECK(spread_percentile(&s, 0.5) == 0);
	for (i = 255; i >= -255; i--)
		spread_add(&s, i);
	CHECK(s.min == -255 && s.max == 255);
	CHECK(spread_percentile(&s, 0.5) == 0);
	CHECK(spread_percentile(&s, 0.99) == 250);
	CHECK(spread_percentile(&s, 0.01) == -250);
	CHECK(spread_percentile(&s, 1) == 255);
}

static void one_value_is_exact_however_large(void)
{
	static const double one[] = { 123456789.25, -1e300, DBL_MAX, 5e-324, 0.1 };
	size_t i;

	for (i = 0; i < sizeof(one) / sizeof(one[0]); i++) {
		spread_reset(&s);
		spread_add(&s, one[i]);
		spread_add(&s, one[i]);
		spread_add(&s, one[i]);
		CHECK(spread_percentile(&s, 0.5) == one[i]);
	}
}

static void long_tails_are_within_the_bound(void)
{
	size_t i;

	for (i = 0; i < NR; i++)
		values[i] = exp((double)(roll() >> 11) / (double)(UINT64_C(1) << 53) * 20);
	check_bound(NR);
}

static void both_signs_are_within_the_bound(void)
{
	size_t i;

	for (i = 0; i < NR; i++)
		values[i] = (double)(int64_t)(roll() >> (roll() % 60)) * (roll() & 1 ? 1 : -1);
	check_bound(NR);
}

static void nearly_equal_values_are_within_the_bound(void)
{
	size_t i;

	for (i = 0; i < NR; i++)
		values[i] = 10000 + (double)(roll() % 100);
	check_bound(NR);
}

static void shares_are_counted(void)
{
	struct shares h = { 0 };
	struct share top[3];
	int i;

	CHECK_EQ(shares_top(&h, top, 3), 0);
	for (i = 0; i < 100; i++) {
		CHECK_EQ(shares_add(&h, "often", 5), 0);
		if (i % 2)
			shares_add(&h, "half", 4);
		if (i % 10 == 0)
			shares_add(&h, "seldom", 6);
	}
	shares_add(&h, "", 0);
	CHECK_EQ(shares_top(&h, top, 3), 3);
	CHECK(!strcmp(top[0].text, "often") && top[0].nr == 100);
	CHECK(!strcmp(top[1].text, "half") && top[1].nr == 50);
	CHECK(!strcmp(top[2].text, "seldom") && top[2].nr == 10);
	CHECK_EQ(shares_different(&h), 4);
	CHECK_EQ(h.nr, 161);
	shares_reset(&h);
	CHECK_EQ(shares_top(&h, top, 3), 0);
	shares_release(&h);
}

static void more_texts_than_there_is_room_for_are_counted_together(void)
{
	struct shares h = { 0 };
	struct share top[1];
	char text[32];
	int i;

	for (i = 0; i < SHARES_MAX + 500; i++) {
		snprintf(text, sizeof(text), "text %d", i);
		CHECK_EQ(shares_add(&h, text, strlen(text)), 0);
	}
	CHECK_EQ(h.nr, SHARES_MAX + 500);
	CHECK_EQ(h.others, 500);
	CHECK_EQ(shares_different(&h), SHARES_MAX);
	CHECK_EQ(shares_top(&h, top, 1), 1);
	shares_reset(&h);
	shares_add(&h, "new", 3);
	CHECK_EQ(h.others, 0);
	shares_release(&h);
}

int main(void)
{
	RUN(small_integers_are_exact);
	RUN(one_value_is_exact_however_large);
	RUN(long_tails_are_within_the_bound);
	RUN(both_signs_are_within_the_bound);
	RUN(nearly_equal_values_are_within_the_bound);
	RUN(shares_are_counted);
	RUN(more_texts_than_there_is_room_for_are_counted_together);
	spread_release(&s);
	return 0;
}
