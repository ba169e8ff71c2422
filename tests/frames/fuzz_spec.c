/* SPDX-License-Identifier: MIT */
/*
 * fuzz_spec.c - specs and descriptions against hostile input.
 *
 * With clang:   -DFUZZ_LIBFUZZER -fsanitize=fuzzer,address,undefined
 * Without:      fuzz_spec [ITERATIONS [SEED]] mutates the inputs below, the same way in
 *               every run, so that a sanitizer build has it as a test.
 *
 * Beyond "does not crash": an error has a place in the text; a spec that is accepted has
 * a layout whose JSON parses back to the same JSON; a description that is accepted has the
 * properties that layout_json.h promises.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames/spec/layout_json.h"
#include "frames/spec/emit.h"
#include "frames/spec/frame_layout.h"
#include "frames/spec/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(cond)                                                                           \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                             \
		}                                                                            \
	} while (0)

/* What the inputs reached: a run with corrupt input only proves nothing. */
static uint64_t nr_specs, nr_bad_specs, nr_descriptions, nr_bad_descriptions;

static char *json_of(const struct desc *d, enum desc_dialect dialect, size_t *size)
{
	struct json_writer w;
	const char *text;
	char *copy;

	jw_init_buffer(&w);
	desc_to_json(d, dialect, &w);
	text = jw_text(&w, size);
	MUST(text != NULL);
	copy = malloc(*size + 1);
	MUST(copy != NULL);
	memcpy(copy, text, *size + 1);
	MUST(jw_release(&w) == 0);
	return copy;
}

/* The properties that layout_json.h promises for every description. */
static void check_promises(const struct desc *d)
{
	size_t i, j;

	MUST(d->nr_frames >= 1 && d->nr_frames <= DESC_FRAMES_MAX && d->name && d->abi);
	MUST(d->stride >= d->frame_size && d->frame_size <= DESC_FRAME_MAX);
	for (i = 0; i < d->nr_frames; i++) {
		const struct desc_frame *f = &d->frames[i];
		uint32_t end = 0;

		MUST(f->nr_fields >= 2 && f->fields[0].role == DESC_FRONT_SEQ);
		MUST(f->fields[f->nr_fields - 1].role == DESC_BACK_SEQ);
		MUST(f->fields[f->nr_fields - 1].offset == d->frame_size - 4);
		for (j = 0; j < f->nr_fields; j++) {
			const struct desc_field *field = &f->fields[j];

			MUST(field->offset >= end);
			end = field->offset + field->size;
			MUST(end <= d->frame_size && field->size > 0);
			MUST(field->size == field->count * desc_type_size(field->type));
			MUST(field->type != DESC_COUNTER || field->counter < 3);
			MUST(strlen(field->name) <= DESC_NAME_MAX);
		}
	}
}

static void check_round_trip(const struct desc *d)
{
	size_t size, size2;
	char *first = json_of(d, d->dialect, &size), *second;
	struct err err = { 0 };
	struct desc again;

	MUST(desc_from_json(&again, first, size, &err) == 0);
	check_promises(&again);
	second = json_of(&again, d->dialect, &size2);
	MUST(size == size2 && !memcmp(first, second, size));
	desc_release(&again);
	free(first);
	free(second);
}

static void fuzz_spec(const char *text, size_t size)
{
	struct spec_error error;
	struct err err = { 0 };
	struct desc d;
	FILE *null;

	if (spec_parse(&d, text, size, &error) != 0) {
		nr_bad_specs++;
		MUST(error.line >= 1 && error.column >= 1 && error.text[0]);
		MUST(error.caret <= strlen(error.source));
		return;
	}
	nr_specs++;
	d.generator = strdup("fuzz");
	if (layout_make(&d, &err) == 0) {
		const struct emit e = { .d = &d, .file = "ppt-x", .spec = "x" };

		check_promises(&d);
		check_round_trip(&d);
		null = fopen("/dev/null", "w");
		MUST(null && emit_header(&e, null) == 0 && emit_source(&e, null) == 0);
		fclose(null);
	}
	desc_release(&d);
}

static void fuzz_description(const char *text, size_t size)
{
	struct err err = { 0 };
	struct desc d;

	if (desc_from_json(&d, text, size, &err) != 0) {
		nr_bad_descriptions++;
		MUST(err.text[0] && err.code < 0);
		return;
	}
	nr_descriptions++;
	check_promises(&d);
	free(json_of(&d, DESC_PPT, &size));
	free(json_of(&d, DESC_SEED, &size));
	desc_release(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && data[0] == '{')
		fuzz_description((const char *)data, size);
	else
		fuzz_spec((const char *)data, size);
	return 0;
}

