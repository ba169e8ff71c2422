/* SPDX-License-Identifier: MIT */
/*
 * test_sdk_header_rules.c - what the headers of the SDK compute without a collector: the header of
 * a trace context, the text of a site, the rate of a clock.
 */
#include <corotracer/corotracer.h>
#include <corotracer/clock.h>
#include <corotracer/lane_slow.h>
#include <corotracer/traceparent.h>

#include "check.h"

#define TRACE_ID "0123456789abcdef0fedcba987654321"
#define SPAN_ID  "00f067aa0ba902b7"
#define PARENT   "00-" TRACE_ID "-" SPAN_ID "-01"

static int parse(const char *text, struct ctp_context *out)
{
	memset(out, 0, sizeof(*out));
	return ctp_context_parse(text, strlen(text), out);
}

static void a_traceparent_is_four_numbers(void)
{
	struct ctp_context c;

	CHECK_EQ(parse(PARENT, &c), 1);
	CHECK(c.trace_high == UINT64_C(0x0123456789abcdef));
	CHECK(c.trace_low == UINT64_C(0x0fedcba987654321));
	CHECK(c.span == UINT64_C(0x00f067aa0ba902b7));
	CHECK_EQ(c.flags, 1);
	CHECK_EQ(parse("00-" TRACE_ID "-" SPAN_ID "-fa", &c), 1);
	CHECK_EQ(c.flags, 0xfa);
}

/* Every byte that is not a digit in lower case, at every place of a digit. */
static void other_characters_are_refused(void)
{
	static const char wrong[] = {
		'/', ':', '`', 'g', 'A', 'F', ' ', '-', '\0', '\x80', '\xff'
	};
	char text[CTP_TRACEPARENT_SIZE + 1];
	struct ctp_context c;
	size_t at, i;

	for (at = 0; at < CTP_TRACEPARENT_SIZE; at++) {
		for (i = 0; i < sizeof(wrong); i++) {
			strcpy(text, PARENT);
			if (text[at] == '-' && wrong[i] == '-')
				continue;
			text[at] = wrong[i];
			CHECK_EQ(ctp_context_parse(text, CTP_TRACEPARENT_SIZE, &c), 0);
		}
		if (PARENT[at] == '-') { /* a digit is no hyphen */
			strcpy(text, PARENT);
			text[at] = '0';
			CHECK_EQ(ctp_context_parse(text, CTP_TRACEPARENT_SIZE, &c), 0);
		}
	}
}

static void a_traceparent_has_a_length(void)
{
	struct ctp_context c;
	size_t size;

	for (size = 0; size < CTP_TRACEPARENT_SIZE; size++)
		CHECK_EQ(ctp_context_parse(PARENT, size, &c), 0);
	/* Version 0 has no more fields; later versions may, after a hyphen. */
	CHECK_EQ(parse(PARENT "-more", &c), 0);
	CHECK_EQ(parse("01-" TRACE_ID "-" SPAN_ID "-01", &c), 1);
	CHECK_EQ(parse("01-" TRACE_ID "-" SPAN_ID "-01-more", &c), 1);
	CHECK_EQ(parse("01-" TRACE_ID "-" SPAN_ID "-01.more", &c), 0);
	CHECK_EQ(parse("ff-" TRACE_ID "-" SPAN_ID "-01", &c), 0);
}

static void zero_is_no_id(void)
{
	struct ctp_context c;

	CHECK_EQ(parse("00-00000000000000000000000000000000-" SPAN_ID "-01", &c), 0);
	CHECK_EQ(parse("00-00000000000000010000000000000000-" SPAN_ID "-01", &c), 1);
	CHECK_EQ(parse("00-00000000000000000000000000000001-" SPAN_ID "-01", &c), 1);
	CHECK_EQ(parse("00-" TRACE_ID "-0000000000000000-01", &c), 0);
}

/* ---- sites --------------------------------------------------------------------------------- */

