/* SPDX-License-Identifier: MIT */
/*
 * test_fmt_double.c - the text parses to the same number, and no shorter text does.
 *
 * The reference is the C library: strtod() for parsing, and "%.*g" with growing
 * precision for the fewest digits that do.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/fmt_double.h"
#include "check.h"

static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

static uint64_t roll(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int digits_of(const char *text)
{
	int nr = 0, zeros = 0;

	for (; *text && *text != 'e'; text++) {
		if (*text < '0' || *text > '9' || (*text == '0' && !nr))
			continue;
		nr++;
		zeros = *text == '0' ? zeros + 1 : 0;
	}
	return nr - zeros;
}

static void check_double(double v)
{
	char text[FMT_DOUBLE_MAX], wanted[64];
	int digits;

	*fmt_double(text, v) = '\0';
	if (strtod(text, NULL) != v) {
		fprintf(stderr, "%.17g became %s\n", v, text);
		exit(1);
	}
	for (digits = 1; digits < 17; digits++) {
		snprintf(wanted, sizeof(wanted), "%.*e", digits - 1, v);
		if (strtod(wanted, NULL) == v)
			break;
	}
	if (digits_of(text) > digits) {
		fprintf(stderr, "%s has more digits than %s\n", text, wanted);
		exit(1);
	}
}

static void check_float(float v)
{
	char text[FMT_DOUBLE_MAX], wanted[64];
	int digits;

	*fmt_float(text, v) = '\0';
	if (strtof(text, NULL) != v) {
		fprintf(stderr, "%.9g became %s\n", (double)v, text);
		exit(1);
	}
	for (digits = 1; digits < 9; digits++) {
		snprintf(wanted, sizeof(wanted), "%.*e", digits - 1, (double)v);
		if (strtof(wanted, NULL) == v)
			break;
	}
	if (digits_of(text) > digits) {
		fprintf(stderr, "%s has more digits than %s\n", text, wanted);
		exit(1);
	}
}

static void is(double v, const char *wanted)
{
	char text[FMT_DOUBLE_MAX];

	*fmt_double(text, v) = '\0';
	CHECK_STR(text, wanted);
}

static void writes_what_people_expect(void)
{
	is(0, "0.0");
	is(-0.0, "-0.0");
	is(1, "1.0");
	is(-1.5, "-1.5");
	is(0.1, "0.1");
	is(100, "100.0");
	is(123456.789, "123456.789");
	is(0.0001, "0.0001");
	is(0.00001, "0.00001");
	is(0.000001, "1e-06");
	is(1e15, "1000000000000000.0");
	is(1e16, "1e+16");
	is(1.0 / 3, "0.3333333333333333");
	is(5e-324, "5e-324");
	is(1.7976931348623157e308, "1.7976931348623157e+308");
	is(2.2250738585072014e-308, "2.2250738585072014e-308");
	is(9007199254740993.0, "9007199254740992.0");
}

static void every_power_of_two_and_ten_and_its_neighbours(void)
{
	int e;

	for (e = -1074; e <= 1023; e++) {
		double v = ldexp(1, e);

		check_double(v);
		check_double(nextafter(v, INFINITY));
		check_double(nextafter(v, 0));
	}
	for (e = -323; e <= 308; e++) {
		double v = pow(10, e);

		check_double(v);
		check_double(nextafter(v, INFINITY));
		check_double(nextafter(v, 0));
	}
	for (e = -149; e <= 127; e++) {
		float v = ldexpf(1, e);

		check_float(v);
		check_float(nextafterf(v, INFINITY));
		check_float(nextafterf(v, 0));
	}
}

static void random_bits(void)
{
	int i;

	for (i = 0; i < 60000; i++) {
		uint64_t bits = roll();
		uint32_t half = (uint32_t)(bits >> 32);
		double d;
		float f;

		memcpy(&d, &bits, sizeof(d));
		memcpy(&f, &half, sizeof(f));
		if (isfinite(d))
			check_double(d);
		if (isfinite(f))
			check_float(f);
	}
}

static void short_decimals(void)
{
	int i;

	for (i = 0; i < 40000; i++)
		check_double((double)(roll() % 100000000) / pow(10, (int)(roll() % 9)));
}

/* Before all others: the first numbers of a process, in several threads at once. */
static void *format_first(void *arg)
{
	char text[FMT_DOUBLE_MAX];

	(void)arg;
	*fmt_double(text, 0.1) = '\0';
	CHECK_STR(text, "0.1");
	*fmt_float(text, 2.5e-7f) = '\0';
	CHECK_STR(text, "2.5e-07");
	return NULL;
}

static void the_first_numbers_may_come_from_several_threads(void)
{
	pthread_t threads[4];
	int i;

	for (i = 0; i < 4; i++)
		CHECK(pthread_create(&threads[i], NULL, format_first, NULL) == 0);
	for (i = 0; i < 4; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(void)
{
	RUN(the_first_numbers_may_come_from_several_threads);
	RUN(writes_what_people_expect);
	RUN(every_power_of_two_and_ten_and_its_neighbours);
	RUN(random_bits);
	RUN(short_decimals);
	return 0;
}