/* ---- without libFuzzer --------------------------------------------------- */

#ifndef FUZZ_LIBFUZZER

#include "../fuzz/own_input.h"

static const char *const seeds[] = {
	"emit C;\nbuffer B 8;\noption runtime multithread true;\nenum e { a, b = -3 };\n"
	"frame f { int a, b; interval time t; string s[9]; enum e c; }\n"
	"frame g { interval counter k; uint16 x[3]; bool y; }\n",
	"emit C++; option time counter; /* a /* b */ */ option tag \"a b\" c;\n"
	"frame f { time t; double d; int8 z; counter n; }",
	"emit C; frame one { }",
};

static const char *const words[] = {
	"emit",      "C++",
	"buffer",    "frame",
	"{",         "}",
	";",         ",",
	"[",         "]",
	"int ",      "time ",
	"string",    "option",
	"/*",        "*/",
	"//",        "\"",
	"interval ", "enum ",
	"65536",     "999999999999999999999",
	"=",         "-",
	"\n",        "\xc3\xa9",
	"\0",        "true",
	"null",      "[]",
	"{}",        "\"ext\":",
	":",         "0",
	"-1",        "1e9",
	"_lSize",    "4294967295",
};

static uint64_t state;

static size_t roll(size_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (size_t)(state % limit);
}

/* One change of @buf, which holds @size of at most @max bytes.  Returns the new size. */
static size_t mutate(char *buf, size_t size, size_t max)
{
	const char *word = words[roll(sizeof(words) / sizeof(words[0]))];
	size_t at = roll(size + 1), len = *word ? strlen(word) : 1; /* "\0" is a byte */

	switch (roll(5)) {
	case 0:
		if (at < size)
			buf[at] = (char)roll(256);
		return size;
	case 1:
		len = roll(16) + 1;
		if (at + len > size)
			return at;
		memmove(buf + at, buf + at + len, size - at - len);
		return size - len;
	case 2:
		len = roll(64) + 1;
		if (at + len > size || size + len > max)
			return size;
		memmove(buf + at + len, buf + at, size - at);
		return size + len;
	case 3:
		while (at < size && (buf[at] < '0' || buf[at] > '9'))
			at++;
		if (at < size)
			buf[at] = (char)('0' + roll(10));
		return size;
	default:
		if (size + len > max)
			return size;
		memmove(buf + at + len, buf + at, size - at);
		memcpy(buf + at, word, len);
		return size + len;
	}
}

/* The description of seed @i: what the mutations of descriptions start from. */
static char *description_of(size_t i, size_t *size)
{
	struct spec_error error;
	struct err err = { 0 };
	struct desc d;
	char *text;

	MUST(spec_parse(&d, seeds[i], strlen(seeds[i]), &error) == 0);
	MUST(layout_make(&d, &err) == 0);
	d.dialect = i % 2 ? DESC_PPT : DESC_SEED;
	text = json_of(&d, d.dialect, size);
	desc_release(&d);
	return text;
}

int main(int argc, char **argv)
{
	unsigned long iterations = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000, i;
	size_t nr_seeds = sizeof(seeds) / sizeof(seeds[0]), max = 1 << 16;
	char *buf = malloc(max), *json[3];
	size_t sizes[3];

	MUST(buf != NULL);
	for (i = 0; i < nr_seeds; i++)
		json[i] = description_of(i, &sizes[i]);
	state = (argc > 2 ? strtoull(argv[2], NULL, 10) : 0) * 2 + UINT64_C(0x9e3779b97f4a7c15);
	for (i = 0; i < iterations; i++) {
		size_t k = roll(nr_seeds), changes = roll(5);
		size_t size = i % 2 ? sizes[k] : strlen(seeds[k]);

		memcpy(buf, i % 2 ? json[k] : seeds[k], size);
		while (changes--)
			size = mutate(buf, size, max);
		own_input((const uint8_t *)buf, size);
	}
	printf("%lu inputs: %llu specs, %llu bad ones, %llu descriptions, %llu bad ones\n",
	       iterations, (unsigned long long)nr_specs, (unsigned long long)nr_bad_specs,
	       (unsigned long long)nr_descriptions, (unsigned long long)nr_bad_descriptions);
	if (iterations >= 1000)
		MUST(nr_specs > iterations / 20 && nr_bad_specs > iterations / 20 &&
		     nr_descriptions > iterations / 20 && nr_bad_descriptions > iterations / 20);
	for (i = 0; i < nr_seeds; i++)
		free(json[i]);
	free(buf);
	return 0;
}

#endif
