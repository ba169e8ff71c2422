/* SPDX-License-Identifier: MIT */
/* test_spec_nul.c - a NUL byte anywhere in a spec is an error that names its place. */
#include "check.h"
#include "frames/spec/spec.h"

static struct spec_error error;

static void refuse(const char *text, size_t size)
{
	struct desc d;

	memset(&error, 0, sizeof(error));
	CHECK(spec_parse(&d, text, size, &error) < 0);
	CHECK(error.caret <= strlen(error.source));
}

#define REFUSE(text) refuse(text, sizeof(text) - 1)

static void a_nul_between_words_is_shown_at_its_place(void)
{
	REFUSE("emit C;\nframe f \0{ int a; }");
	CHECK_EQ(error.line, 2);
	CHECK_EQ(error.column, 9);
	CHECK_STR(error.text, "a character that does not belong here: \\x00");
	CHECK_STR(error.source, "frame f ?{ int a; }");
	CHECK_EQ(error.caret, 8);
}

static void an_error_behind_a_nul_is_shown_at_its_place(void)
{
	REFUSE("emit C;\n/* \0 */ frame ; { int a; }");
	CHECK_EQ(error.column, 15);
	CHECK_STR(error.source, "/* ? */ frame ; { int a; }");
	CHECK_EQ(error.caret, 14);
}

static void a_nul_in_a_quoted_text_is_refused(void)
{
	REFUSE("emit C;\noption tag \"a\0b\" c;\nframe f { int a; }");
	CHECK_EQ(error.line, 2);
	CHECK_EQ(error.column, 14);
	CHECK_STR(error.text, "a quoted text cannot contain a NUL byte");
}

int main(void)
{
	RUN(a_nul_between_words_is_shown_at_its_place);
	RUN(an_error_behind_a_nul_is_shown_at_its_place);
	RUN(a_nul_in_a_quoted_text_is_refused);
	return 0;
}
