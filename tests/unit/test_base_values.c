/* SPDX-License-Identifier: MIT */
/* test_base_values.c - numbers, paths, mistyped words and growable buffers, as users see them. */
#include "base/bytes.h"
#include "base/nearest_word.h"
#include "base/number.h"
#include "base/path.h"
#include "base/text.h"
#include "base/utf8.h"

#include <errno.h>

#include "check.h"

static void counts_have_commas_and_eight_are_valid_at_a_time(void)
{
	const char *texts[8];
	uint64_t i;

	for (i = 0; i < 8; i++)
		texts[i] = number_text(i * 1000);
	CHECK_STR(texts[0], "0");
	CHECK_STR(texts[1], "1,000");
	CHECK_STR(texts[7], "7,000");
	CHECK_STR(number_text(999), "999");
	CHECK_STR(number_text(UINT64_MAX), "18,446,744,073,709,551,615");
}

static void sizes_have_the_unit_that_fits(void)
{
	static const struct {
		uint64_t n;
		const char *text;
	} cases[] = {
		{ 0, "0 B" },
		{ 1023, "1023 B" },
		{ 1024, "1 KiB" },
		{ 1536, "1.5 KiB" },
		{ 10 * 1024 + 512, "10 KiB" },
		{ UINT64_C(1) << 20, "1 MiB" },
		{ UINT64_C(1) << 30, "1 GiB" },
		{ UINT64_C(1) << 40, "1 TiB" },
		{ UINT64_C(1) << 50, "1 PiB" },
		{ UINT64_C(1) << 60, "1024 PiB" },
	};
	const char *texts[4];
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_STR(number_bytes(cases[i].n), cases[i].text);
	for (i = 0; i < 4; i++)
		texts[i] = number_bytes(i);
	for (i = 0; i < 4; i++)
		CHECK_EQ(texts[i][0], '0' + (int)i);
}

static void percents_of_nothing_are_zero(void)
{
	CHECK(number_percent(1, 4) == 25.0);
	CHECK(number_percent(5, 0) == 0.0);
	CHECK_STR(number_plural(1), "");
	CHECK_STR(number_plural(0), "s");
	CHECK_STR(number_plural(2), "s");
}

static void durations_and_shares_are_never_rounded_to_nothing(void)
{
	char buf[TEXT_SIZE];

	CHECK_STR(text_duration(buf, 999), "999 ns");
	CHECK_STR(text_duration(buf, 1500), "1.500 us");
	CHECK_STR(text_duration(buf, 1500000), "1.500 ms");
	CHECK_STR(text_duration(buf, UINT64_C(2000000000)), "2.000 s");
	CHECK_STR(text_share(buf, 0, 100), "");
	CHECK_STR(text_share(buf, 104, 1000000), " (0.0104 %)");
	CHECK(strstr(text_share(buf, 1, UINT64_MAX), "%") && !strstr(buf, " (0 %)"));
}

static const char *plain_path(const char *from)
{
	static char to[64];

	path_plain(from, to, sizeof(to));
	return to;
}

static void paths_lose_what_means_nothing(void)
{
	char small[8];

	CHECK_STR(plain_path("/usr/./lib//gcc/../x.c"), "/usr/lib/x.c");
	CHECK_STR(plain_path("./a/b"), "a/b");
	CHECK_STR(plain_path("../a/../b.c"), "../b.c");
	CHECK_STR(plain_path("../../b.c"), "../../b.c");
	CHECK_STR(plain_path("a/../b"), "b");
	CHECK_STR(plain_path("a/.b/c"), "a/.b/c");
	CHECK_STR(plain_path("a/...../c"), "a/...../c");
	CHECK_STR(plain_path("abc/x/../../d"), "d");
	CHECK_STR(plain_path(""), "");
	CHECK_STR(plain_path("/"), "/");
	CHECK_STR(path_base("/usr/lib"), "lib");
	CHECK_STR(path_base("lib"), "lib");
	/* Seven bytes fit with their end; of eight only the last seven are kept, unchanged. */
	path_plain("a//bcde", small, sizeof(small));
	CHECK_STR(small, "a/bcde");
	path_plain("a//bcdef", small, sizeof(small));
	CHECK_STR(small, "//bcdef");
}

static const char *word_meant(const char *typed)
{
	static const char *const known[] = { "run", "report", "export", "info", "if", "attach" };
	struct nearest_word near;
	size_t i;

	nearest_word_begin(&near, typed, strlen(typed));
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		nearest_word_offer(&near, known[i]);
	return near.best ? near.best : "-";
}

static void a_mistyped_word_means_the_nearest_one(void)
{
	char longest[42];

	CHECK_STR(word_meant("reprot"), "report");  /* two letters swapped */
	CHECK_STR(word_meant("exprt"), "export");   /* one missing */
	CHECK_STR(word_meant("atttach"), "attach"); /* one too many */
	CHECK_STR(word_meant("inf"), "info");       /* the beginning */
	CHECK_STR(word_meant("att"), "attach");
	CHECK_STR(word_meant("fi"), "if"); /* two letters are enough */
	CHECK_STR(word_meant("r"), "-");
	CHECK_STR(word_meant("at"), "-"); /* two letters of a beginning are not */
	CHECK_STR(word_meant("xyzzy"), "-");
	CHECK_STR(word_meant("rexxxt"), "-"); /* three of six letters are wrong */
	memset(longest, 'x', sizeof(longest));
	longest[41] = '\0';
	CHECK_STR(word_meant(longest), "-");
}

