/* SPDX-License-Identifier: MIT */
/* test_spec.c - specs: errors name their place, and options are in the code and in the JSON. */
#include "check.h"
#include "frames/spec/emit.h"
#include "frames/spec/frame_layout.h"
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

static void of_a_long_line_the_part_around_the_error_is_shown(void)
{
	char text[400];

	memset(text, ' ', sizeof(text));
	text[150] = ';';
	refuse(text, 151);
	CHECK_EQ(error.column, 151);
	CHECK_EQ(error.caret, 150);
	text[150] = ' ';
	text[151] = ';';
	refuse(text, 152);
	CHECK_EQ(error.column, 152);
	CHECK_EQ(error.caret, 100);
	CHECK_EQ(strlen(error.source), 101);
}

static void a_nul_in_a_quoted_text_is_refused(void)
{
	REFUSE("emit C;\noption tag \"a\0b\" c;\nframe f { int a; }");
	CHECK_EQ(error.line, 2);
	CHECK_EQ(error.column, 14);
	CHECK_STR(error.text, "a quoted text cannot contain a NUL byte");
}

static void an_enum_has_at_least_one_value_and_at_most_1000(void)
{
	char text[16000] = "emit C;\nenum many { v0", *at = strchr(text, '\0');
	struct desc d;
	int i;

	REFUSE("emit C;\nenum none { };\nframe f { int a; }");
	CHECK_EQ(error.line, 2);
	CHECK_EQ(error.column, 13);
	CHECK_STR(error.text, "an enum without values");
	for (i = 1; i < 1000; i++)
		at += sprintf(at, ", v%d", i);
	strcpy(at, " };\nframe f { enum many a; }");
	CHECK_EQ(spec_parse(&d, text, strlen(text), &error), 0);
	CHECK_EQ(d.frames[0].members[0].nr_values, 1000);
	desc_release(&d);
	strcpy(at, ", more };\nframe f { enum many a; }");
	refuse(text, strlen(text));
	CHECK_STR(error.text, "an enum with more than 1000 values");
}

static enum desc_dialect form = DESC_SEED; /* of the buffer */

static void spec_read(struct desc *d, const char *text)
{
	struct err err = { 0 };

	CHECK_EQ(spec_parse(d, text, strlen(text), &error), 0);
	d->generator = strdup("test");
	d->dialect = form;
	CHECK_EQ(layout_make(d, &err), 0);
}

static char *code_of(const char *options, const char *members,
		     int (*emit)(const struct emit *, FILE *))
{
	struct emit e = { .file = "ppt-B", .spec = "b.spec" };
	char text[300], *out = NULL;
	struct desc d;
	size_t size;
	FILE *f = open_memstream(&out, &size);

	snprintf(text, sizeof(text), "emit C;\nbuffer B 16;\n%sframe f { %s }\n", options, members);
	spec_read(&d, text);
	e.d = &d;
	CHECK(f && emit(&e, f) == 0);
	CHECK_EQ(fclose(f), 0);
	desc_release(&d);
	return out;
}

/* Without a collector, both parts of a time are 0, whatever the clock. */
static void a_time_that_is_not_taken_is_zero(void)
{
	static const char *const cases[][2] = {
		{ "option time timeval;\n", "frame->t.tv_sec = frame->t.tv_usec = 0;" },
		{ "option time timespec monotonic;\n", "frame->t.tv_sec = frame->t.tv_nsec = 0;" },
		{ "option time counter;\n", "frame->t = 0;" },
	};
	size_t i, j;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *code = code_of(cases[i][0], "time t;", emit_header);

		for (j = 0; j < sizeof(cases) / sizeof(cases[0]); j++)
			CHECK_EQ(strstr(code, cases[j][1]) != NULL, i == j);
		free(code);
	}
}

/* Frames of 20 bytes: in a buffer of the older form, every second one is not aligned to eight. */
static void wide_values_are_stored_in_the_alignment_of_a_slot(void)
{
	static const char whole[] = "put64(unsigned char *at, uint64_t value)";
	static const char halves[] = "put32(at + 4, (uint32_t)(value >> 32));";
	char *code = code_of("", "uint64 a;", emit_source);

	CHECK(strstr(code, whole) && !strstr(code, halves));
	free(code);
	code = code_of("", "uint32 a;", emit_source);
	CHECK(!strstr(code, whole));
	free(code);
	form = DESC_PPT;
	code = code_of("", "uint64 a;", emit_source);
	CHECK(strstr(code, whole) && strstr(code, halves));
	free(code);
	form = DESC_SEED;
}

