/* SPDX-License-Identifier: MIT */
/*
 * fuzz_view.c - the dashboard's view of corrupt traces.
 *
 * With clang:   -DFUZZ_LIBFUZZER -fsanitize=fuzzer,address,undefined
 * Without:      fuzz_view [ITERATIONS [SEED]]
 *
 * Eight bytes of the input are an item (items.h); now and then the view is read while it
 * grows.  Beyond "does not crash": all JSON can be parsed, columns are within their
 * sections, every transition and every coroutine is in the series, and slices are where the
 * index says.
 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "fuzz/items.h"
#include "view/html.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A run without slices proves nothing. */
static uint64_t nr_slices, nr_dropped, nr_looks;

static json_t *read_json(const void *text, size_t size)
{
	/* Its integers have 63 bits. */
	json_t *json = json_loadb(text, size, JSON_DECODE_INT_AS_REAL, NULL);

	MUST(json != NULL);
	return json;
}

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	MUST(json_is_number(value));
	return json_number_value(value);
}

/* The begin of a column; NULL if no column has that name. */
static const unsigned char *column(const struct bytes *b, const json_t *head, size_t head_size,
				   const char *name)
{
	const json_t *columns = json_object_get(head, "columns"), *c;
	size_t i, body = b->size - 4 - head_size;
	const unsigned char *found = NULL;

	json_array_foreach (columns, i, c) {
		double at = number(c, "offset"), bytes = number(c, "bytes");

		MUST(at >= 0 && bytes >= 0 && at + bytes <= (double)body);
		MUST((uint64_t)at % 8 == 0);
		if (!strcmp(json_string_value(json_object_get(c, "name")), name))
			found = b->data + 4 + head_size + (size_t)at;
	}
	return found;
}

struct section {
	struct bytes bytes;
	json_t *head;
	uint32_t head_size;
};

static struct section columns_of(struct view *v, const char *name)
{
	struct section s = { 0 };
	struct err err = { 0 };

	MUST(view_section(v, name, &s.bytes, &err) == 0);
	MUST(s.bytes.size >= 4);
	memcpy(&s.head_size, s.bytes.data, 4);
	MUST(s.head_size <= s.bytes.size - 4 && (4 + s.head_size) % 8 == 0);
	s.head = read_json(s.bytes.data + 4, s.head_size);
	column(&s.bytes, s.head, s.head_size, "");
	return s;
}

static void release(struct section *s)
{
	json_decref(s->head);
	bytes_release(&s->bytes);
}

static uint64_t sum_of(const struct section *s, const char *name)
{
	const unsigned char *at = column(&s->bytes, s->head, s->head_size, name);
	size_t rows = (size_t)number(s->head, "rows"), i;
	uint64_t sum = 0;

	MUST(at != NULL);
	for (i = 0; i < rows; i++) {
		uint32_t value;

		memcpy(&value, at + 4 * i, 4);
		sum += value;
	}
	return sum;
}

static void check_series(struct view *v)
{
	struct section s = columns_of(v, "series");

	MUST(number(s.head, "rows") <= SERIES_BUCKETS);
	/* The series ends with the picture, at or after the last event. */
	MUST(sum_of(&s, "events") == view_model(v)->events);
	MUST(sum_of(&s, "births") == v->records.next);
	release(&s);
}

static void check_slices(struct view *v)
{
	struct section index = columns_of(v, "index");
	uint64_t nr = sum_of(&index, "nr");

	MUST(nr == v->spool.nr);
	nr_slices += nr;
	release(&index);
	if (v->spool.nr_blocks) {
		struct section s = columns_of(v, "slices/0");

		MUST(number(s.head, "rows") == v->spool.blocks[0].nr);
		release(&s);
	}
}

static void check_json(struct view *v, const char *name)
{
	struct bytes b = { 0 };
	struct err err = { 0 };

	MUST(view_section(v, name, &b, &err) == 0);
	json_decref(read_json(b.data, b.size));
	bytes_release(&b);
}

static void look(struct view *v, uint64_t since)
{
	struct bytes b = { 0 };
	struct err err = { 0 };

	MUST(view_delta(v, since, &b, &err) == 0);
	json_decref(read_json(b.data, b.size));
	bytes_release(&b);
	nr_looks++;
}

static void check_lod(struct view *v)
{
	struct section lod = columns_of(v, "lod");

	release(&lod);
}

static void check_all(struct view *v)
{
	static const char *const texts[] = { "meta", "report", "sites", "strings" };
	struct section coros;
	struct bytes none = { 0 };
	struct err err = { 0 };
	size_t i;

	for (i = 0; i < 4; i++)
		check_json(v, texts[i]);
	check_series(v);
	check_slices(v);
	coros = columns_of(v, "coros");
	MUST(number(coros.head, "rows") <= (double)v->records.max);
	nr_dropped += v->records.next - v->records.nr;
	release(&coros);
	MUST(view_section(v, "slices/1", &none, &err) < 0 && view_section(v, "x", &none, &err) < 0);
	look(v, 0);
}

static void write_html(struct view *v, uint8_t how)
{
	static const unsigned char text[] = "<p>" PAGE_MARK "</p>";
	struct html_page page = { text, sizeof(text) - 1 };
	struct html_result result;
	struct err err = { 0 };
	char *out = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&out, &size);
	uint64_t max = 9000 + how * UINT64_C(1000);

	MUST(file != NULL);
	/* A size that is too small is reported; otherwise the page fits. */
	if (html_write(v, &page, max, file, &result, &err) == 0) {
		MUST(fflush(file) == 0 && size == result.bytes && size <= max);
	} else {
		MUST(err.code == -EFBIG && size == 0);
	}
	fclose(file);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view_options options = { .trace = "t", .coros_max = 3 };
	struct trace_stats stats = { 0 };
	struct view *v = view_new(&options);
	struct trace_item item;
	struct err err = { 0 };
	uint8_t how = size ? data[size - 1] : 0;

	MUST(v != NULL);
	items_ts = 1000;
	for (; size >= 8; data += 8, size -= 8) {
		make_item(data, &item);
		MUST(view_add(v, &item, &err) == 0);
		if (data[0] >= 250) {
			MUST(view_tick(v, &stats, data[1] & 1 ? items_ts + data[2] : 0, &err) == 0);
			look(v, data[3] % 4u);
		}
	}
	MUST(view_finish(v, &stats, &err) == 0);
	check_all(v);
	/* These take much longer than all others. */
	if (how % 16 == 0)
		check_lod(v);
	if (how % 32 == 0)
		write_html(v, how);
	view_free(v);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
#include "own_input.h"

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 500, i;
	uint8_t data[8 * 400];

	state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	for (i = 0; i < rounds; i++) {
		size_t size = fill_random(data, sizeof(data));

		own_input(data, size);
	}
	printf("%ld inputs: %llu slices, %llu looks, %llu coroutines dropped\n", rounds,
	       (unsigned long long)nr_slices, (unsigned long long)nr_looks,
	       (unsigned long long)nr_dropped);
	return nr_slices && nr_looks && nr_dropped ? 0 : 1;
}
#endif
