/* SPDX-License-Identifier: MIT */
/*
 * test_fmt.c - numbers are formatted as by printf, and parsed back to the same value.
 *
 * Every boundary where the number of digits or the path in the code changes, and
 * a few million numbers of every length.
 */
#include "base/fmt.h"

#include <inttypes.h>

#include "check.h"

#define RANDOM_ROUNDS 2000000

/* xorshift: the same numbers in every run. */
static uint64_t next_random(void)
{
	static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void check_number(uint64_t v)
{
	char ours[FMT_U64_MAX + FMT_SLACK + 1], expected[32];
	uint64_t back = ~v;
	const char *end;

	memset(ours, '#', sizeof(ours));
	*fmt_u64(ours, v) = '\0';
	snprintf(expected, sizeof(expected), "%" PRIu64, v);
	CHECK_STR(ours, expected);
	end = scan_u64(ours, &back);
	CHECK(end == ours + strlen(expected));
	CHECK(back == v);
}

static void check_hex(uint64_t v)
{
	char ours[17] = "", expected[32];
	uint64_t back = ~v;

	*fmt_hex16(ours, v) = '\0';
	snprintf(expected, sizeof(expected), "%016" PRIx64, v);
	CHECK_STR(ours, expected);
	CHECK(scan_hex16(ours, &back) == ours + 16);
	CHECK(back == v);
}

static void around(uint64_t v)
{
	unsigned i;

	for (i = 0; i < 5; i++) {
		check_number(v - 2 + i);
		check_hex(v - 2 + i);
	}
}

static void formats_every_boundary_as_printf_does(void)
{
	uint64_t ten = 1, two = 1;
	unsigned i;

	for (i = 0; i < 20; i++, ten *= 10)
		around(ten);
	for (i = 0; i < 64; i++, two *= 2)
		around(two);
	around(UINT64_MAX);
	around(INT64_MAX);
}

static void formats_random_numbers_of_every_length_as_printf_does(void)
{
	unsigned i;

	for (i = 0; i < RANDOM_ROUNDS; i++) {
		uint64_t v = next_random() >> i % 64;

		check_number(v);
		check_hex(v);
	}
}

static void formats_eight_digits_with_leading_zeros(void)
{
	char ours[9] = "", expected[16];
	uint32_t v;

	for (v = 0; v < FMT_1E8; v += 1 + v % 997) {
		*fmt_8digits(ours, v) = '\0';
		snprintf(expected, sizeof(expected), "%08" PRIu32, v);
		CHECK_STR(ours, expected);
	}
	*fmt_8digits(ours, FMT_1E8 - 1) = '\0';
	CHECK_STR(ours, "99999999");
}

static void formats_all_four_digit_numbers(void)
{
	uint64_t v;

	for (v = 0; v < 20000; v++)
		check_number(v);
}

/* As the scanners need it: readable behind the end. */
static const char *padded(const char *text)
{
	static char buf[128];

	memset(buf, '7', sizeof(buf));
	memcpy(buf, text, strlen(text));
	return buf;
}

static void refuses_what_is_no_number(void)
{
	static const char *const bad[] = { "\n",  "-1\n", " 1\n", "a\n",    "/\n",
					   ":\n", "00\n", "01\n", "\xb0\n", NULL };
	static const char *const too_big[] = { "18446744073709551616\n", "99999999999999999999\n",
					       "100000000000000000000\n", "184467440737095516150\n",
					       NULL };
	uint64_t v;
	int i;

	for (i = 0; bad[i]; i++)
		CHECK(!scan_u64(padded(bad[i]), &v));
	for (i = 0; too_big[i]; i++)
		CHECK(!scan_u64(padded(too_big[i]), &v));
}

static void stops_at_the_first_character_that_is_no_digit(void)
{
	static const char stops[] = "\n,}/:\"x \x80\xff";
	char text[32];
	unsigned digits, s;

	for (digits = 1; digits <= 19; digits++) {
		for (s = 0; s < sizeof(stops) - 1; s++) {
			const char *p;
			uint64_t v;

			memset(text, '1', digits);
			text[digits] = stops[s];
			text[digits + 1] = '\0';
			p = padded(text);
			CHECK(scan_u64(p, &v) == p + digits);
		}
	}
}

static void refuses_what_is_not_sixteen_lower_case_hex_digits(void)
{
	char text[17];
	uint64_t v;
	int at, c;

	for (at = 0; at < 16; at++) {
		for (c = 1; c < 256; c++) {
			int good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');

			memcpy(text, "0123456789abcdef", 17);
			text[at] = (char)c;
			CHECK_EQ(scan_hex16(text, &v) != NULL, good);
		}
	}
}

int main(void)
{
	RUN(formats_every_boundary_as_printf_does);
	RUN(formats_all_four_digit_numbers);
	RUN(formats_eight_digits_with_leading_zeros);
	RUN(formats_random_numbers_of_every_length_as_printf_does);
	RUN(refuses_what_is_no_number);
	RUN(stops_at_the_first_character_that_is_no_digit);
	RUN(refuses_what_is_not_sixteen_lower_case_hex_digits);
	return 0;
}
