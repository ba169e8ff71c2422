/* SPDX-License-Identifier: MIT */
/* test_json_writer.c - the output is JSON for any input, and failures stick. */
#include "base/json_writer.h"

#include <errno.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>

#include "base/text.h"

#include "check.h"

/* The text of one value that @write writes. */
#define CHECK_JSON(statement, expected)                 \
	do {                                            \
		struct json_writer w;                   \
		jw_init_buffer(&w);                     \
		statement;                              \
		CHECK(jw_text(&w, NULL) != NULL);       \
		CHECK_STR(jw_text(&w, NULL), expected); \
		CHECK_EQ(jw_release(&w), 0);            \
	} while (0)

static void writes_every_kind_of_value(void)
{
	CHECK_JSON(jw_u64(&w, 0), "0");
	CHECK_JSON(jw_u64(&w, UINT64_MAX), "18446744073709551615");
	CHECK_JSON(jw_i64(&w, -1), "-1");
	CHECK_JSON(jw_i64(&w, INT64_MIN), "-9223372036854775808");
	CHECK_JSON(jw_i64(&w, INT64_MAX), "9223372036854775807");
	CHECK_JSON(jw_bool(&w, true), "true");
	CHECK_JSON(jw_bool(&w, false), "false");
	CHECK_JSON(jw_null(&w), "null");
	CHECK_JSON(jw_string(&w, NULL), "null");
	CHECK_JSON(jw_string(&w, ""), "\"\"");
	CHECK_JSON((void)w, "");
}

static void writes_thousandths_exactly(void)
{
	CHECK_JSON(jw_thousandths(&w, 0), "0.000");
	CHECK_JSON(jw_thousandths(&w, 1), "0.001");
	CHECK_JSON(jw_thousandths(&w, 1234), "1.234");
	CHECK_JSON(jw_thousandths(&w, UINT64_MAX), "18446744073709551.615");
}

static void goes_on_behind_text_that_was_taken(void)
{
	struct json_writer w;

	jw_init_buffer(&w);
	jw_array_begin(&w);
	jw_u64(&w, 1);
	CHECK_STR(jw_text(&w, NULL), "[1");
	jw_text_taken(&w);
	jw_u64(&w, 2);
	jw_array_end(&w);
	CHECK_STR(jw_text(&w, NULL), ",2]");
	CHECK_EQ(jw_release(&w), 0);
}

static void writes_doubles_that_come_back_the_same(void)
{
	CHECK_JSON(jw_double(&w, 0.1), "0.1");
	CHECK_JSON(jw_double(&w, 1), "1");
	CHECK_JSON(jw_double(&w, -2.5e-300), "-2.5e-300");
	CHECK_JSON(jw_double(&w, 0.1 + 0.2), "0.30000000000000004");
	CHECK_JSON(jw_double(&w, (double)NAN), "null");
	CHECK_JSON(jw_double(&w, (double)-INFINITY), "null");
}

static void writes_a_point_also_where_people_write_a_comma(void)
{
	static const char *const locales[] = { "de_DE.UTF-8", "fr_FR.UTF-8", NULL };
	int i;

	for (i = 0; locales[i] && !setlocale(LC_NUMERIC, locales[i]); i++)
		;
	CHECK_JSON(jw_double(&w, 0.5), "0.5");
	setlocale(LC_NUMERIC, "C");
}

static void write_nested(struct json_writer *w)
{
	jw_object_begin(w);
	jw_key(w, "list");
	jw_array_begin(w);
	jw_u64(w, 1);
	jw_object_begin(w);
	jw_object_end(w);
	jw_array_begin(w);
	jw_array_end(w);
	jw_string(w, "x");
	jw_array_end(w);
	jw_field_bool(w, "yes", true);
	jw_field_null(w, "nothing");
	jw_field_i64(w, "minus", -3);
	jw_field_double(w, "half", 0.5);
	jw_object_end(w);
	jw_newline(w);
}

static void puts_the_commas(void)
{
	CHECK_JSON(write_nested(&w), "{\"list\":[1,{},[],\"x\"],\"yes\":true,\"nothing\":null,"
				     "\"minus\":-3,\"half\":0.5}\n");
	CHECK_JSON((write_nested(&w), write_nested(&w)),
		   "{\"list\":[1,{},[],\"x\"],\"yes\":true,\"nothing\":null,"
		   "\"minus\":-3,\"half\":0.5}\n"
		   "{\"list\":[1,{},[],\"x\"],\"yes\":true,\"nothing\":null,"
		   "\"minus\":-3,\"half\":0.5}\n");
}

