/* SPDX-License-Identifier: MIT */
/* test_spread.c - percentiles are exact for few values, and fair for many. */
#include "check.h"
#include "frames/spread.h"

static struct spread s;

static void few_values_give_exact_percentiles(void)
{
	int i;

	spread_reset(&s);
	CHECK_EQ((long)spread_percentile(&s, 0.5), 0);
	for (i = 1000; i >= 0; i--)
		spread_add(&s, i);
	CHECK_EQ((long)s.min, 0);
	CHECK_EQ((long)s.max, 1000);
	CHECK_EQ((long)spread_percentile(&s, 0.5), 500);
	CHECK_EQ((long)spread_percentile(&s, 0.99), 990);
	CHECK_EQ((long)spread_percentile(&s, 1), 1000);
}

static void many_values_give_a_fair_sample(void)
{
	double median, high;
	int i;

	spread_reset(&s);
	for (i = 0; i < 1000000; i++)
		spread_add(&s, i);
	CHECK_EQ((long)s.max, 999999);
	median = spread_percentile(&s, 0.5);
	high = spread_percentile(&s, 0.9);
	/* Five standard deviations of a sample of 2048. */
	CHECK(median > 445000 && median < 555000);
	CHECK(high > 865000 && high < 935000);
}

int main(void)
{
	RUN(few_values_give_exact_percentiles);
	RUN(many_values_give_a_fair_sample);
	return 0;
}