/* The JSON of @d; CHECKs that it is complete. */
static char *json_of(const struct desc *d, enum desc_dialect dialect)
{
	struct json_writer w;
	size_t size;
	char *copy;

	jw_init_buffer(&w);
	desc_to_json(d, dialect, &w);
	copy = strdup(jw_text(&w, &size));
	CHECK_EQ(strlen(copy), size);
	CHECK_EQ(jw_release(&w), 0);
	return copy;
}

static void options_are_in_both_forms_of_the_json(void)
{
	struct err err = { 0 };
	struct desc d, again;
	int older;

	spec_read(&d, "emit C++;\nbuffer B 16;\noption debug true;\noption native_counter true;\n"
		      "option runtime multithread true;\noption tag k \"v w\";\n"
		      "option time timespec boottime;\nframe f { int a; }\n");
	for (older = 0; older < 2; older++) {
		char *json = json_of(&d, older ? DESC_PPT : DESC_SEED);

		CHECK_EQ(desc_from_json(&again, json, strlen(json), &err), 0);
		CHECK(again.has_debug && again.debug);
		CHECK(again.has_native_counter && again.native_counter && again.multithread);
		CHECK(again.has_min_slots && again.min_slots == 16);
		CHECK_STR(again.clock, "boottime");
		CHECK_STR(again.language, "C++");
		CHECK_EQ(again.nr_tags, 1);
		CHECK_STR(again.tags[0].value, "v w");
		desc_release(&again);
		free(json);
	}
	desc_release(&d);
}

/* JSON with @nr tags, of which the last is @last. */
static int read_tags(int nr, const char *last, struct err *err)
{
	static const char head[] = "emit C;\nbuffer B 16;\noption tag k v;\nframe f { int a; }\n";
	char *json, *at, *tags, *to;
	struct desc d;
	int i, ret;

	spec_read(&d, head);
	json = json_of(&d, DESC_SEED);
	desc_release(&d);
	at = strstr(json, "\"tags\":[[\"k\",\"v\"]]");
	CHECK(at);
	to = tags = malloc(strlen(json) + 16 * (size_t)nr);
	at += strlen("\"tags\":[");
	to += sprintf(to, "%.*s", (int)(at - json), json);
	for (i = 1; i < nr; i++)
		to += sprintf(to, "[\"k%d\",\"\"],", i);
	sprintf(to, "%s%s", last, at + strlen("[\"k\",\"v\"]"));
	memset(err, 0, sizeof(*err));
	ret = desc_from_json(&d, tags, strlen(tags), err);
	if (ret == 0) {
		CHECK_EQ(d.nr_tags, nr);
		CHECK_STR(d.tags[0].key, nr > 1 ? "k1" : "k");
		desc_release(&d);
	}
	free(tags);
	free(json);
	return ret;
}

static void tags_are_pairs_of_texts_and_at_most_4096(void)
{
	struct err err;

	CHECK_EQ(read_tags(1, "[\"k\",\"v\"]", &err), 0);
	CHECK_EQ(read_tags(4096, "[\"k\",\"v\"]", &err), 0);
	CHECK(read_tags(4097, "[\"k\",\"v\"]", &err) < 0);
	CHECK(strstr(err.text, "too many tags"));
	CHECK(read_tags(2, "[\"k\",1]", &err) < 0);
	CHECK(strstr(err.text, "a tag is no pair of texts"));
	CHECK(read_tags(2, "[\"k\"]", &err) < 0);
}

int main(void)
{
	RUN(a_nul_between_words_is_shown_at_its_place);
	RUN(an_error_behind_a_nul_is_shown_at_its_place);
	RUN(of_a_long_line_the_part_around_the_error_is_shown);
	RUN(a_nul_in_a_quoted_text_is_refused);
	RUN(an_enum_has_at_least_one_value_and_at_most_1000);
	RUN(a_time_that_is_not_taken_is_zero);
	RUN(wide_values_are_stored_in_the_alignment_of_a_slot);
	RUN(options_are_in_both_forms_of_the_json);
	RUN(tags_are_pairs_of_texts_and_at_most_4096);
	return 0;
}