static const char *site_text(const char *text, size_t size)
{
	static char to[64];

	memset(to, '#', sizeof(to));
	ctp_site_text((uint8_t *)to, size, text);
	CHECK_EQ(to[size], '#'); /* nothing behind it changes */
	to[size] = '\0';
	return to;
}

static void a_text_that_fits_is_whole(void)
{
	CHECK_STR(site_text("main.c", 8), "main.c");
	CHECK_STR(site_text("main.cpp", 8), "main.cpp"); /* without an end, as in the region */
	CHECK_STR(site_text("", 8), "");
	CHECK_STR(site_text(NULL, 8), "");
}

static void a_longer_one_keeps_its_end(void)
{
	CHECK_STR(site_text("src/net/main.c", 12), "net/main.c"); /* whole directories go */
	CHECK_STR(site_text("src/net/main.c", 10), "net/main.c");
	CHECK_STR(site_text("src/net/main.c", 9), "main.c");
	CHECK_STR(site_text("a::bc::def()", 10), "bc::def()"); /* whole scopes */
	CHECK_STR(site_text("a::bc::def()", 8), "def()");
	CHECK_STR(site_text("abcdefgh.c", 8), "cdefgh.c"); /* nothing to cut at */
	CHECK_STR(site_text("a:bcdefgh", 8), ":bcdefgh");  /* one colon is no scope */
}

static void a_character_is_never_split(void)
{
	static const char two[] = "\xc3\xa9zzzzz", four[] = "\xf0\x9f\x98\x80zzzzz";

	CHECK_STR(site_text(two, 7), two);
	CHECK_STR(site_text(two, 6), "zzzzz"); /* not the second byte of the character */
	CHECK_STR(site_text(two, 5), "zzzzz");
	CHECK_STR(site_text(four, 9), four);
	CHECK_STR(site_text(four, 8), "zzzzz");
	CHECK_STR(site_text(four, 6), "zzzzz");
}

/* ---- clocks --------------------------------------------------------------------------------- */

static void rates_agree_to_one_in_512(void)
{
	CHECK_EQ(ctp_clock_rates_agree(512000, 512000), 1);
	CHECK_EQ(ctp_clock_rates_agree(512000, 513000), 1);
	CHECK_EQ(ctp_clock_rates_agree(512000, 513001), 0);
	CHECK_EQ(ctp_clock_rates_agree(512000, 511000), 1);
	CHECK_EQ(ctp_clock_rates_agree(512000, 510999), 0);
}

static void a_rate_is_nanoseconds_per_tick(void)
{
	uint64_t one = UINT64_C(1) << 32;

	CHECK(ctp_clock_rate(1000000, 1000000) == one);
	CHECK(ctp_clock_rate(1000000, 4000000) == one / 4); /* 4 GHz */
	CHECK(ctp_clock_rate(1000000, 500000) == 2 * one);
	CHECK(ctp_clock_rate(50000, 50000) == one);
	CHECK_EQ(ctp_clock_rate(49999, 49999), 0); /* too short */
	CHECK_EQ(ctp_clock_rate(1000000, 0), 0);   /* the counter stands */
	CHECK_EQ(ctp_clock_rate(1000000, 999), 0); /* slower than 1 MHz */
	CHECK(ctp_clock_rate(1000000, 1000) == 1000 * one);
	CHECK_EQ(ctp_clock_rate(50000, 50000000), 0); /* faster than 100 GHz */
}

int main(void)
{
	RUN(a_traceparent_is_four_numbers);
	RUN(other_characters_are_refused);
	RUN(a_traceparent_has_a_length);
	RUN(zero_is_no_id);
	RUN(a_text_that_fits_is_whole);
	RUN(a_longer_one_keeps_its_end);
	RUN(a_character_is_never_split);
	RUN(rates_agree_to_one_in_512);
	RUN(a_rate_is_nanoseconds_per_tick);
	return 0;
}
