/* SPDX-License-Identifier: MIT */
/* test_unsafe_text.c - untrusted text: how it is shown, and how a spreadsheet gets it. */
#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "check.h"
#include "frames/spec/frame_layout.h"
#include "frames/file/frame_columns.h"
#include "frames/spec/spec.h"

static void check_shown(const char *text, const char *expected)
{
	char buf[256], *written = NULL;
	size_t size;
	FILE *f = open_memstream(&written, &size);

	CHECK_STR(text_safe(text, buf, sizeof(buf)), expected);
	CHECK(f != NULL);
	text_put(f, text);
	CHECK_EQ(fclose(f), 0);
	CHECK_STR(written, expected);
	CHECK_EQ(text_has_unsafe(text), strcmp(text, expected) != 0);
	free(written);
}

static void what_reorders_or_hides_is_shown_by_its_number(void)
{
	check_shown("plain", "plain");
	check_shown("gr\xc3\xbcn \xe7\xb4\x85 \xf0\x9f\x98\x80",
		    "gr\xc3\xbcn \xe7\xb4\x85 \xf0\x9f\x98\x80");
	check_shown("a\xe2\x80\xae"
		    "b",
		    "a\\u202eb");
	check_shown("\xe2\x81\xa6", "\\u2066");
	check_shown("\xd8\x9c", "\\u061c");
	check_shown("\xe2\x80\x8b\xef\xbb\xbf", "\\u200b\\ufeff");
	check_shown("\xf3\xa0\x81\x81", "\\ue0041");
	check_shown("\x1b[2J\n\x7f\xc2\x9b", "\\x1b[2J\\x0a\\x7f\\x9b");
	check_shown("\xff\xe2\x80", "\xef\xbf\xbd\xef\xbf\xbd");
	/* Joiners are part of words and of emoji. */
	check_shown("\xe2\x80\x8d\xe2\x80\x8c", "\xe2\x80\x8d\xe2\x80\x8c");
}

static void a_buffer_that_is_too_small_ends_between_characters(void)
{
	char buf[8];

	CHECK_STR(text_safe("abcdefghijkl", buf, sizeof(buf)), "abcdefg");
	CHECK_STR(text_safe("abcde\xe7\xb4\x85", buf, sizeof(buf)), "abcde");
	CHECK_STR(text_safe("abc\xe2\x80\xae", buf, sizeof(buf)), "abc");
	CHECK_STR(text_safe("x", buf, 1), "");
}

static bool is_formula(const char *text)
{
	return text_is_formula(text, strlen(text));
}

static void only_the_start_makes_a_formula(void)
{
	static const char *const formulas[] = { "=1", "+1", "-1",  "@x",   "\t=1",
						"\r", "\n", "'=1", "''-1", "'@SUM" };
	static const char *const others[] = { "",     "a=1", " =1", "1-2", "'", "''",
					      "it's", "'a",  "(=1", "/x",  "_" };
	size_t i;

	for (i = 0; i < sizeof(formulas) / sizeof(formulas[0]); i++)
		CHECK(is_formula(formulas[i]));
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CHECK(!is_formula(others[i]));
	CHECK(!text_is_formula("=", 0));
	CHECK(!text_is_formula("\0=", 2));
}

static void check_csv(const char *text, bool guard, const char *expected)
{
	char *written = NULL;
	size_t size;
	FILE *f = open_memstream(&written, &size);

	CHECK(f != NULL);
	text_put_csv(f, text, strlen(text), guard);
	CHECK_EQ(fclose(f), 0);
	CHECK_STR(written, expected);
	free(written);
}

static void csv_text_is_quoted_and_guarded(void)
{
	check_csv("a\"b", true, "\"a\"\"b\"");
	check_csv("=1", true, "\"'=1\"");
	check_csv("'=1", true, "\"''=1\"");
	check_csv("=1", false, "\"=1\"");
}

/* One row of frames with a number and a text, as cells of CSV. */
static void check_row(const char *text, bool guard, const char *expected)
{
	static const char spec[] = "option time timeval;\nemit C;\nbuffer B 16;\n"
				   "frame f {\n\tint n;\n\tstring text[12];\n}\n";
	struct recording_info info = { 0 };
	struct spec_error where = { 0 };
	struct err err = { 0 };
	struct row_plan plan;
	struct desc d;
	uint8_t image[256] = { 0 };
	int32_t n = -5;
	char row[1024], *at = row;
	struct cell c;
	size_t i;

	CHECK_EQ(spec_parse(&d, spec, sizeof(spec) - 1, &where), 0);
	CHECK_EQ(layout_make(&d, &err), 0);
	CHECK_EQ(row_plan_init(&plan, &d, 0, &info), 0);
	CHECK(d.frame_size < sizeof(image));
	for (i = 0; i < d.frames[0].nr_fields; i++) {
		const struct desc_field *f = &d.frames[0].fields[i];

		if (!strcmp(f->name, "n"))
			memcpy(image + f->offset, &n, sizeof(n));
		if (!strcmp(f->name, "text"))
			memcpy(image + f->offset, text, strlen(text));
	}
	for (i = 0; i < plan.nr_cells; i++) {
		row_get(&plan, &plan.cells[i], 0, image, 1, &c);
		at = cell_format(at, &c, CELL_CSV, guard);
		*at++ = i + 1 < plan.nr_cells ? ',' : '\n';
	}
	*at = '\0';
	CHECK_STR(row, expected);
	row_plan_release(&plan);
	desc_release(&d);
}

static void text_of_frames_is_guarded_and_numbers_are_not(void)
{
	check_row("=1+1", true, "1,-5,'=1+1\n");
	check_row("-x,\"y\"", true, "1,-5,\"'-x,\"\"y\"\"\"\n");
	check_row("=1+1", false, "1,-5,=1+1\n");
	check_row("plain", true, "1,-5,plain\n");
}

int main(void)
{
	RUN(what_reorders_or_hides_is_shown_by_its_number);
	RUN(a_buffer_that_is_too_small_ends_between_characters);
	RUN(only_the_start_makes_a_formula);
	RUN(csv_text_is_quoted_and_guarded);
	RUN(text_of_frames_is_guarded_and_numbers_are_not);
	return 0;
}