static void words_of_forty_letters_are_compared_and_longer_ones_are_not(void)
{
	static const char known[] = "abcdefghijabcdefghijabcdefghijabcdefghij";
	struct nearest_word near;
	char typed[48];

	snprintf(typed, sizeof(typed), "%.39sX", known);
	nearest_word_begin(&near, typed, 40);
	nearest_word_offer(&near, known);
	CHECK(near.best == known && near.distance == 1);
	snprintf(typed, sizeof(typed), "%.40sX", known);
	nearest_word_begin(&near, typed, 41);
	nearest_word_offer(&near, known);
	CHECK(!near.best);
	nearest_word_begin(&near, typed, 40);
	nearest_word_offer(&near, typed);
	CHECK(!near.best);
}

static void the_first_of_equally_near_words_is_meant(void)
{
	struct nearest_word near;

	nearest_word_begin(&near, "cat", 3);
	nearest_word_offer(&near, "bat");
	nearest_word_offer(&near, "rat");
	CHECK_STR(near.best, "bat");
	nearest_word_offer(&near, "cat");
	CHECK_STR(near.best, "cat");
	/* Only the first bytes count. */
	nearest_word_begin(&near, "run --json", 3);
	nearest_word_offer(&near, "run");
	CHECK(near.best && near.distance == 0);
}

static void buffers_keep_their_bytes_while_they_grow(void)
{
	static const unsigned char wanted[] = { 0x7f, 0x80, 0x01, 0xac, 0x02 };
	struct bytes b = { 0 };
	unsigned i;

	for (i = 0; i < 100000; i++)
		CHECK(bytes_put(&b, &i, sizeof(i)));
	CHECK_EQ(b.size, 400000);
	for (i = 0; i < 100000; i++)
		CHECK(!memcmp(b.data + 4 * (size_t)i, &i, sizeof(i)));
	bytes_clear(&b);
	CHECK(!b.size && b.room >= 400000);
	bytes_add_varint(&b, 127);
	bytes_add_varint(&b, 128);
	bytes_add_varint(&b, 300);
	CHECK_EQ(b.size, sizeof(wanted));
	CHECK(!memcmp(b.data, wanted, sizeof(wanted)));
	bytes_clear(&b);
	bytes_add_varint(&b, UINT64_MAX);
	CHECK_EQ(b.size, 10);
	bytes_release(&b);
	CHECK(!b.data && !b.room);
}

static void a_buffer_that_cannot_grow_stays_as_it_is(void)
{
	struct bytes b = { 0 };

	bytes_add_text(&b, "abc");
	CHECK(!bytes_more(&b, SIZE_MAX / 2));
	CHECK_EQ(b.error, -ENOMEM);
	CHECK(!bytes_put(&b, "d", 1) && !bytes_room(&b, 1));
	CHECK_EQ(b.size, 3);
	bytes_clear(&b);
	CHECK(bytes_put(&b, "d", 1));
	bytes_release(&b);
}

/* Each row: bytes, their number, the character, and the length that is skipped. */
static void invalid_utf_8_skips_only_what_cannot_start_a_character(void)
{
	static const struct {
		const char *bytes;
		size_t size, len;
		uint32_t cp;
	} cases[] = {
		{ "A", 1, 1, 'A' },
		{ "\x7f", 1, 1, 0x7f },
		{ "\xc2\x80", 2, 2, 0x80 },
		{ "\xdf\xbf", 2, 2, 0x7ff },
		{ "\xe0\xa0\x80", 3, 3, 0x800 },
		{ "\xef\xbf\xbd", 3, 3, 0xfffd },
		{ "\xf0\x90\x80\x80", 4, 4, 0x10000 },
		{ "\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff },
		{ "\xc1\x80", 2, 1, UTF8_BAD },     /* overlong */
		{ "\xe0\x9f\xbf", 3, 1, UTF8_BAD }, /* overlong */
		{ "\xed\xa0\x80", 3, 1, UTF8_BAD }, /* surrogate */
		{ "\xed\x9f\xbf", 3, 3, 0xd7ff },
		{ "\xf4\x90\x80\x80", 4, 1, UTF8_BAD }, /* above the last */
		{ "\xf5\x80\x80\x80", 4, 1, UTF8_BAD },
		{ "\x80", 1, 1, UTF8_BAD },
		{ "\xe2\x82", 2, 2, UTF8_BAD }, /* truncated */
		{ "\xe2\x41", 2, 1, UTF8_BAD },
	};
	size_t i;
	uint32_t cp;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_EQ(utf8_next(cases[i].bytes, cases[i].size, &cp), cases[i].len);
		CHECK_EQ(cp, cases[i].cp);
	}
}

int main(void)
{
	RUN(counts_have_commas_and_eight_are_valid_at_a_time);
	RUN(sizes_have_the_unit_that_fits);
	RUN(percents_of_nothing_are_zero);
	RUN(durations_and_shares_are_never_rounded_to_nothing);
	RUN(paths_lose_what_means_nothing);
	RUN(a_mistyped_word_means_the_nearest_one);
	RUN(words_of_forty_letters_are_compared_and_longer_ones_are_not);
	RUN(the_first_of_equally_near_words_is_meant);
	RUN(buffers_keep_their_bytes_while_they_grow);
	RUN(a_buffer_that_cannot_grow_stays_as_it_is);
	RUN(invalid_utf_8_skips_only_what_cannot_start_a_character);
	return 0;
}