static void escapes_what_json_and_terminals_cannot_bear(void)
{
	CHECK_JSON(jw_string(&w, "a\"b\\c/d"), "\"a\\\"b\\\\c/d\"");
	CHECK_JSON(jw_string(&w, "\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"");
	CHECK_JSON(jw_string(&w, "\x01\x1f\x1b[2J\x7f"), "\"\\u0001\\u001f\\u001b[2J\\u007f\"");
	CHECK_JSON(jw_string(&w, "\xc2\x9b"), "\"\\u009b\"");
	CHECK_JSON(jw_string_n(&w, "a\0b", 3), "\"a\\u0000b\"");
	CHECK_JSON((jw_object_begin(&w), jw_field_u64(&w, "k\"\n", 1), jw_object_end(&w)),
		   "{\"k\\\"\\n\":1}");
}

static void keeps_good_utf8_and_replaces_bad(void)
{
	CHECK_JSON(jw_string(&w, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
		   "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
	CHECK_JSON(jw_string(&w, "\xef\xbf\xbd"), "\"\xef\xbf\xbd\"");
	/* Stray, overlong, surrogate, too large, cut off: a replacement for each maximal part. */
	CHECK_JSON(jw_string(&w, "a\x80z"), "\"a\xef\xbf\xbdz\"");
	CHECK_JSON(jw_string(&w, "\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
	CHECK_JSON(jw_string(&w, "\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	CHECK_JSON(jw_string(&w, "\xf4\x90\x80\x80"),
		   "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	CHECK_JSON(jw_string(&w, "\xf0\x9f\x98"), "\"\xef\xbf\xbd\"");
	CHECK_JSON(jw_string(&w, "\xe2\x82"), "\"\xef\xbf\xbd\"");
	CHECK_JSON(jw_string(&w, "\xe2\x82z"), "\"\xef\xbf\xbdz\"");
	CHECK_JSON(jw_string(&w, "\xff\xfe"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
}

/* Every pair of bytes, checked by another parser. */
static void writes_json_for_any_bytes(void)
{
	int a, b;

	for (a = 0; a < 256; a++) {
		for (b = 0; b < 256; b++) {
			char text[4] = { (char)a, (char)b, (char)0xbf, 'z' };
			struct json_writer w;
			json_error_t error;
			const char *out;
			json_t *value;
			size_t size;

			jw_init_buffer(&w);
			jw_string_n(&w, text, sizeof(text));
			out = jw_text(&w, &size);
			value = json_loadb(out, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
			CHECK(value != NULL);
			json_decref(value);
			CHECK_EQ(jw_release(&w), 0);
		}
	}
}

static void holds_a_megabyte_in_memory(void)
{
	struct json_writer w;
	size_t size;
	int i;

	jw_init_buffer(&w);
	jw_array_begin(&w);
	for (i = 0; i < 100000; i++)
		jw_string(&w, "0123456789");
	jw_array_end(&w);
	CHECK(jw_text(&w, &size) != NULL);
	CHECK_EQ(size, 100000 * 13 + 1);
	CHECK_EQ(jw_release(&w), 0);
}

#define CHECK_MISUSE(statement, code)           \
	do {                                    \
		struct json_writer w;           \
		jw_init_buffer(&w);             \
		statement;                      \
		CHECK_EQ(jw_release(&w), code); \
	} while (0)

static void refuses_what_would_not_be_json(void)
{
	CHECK_MISUSE(jw_key(&w, "k"), -EINVAL);
	CHECK_MISUSE((jw_array_begin(&w), jw_key(&w, "k")), -EINVAL);
	CHECK_MISUSE((jw_object_begin(&w), jw_u64(&w, 1), jw_object_end(&w)), -EINVAL);
	CHECK_MISUSE((jw_object_begin(&w), jw_array_end(&w)), -EINVAL);
	CHECK_MISUSE((jw_object_begin(&w), jw_key(&w, "k"), jw_object_end(&w)), -EINVAL);
	CHECK_MISUSE((jw_object_begin(&w), jw_key(&w, "k"), jw_key(&w, "l")), -EINVAL);
	CHECK_MISUSE(jw_array_end(&w), -EINVAL);
	CHECK_MISUSE(jw_array_begin(&w), -EINVAL);
	CHECK_MISUSE((jw_array_begin(&w), jw_newline(&w), jw_array_end(&w)), -EINVAL);
}

static void nests_sixty_four_deep_and_no_deeper(void)
{
	struct json_writer w;
	int i;

	jw_init_buffer(&w);
	for (i = 0; i < JW_DEPTH_MAX; i++)
		jw_array_begin(&w);
	for (i = 0; i < JW_DEPTH_MAX; i++)
		jw_array_end(&w);
	CHECK_EQ(jw_release(&w), 0);
	jw_init_buffer(&w);
	for (i = 0; i <= JW_DEPTH_MAX; i++)
		jw_array_begin(&w);
	CHECK(jw_text(&w, NULL) == NULL);
	CHECK_EQ(jw_release(&w), -E2BIG);
}

static void remembers_that_the_disk_was_full(void)
{
	FILE *full = fopen("/dev/full", "w");
	struct json_writer w;
	int i;

	if (!full)
		SKIP("no /dev/full");
	jw_init_file(&w, full);
	jw_array_begin(&w);
	for (i = 0; i < 100000; i++)
		jw_u64(&w, 1234567890);
	jw_array_end(&w);
	CHECK_EQ(w.error, -ENOSPC);
	CHECK_EQ(jw_release(&w), -ENOSPC);
	fclose(full);
}

/* The other way for untrusted strings to reach a terminal. */
static void shows_no_control_characters_to_a_terminal(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(out != NULL);
	text_put(out, "a\x1b[31mb\n\xc2\x9b\xe2\x80\xae\xff\xc3\xa9");
	fclose(out);
	CHECK_STR(text, "a\\x1b[31mb\\x0a\\x9b\\u202e\xef\xbf\xbd\xc3\xa9");
	CHECK_EQ(text_width("a\x1b\xc3\xa9"), 6);
	free(text);
}

static void shortens_text_to_a_width(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(out != NULL);
	text_put_short(out, "exactly8", 8);
	text_put_short(out, "| more than eight", 8);
	text_put_short(out,
		       "|abc\x1b"
		       "defgh",
		       8);
	fclose(out);
	CHECK_STR(text, "exactly8| mor...|abc...");
	free(text);
}

static void quotes_words_as_a_shell_wants_them(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	CHECK(out != NULL);
	text_put_word(out, "./app");
	text_put_word(out, "");
	text_put_word(out, "a b");
	text_put_word(out, "it's");
	fclose(out);
	CHECK_STR(text, "./app'''a b''it'\\''s'");
	free(text);
}

static void groups_digits_and_chooses_units(void)
{
	char buf[TEXT_SIZE];

	CHECK_STR(text_count(buf, 0), "0");
	CHECK_STR(text_count(buf, 999), "999");
	CHECK_STR(text_count(buf, 1000), "1,000");
	CHECK_STR(text_count(buf, UINT64_MAX), "18,446,744,073,709,551,615");
	CHECK_STR(text_duration(buf, 0), "0 ns");
	CHECK_STR(text_duration(buf, 1500), "1.500 us");
	CHECK_STR(text_duration(buf, 1234567), "1.235 ms");
	CHECK_STR(text_duration(buf, 59999000000), "59.999 s");
	CHECK_STR(text_duration(buf, UINT64_C(3600000000000)), "60.0 min");
	CHECK_STR(text_duration(buf, UINT64_MAX), "213504.0 days");
}

int main(void)
{
	RUN(writes_every_kind_of_value);
	RUN(writes_thousandths_exactly);
	RUN(goes_on_behind_text_that_was_taken);
	RUN(writes_doubles_that_come_back_the_same);
	RUN(writes_a_point_also_where_people_write_a_comma);
	RUN(puts_the_commas);
	RUN(escapes_what_json_and_terminals_cannot_bear);
	RUN(keeps_good_utf8_and_replaces_bad);
	RUN(writes_json_for_any_bytes);
	RUN(holds_a_megabyte_in_memory);
	RUN(refuses_what_would_not_be_json);
	RUN(nests_sixty_four_deep_and_no_deeper);
	RUN(remembers_that_the_disk_was_full);
	RUN(shows_no_control_characters_to_a_terminal);
	RUN(shortens_text_to_a_width);
	RUN(quotes_words_as_a_shell_wants_them);
	RUN(groups_digits_and_chooses_units);
	return 0;
}
