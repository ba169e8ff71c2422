/* SPDX-License-Identifier: MIT */
/*
 * test_sections.c - the sections of a view, decoded: each value of each column; and the page that
 * holds them.
 */
#include <corotracer/version.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <unistd.h>

#include "busy_trace.h"
#include "check.h"
#include "golden.h"
#include "page/section_read.h"
#include "view/html.h"
#include "view/slice_budget.h"

/* ---- a view ------------------------------------------------------------------------- */

static void view_take(void *to, const struct trace_item *item)
{
	struct err err = { 0 };

	CHECK_EQ(view_add(to, item, &err), 0);
}

static void put_switch(struct view *v, uint64_t tid, double from, double to, uint64_t lost,
		       const char *state)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_SWITCH);
	item.switched = (struct trace_switch){ .pid = 50,
					       .tid = tid,
					       .from_ts = BUSY_MS(from),
					       .to_ts = BUSY_MS(to),
					       .cpu = 2,
					       .lost = lost,
					       .state = state };
	view_take(v, &item);
}

static void put_frame(struct view *v, double ms, const char *type, uint64_t id, uint64_t lost)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_FRAME);
	item.frame = (struct trace_frame){ .pid = 50,
					   .tid = 7,
					   .ts = BUSY_MS(ms),
					   .probe_id = id,
					   .ticket = 3,
					   .lost = lost,
					   .buffer = "log",
					   .type = type,
					   .fields = type ? "{\"size\":4}" : NULL };
	view_take(v, &item);
}

static void put_facts(struct view *v)
{
	put_switch(v, 0, 0, 0, 0, TRACE_SWITCH_RECORDED);
	put_switch(v, 42, 1220, 1230, 0, TRACE_SWITCH_BLOCKED);
	put_switch(v, 42, 1240, 1241, 0, TRACE_SWITCH_PREEMPTED);
	put_switch(v, 42, 1410, 1470, 0, TRACE_SWITCH_BLOCKED);
	put_switch(v, 0, 1650, 1660, 4, TRACE_SWITCH_LOST);
	put_frame(v, 50, "request", 1, 0);
	put_frame(v, 60, "reply", 0, 0);
	put_frame(v, 70, NULL, 0, 5);
}

static const struct trace_stats stats = { .format = TRACE_FORMAT_CT };

static struct view *make_view(bool is_finished)
{
	const struct view_options options = { .trace = "busy.ct" };
	struct view *v = view_new(&options);
	struct trace_item item;
	struct err err = { 0 };

	CHECK(v != NULL);
	busy_is_small = true;
	busy_make_events();
	busy_put_start(view_take, v);
	busy_put_cpu(view_take, v);
	put_facts(v);
	busy_put_events(view_take, v);
	trace_item_init(&item, TRACE_ITEM_GAP);
	item.gap = (struct trace_gap){ 1, 50, 7, BUSY_MS(10), BUSY_MS(20), 2, 3 };
	view_take(v, &item);
	busy_put_end(view_take, v);
	if (is_finished)
		CHECK_EQ(view_finish(v, &stats, &err), 0);
	return v;
}

/* ---- sections as text ------------------------------------------------------------------ */

static char *shown;
static size_t shown_size;
static FILE *show;

static void show_begin(void)
{
	show = open_memstream(&shown, &shown_size);
	CHECK(show != NULL);
}

static void show_end(const char *golden)
{
	fclose(show);
	golden_hide(shown, COROTRACER_VERSION);
	golden_check(golden, shown);
	free(shown);
}

static void show_json(const void *text, size_t size)
{
	json_error_t error;
	json_t *root = json_loadb(text, size, JSON_DECODE_ANY, &error);
	char *lines;

	if (!root)
		fprintf(stderr, "%s: %.*s\n", error.text, (int)size, (const char *)text);
	CHECK(root != NULL);
	lines = json_dumps(root, JSON_INDENT(1) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
	fprintf(show, "%s\n", lines);
	free(lines);
	json_decref(root);
}

static uint64_t read_varint(const unsigned char **at)
{
	uint64_t value = 0;
	unsigned shift = 0;

	do {
		value |= (uint64_t)(**at & 127) << shift;
		shift += 7;
	} while (*(*at)++ & 128);
	return value;
}

/* Equal values are one with a count, "7*3": a level of detail has thousands of cells. */
static char last_value[512];
static unsigned nr_equal;

static void show_pending(void)
{
	if (nr_equal > 1)
		fprintf(show, " %s*%u", last_value, nr_equal);
	else if (nr_equal)
		fprintf(show, " %s", last_value);
	nr_equal = 0;
}

static void show_counted(const char *value)
{
	if (nr_equal && strcmp(value, last_value) != 0)
		show_pending();
	snprintf(last_value, sizeof(last_value), "%s", value);
	nr_equal++;
}

static void show_value(const char *type, const unsigned char **at)
{
	char text[64];
	uint32_t number = 0;
	double real;

	if (!strcmp(type, "f64")) {
		memcpy(&real, *at, 8);
		*at += 8;
		snprintf(text, sizeof(text), real == floor(real) ? "%.0f" : "%.6g", real);
	} else if (*type == 'u') {
		size_t size = (size_t)atoi(type + 1) / 8;

		memcpy(&number, *at, size);
		*at += size;
		snprintf(text, sizeof(text), "%u", number);
	} else {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)read_varint(at));
	}
	show_counted(text);
}

/* A column is a line. */
static void show_columns(const struct bytes *b)
{
	const json_t *column;
	uint32_t head_size;
	json_t *head;
	size_t i, k;

	memcpy(&head_size, b->data, 4);
	head = json_loadb((const char *)b->data + 4, head_size, 0, NULL);
	CHECK(head != NULL);
	json_array_foreach (json_object_get(head, "columns"), i, column) {
		const char *type = json_string_value(json_object_get(column, "type"));
		size_t offset = (size_t)json_integer_value(json_object_get(column, "offset"));
		size_t count = (size_t)json_integer_value(json_object_get(column, "count"));
		const unsigned char *at = b->data + 4 + head_size + offset;

		fprintf(show, "%s %s:", json_string_value(json_object_get(column, "name")), type);
		for (k = 0; k < count; k++)
			show_value(type, &at);
		show_pending();
		fprintf(show, "\n");
		CHECK_EQ((size_t)(at - b->data) - 4 - head_size - offset,
			 json_integer_value(json_object_get(column, "bytes")));
	}
	json_object_del(head, "columns");
	{
		char *rest = json_dumps(head, 0);

		fprintf(show, "%s\n", rest);
		free(rest);
	}
	json_decref(head);
}

static bool is_columns(const char *name)
{
	return strcmp(name, "meta") != 0 && strcmp(name, "sites") != 0 &&
	       strcmp(name, "strings") != 0 && strcmp(name, "frames") != 0 &&
	       strcmp(name, "report") != 0 && strcmp(name, "notes") != 0;
}

static void show_section(struct view *v, const char *name)
{
	struct bytes b = { 0 };
	struct err err = { 0 };

	CHECK_EQ(view_section(v, name, &b, &err), 0);
	fprintf(show, "==== %s\n", name);
	if (is_columns(name))
		show_columns(&b);
	else
		show_json(b.data, b.size);
	bytes_release(&b);
}

static void sections_have_all_values(void)
{
	static const char *const names[] = { "meta",   "sites", "strings", "frames", "coros",
					     "series", "lod",   "holds",   "index",  "slices/0" };
	struct view *v = make_view(true);
	size_t i;

	CHECK_EQ(view_ticks(v), 1);
	show_begin();
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		show_section(v, names[i]);
	show_end("view.txt");
	view_free(v);
}

static void unknown_sections_are_errors(void)
{
	static const char *const names[] = { "other",
					     "slices/1",
					     "slices/",
					     "slices/x",
					     "slices/0x",
					     "slices/-1",
					     "slices/99999999999999999999" };
	struct view *v = make_view(true);
	struct bytes b = { 0 };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct err err = { 0 };

		CHECK_EQ(view_section(v, names[i], &b, &err), -ENOENT);
		CHECK_EQ(err.code, -ENOENT);
		CHECK(strstr(err.text, i ? "there is no block '" : "there is no section 'other'"));
		CHECK_EQ(b.size, 0);
	}
	view_free(v);
}

/* ---- the page ----------------------------------------------------------------------------- */

static const char page_text[] = "<html>" PAGE_MARK "</html>";
static const struct html_page page = { (const unsigned char *)page_text, sizeof(page_text) - 1 };

static char *write_page(struct view *v, uint64_t max, const struct note_list *notes,
			struct html_result *result, size_t *size)
{
	struct err err = { 0 };
	char *text = NULL;
	FILE *out = open_memstream(&text, size);
	int rc = html_write_noted(v, &page, notes, max, out, result, &err);

	if (rc < 0)
		fprintf(stderr, "%s\n", err.text);
	CHECK_EQ(rc, 0);
	fclose(out);
	CHECK_EQ(result->bytes, *size);
	CHECK(!strncmp(text, "<html>", 6) && !strcmp(text + *size - 7, "</html>"));
	return text;
}

static int read_section(char *text, size_t size, const char *name, struct bytes *out)
{
	FILE *in = fmemopen(text, size, "r");
	struct err err = { 0 };
	int rc = page_section_read(in, "p.html", name, 1 << 20, out, &err);

	fclose(in);
	return rc;
}

static void a_page_holds_the_sections(void)
{
	static const char *const names[] = { "report", "series", "sites", "strings", "frames",
					     "coros",  "lod",    "holds", "index" };
	struct view *v = make_view(true);
	struct html_result result;
	struct err err = { 0 };
	size_t size, i;
	char *text = write_page(v, HTML_SIZE, NULL, &result, &size);

	CHECK_EQ(result.nr_thinned, 0);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct bytes in_page = { 0 }, own = { 0 };

		CHECK_EQ(read_section(text, size, names[i], &in_page), 1);
		CHECK_EQ(view_section(v, names[i], &own, &err), 0);
		if (strcmp(names[i], "index") != 0) /* an open slice ends later there */
			CHECK(in_page.size == own.size &&
			      !memcmp(in_page.data, own.data, own.size));
		bytes_release(&in_page);
		bytes_release(&own);
	}
	{
		struct bytes none = { 0 };

		CHECK_EQ(read_section(text, size, "notes", &none), 0);
		CHECK_EQ(read_section(text, size, "slices-0", &none), 1);
		bytes_release(&none);
	}
	free(text);
	view_free(v);
}

static void a_page_that_is_too_small_names_a_size(void)
{
	struct view *v = make_view(true);
	struct html_result result;
	struct err err = { 0 };
	FILE *out = fopen("/dev/null", "w");

	CHECK_EQ(html_write(v, &page, 5000, out, &result, &err), -EFBIG);
	CHECK_STR(err.text, "the page cannot be made that small");
	CHECK_STR(err.hint, "--max-size 1M would do");
	fclose(out);
	view_free(v);
}

/* ---- a trace that grows -----------------------------------------------------------------------
 */

static void show_rows(const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		char *text = json_dumps(row, JSON_COMPACT | JSON_REAL_PRECISION(6));

		show_counted(text);
		free(text);
	}
	show_pending();
	fprintf(show, "\n");
}

/* Times of the clock differ from run to run; sections_have_all_values() shows the words. */
static void show_delta(struct view *v, uint64_t since)
{
	json_t *root, *stream, *meta, *series;
	struct bytes b = { 0 };
	struct err err = { 0 };
	char *text;

	CHECK_EQ(view_delta(v, since, &b, &err), 0);
	fprintf(show, "==== since %u\n", (unsigned)since);
	root = json_loadb((const char *)b.data, b.size, 0, NULL);
	CHECK(root != NULL);
	meta = json_object_get(root, "meta");
	stream = json_object_get(meta, "stream");
	if (json_is_object(stream))
		json_object_del(stream, "clock");
	json_object_del(meta, "detectors");
	json_object_del(meta, "reasons");
	json_object_del(meta, "states");
	series = json_object_get(root, "series");
	show_rows(json_object_get(series, "rows"));
	json_object_del(series, "rows");
	text = json_dumps(root, JSON_COMPACT);
	show_json(text, strlen(text));
	free(text);
	json_decref(root);
	bytes_release(&b);
}

static void add_tick(struct view *v, uint64_t id, double ms)
{
	busy_nr = 0;
	BUSY(BIRTH, ms, .probe_id = id, .site = 2, .name = id == 1 ? "one" : "two");
	BUSY(RESUME, ms + 1, .probe_id = id);
	BUSY(SUSPEND, ms + 2, .probe_id = id, .site = 1, .reason = TRACE_REASON_MUTEX,
	     .resource = 0x77000);
	busy_put_events(view_take, v);
}

static void deltas_have_what_changed(void)
{
	const struct view_options options = { .trace = "grows.ct" };
	const struct view_stream stream = { 5, 6, 7, true, true, 8, 9 };
	struct view *v = view_new(&options);
	struct trace_item item;
	struct err err = { 0 };

	CHECK(v != NULL);
	trace_item_init(&item, TRACE_ITEM_RUN);
	item.run.start_ts = BUSY_MS(0);
	item.run.pid = 50;
	view_take(v, &item);
	show_begin();
	add_tick(v, 1, 10);
	CHECK_EQ(view_tick(v, &stats, BUSY_MS(15), &err), 0);
	show_delta(v, 0);
	add_tick(v, 2, 20);
	view_set_stream(v, &stream);
	CHECK_EQ(view_tick(v, &stats, BUSY_MS(3000), &err), 0);
	CHECK_EQ(view_ticks(v), 2);
	show_delta(v, 1);
	show_delta(v, 2); /* nothing */
	show_delta(v, 9); /* a tick of another view: everything */
	view_continue(v, 40);
	CHECK_EQ(view_tick(v, &stats, 0, &err), 0);
	CHECK_EQ(view_ticks(v), 41);
	show_end("view-growing.txt");
	view_free(v);
}

/* ---- bundles -------------------------------------------------------------------------------- */

static void put_text(struct bundle *b, const char *name, const char *text)
{
	struct bytes section = { 0 };
	struct err err = { 0 };

	bytes_add_text(&section, text);
	CHECK_EQ(bundle_put(b, name, &section, &err), 0);
	bytes_release(&section);
}

static void sections_of_a_bundle_are_replaced_and_counted(void)
{
	struct bundle b = { 0 };
	char name[32], text[32], *out = NULL;
	uint64_t size;
	size_t written, i;
	FILE *f;

	for (i = 0; i < 70; i++) {
		snprintf(name, sizeof(name), "s/%zu", i);
		snprintf(text, sizeof(text), "text %zu", i);
		put_text(&b, name, text);
	}
	CHECK_EQ(b.nr, 70);
	size = b.size;
	put_text(&b, "s/0", "text 0");
	put_text(&b, "s/69", "text 70");
	CHECK_EQ(b.nr, 70);
	CHECK_EQ(b.size, size);
	f = open_memstream(&out, &written);
	CHECK_EQ(bundle_write(&b, f), 0);
	fclose(f);
	CHECK_EQ(written, b.size);
	for (i = 0; i < 70; i++) {
		struct bytes got = { 0 };

		snprintf(name, sizeof(name), "s-%zu", i);
		snprintf(text, sizeof(text), "text %zu", i < 69 ? i : 70);
		CHECK_EQ(read_section(out, written, name, &got), 1);
		CHECK(got.size == strlen(text) && !memcmp(got.data, text, got.size));
		bytes_release(&got);
	}
	free(out);
	bundle_release(&b);
	CHECK(!b.nr && !b.size && !b.sections);
	f = fopen("/dev/full", "w");
	put_text(&b, "s", "x");
	setvbuf(f, NULL, _IONBF, 0);
	CHECK_EQ(bundle_write(&b, f), -EIO);
	fclose(f);
	bundle_release(&b);
}

/* A section of @size bytes of all values goes through the page. */
static void check_size(size_t size)
{
	struct bytes section = { 0 }, got = { 0 };
	struct bundle b = { 0 };
	struct err err = { 0 };
	char *out = NULL;
	size_t written, i;
	FILE *f = open_memstream(&out, &written);

	for (i = 0; i < size; i++) {
		unsigned char byte = (unsigned char)(i * 7919 >> 3);

		bytes_add(&section, &byte, 1);
	}
	CHECK_EQ(bundle_put(&b, "data", &section, &err), 0);
	CHECK_EQ(bundle_write(&b, f), 0);
	fclose(f);
	CHECK_EQ(read_section(out, written, "data", &got), 1);
	CHECK(got.size == size && (!size || !memcmp(got.data, section.data, size)));
	free(out);
	bytes_release(&got);
	bytes_release(&section);
	bundle_release(&b);
}

static void sections_of_every_size_are_read_back(void)
{
	size_t size;

	for (size = 0; size < 40; size++)
		check_size(size);
	check_size(20000);
	check_size(70000);
}

static void a_damaged_section_is_an_error(void)
{
	static const struct {
		const char *text;
		int code;
		const char *why;
	} cases[] = {
		{ "<x id=\"ct-data\">!!!!</x>", -EINVAL, "section 'data' of 'p' is damaged" },
		{ "<x id=\"ct-data\">AAAA</x>", -EINVAL, "section 'data' of 'p' is damaged" },
		{ "<x id=\"ct-data\"></x>", -EINVAL, "section 'data' of 'p' is damaged" },
		{ "<x id=\"ct-dat\">AAAA</x>", 0, "" },
		{ "<x id=\"ct-data\">AAAAAAAAAAAAAAAAAAAA</x>", -EFBIG, "a section of 'p' is too" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		FILE *in = fmemopen((void *)(uintptr_t)cases[i].text, strlen(cases[i].text), "r");
		struct bytes out = { 0 };
		struct err err = { 0 };

		CHECK_EQ(page_section_read(in, "p", "data", 10, &out, &err), cases[i].code);
		CHECK(strstr(err.text, cases[i].why));
		fclose(in);
		bytes_release(&out);
	}
}

static void a_page_needs_a_place_for_its_data(void)
{
	static const unsigned char bare[] = "<html></html>";
	const struct html_page without = { bare, sizeof(bare) - 1 };
	struct bundle b = { 0 };
	struct err err = { 0 };
	struct html_page got;
	FILE *out = fopen("/dev/full", "w");

	CHECK_EQ(page_write_bundle(&without, &b, out, &err), -EINVAL);
	CHECK(strstr(err.text, "the page has no " PAGE_MARK));
	CHECK_EQ(page_write_bundle(&page, &b, out, &err), -ENOSPC);
	CHECK(strstr(err.text, "cannot write the page"));
	fclose(out);
	CHECK_EQ(page_embedded("nothing", &got, &err), -ENOTSUP);
	CHECK_STR(err.text, "this corotracer was built without its pages");
	CHECK(strstr(err.hint, "WITH_WEB=OFF"));
}

static void an_embedded_page_is_saved_with_its_data(void)
{
	char path[] = "/tmp/test-page-XXXXXX";
	struct html_page embedded;
	struct bytes got = { 0 };
	struct err err = { 0 };
	FILE *in;

	if (page_embedded("memory", &embedded, &err) < 0)
		return; /* built without pages */
	CHECK(embedded.size > 1000);
	CHECK(close(mkstemp(path)) == 0);
	CHECK_EQ(page_save_json(path, "memory", "{\"a\":1}", 7, &err), 0);
	in = fopen(path, "r");
	CHECK_EQ(page_section_read(in, path, "data", 1000, &got, &err), 1);
	CHECK(got.size == 7 && !memcmp(got.data, "{\"a\":1}", 7));
	fclose(in);
	bytes_release(&got);
	unlink(path);
	CHECK_EQ(page_save_json("/none/x.html", "memory", "{}", 2, &err), -ENOENT);
	CHECK_EQ(page_save_json("/dev/full", "memory", "{}", 2, &err), -ENOSPC);
	CHECK_EQ(page_save_json(path, "nothing", "{}", 2, &err), -ENOTSUP);
	CHECK(access(path, F_OK) != 0);
}

/* ---- notes ----------------------------------------------------------------------------------- */

#define NOTES(origin, list) "{\"format\":1,\"origin\":" origin ",\"notes\":[" list "]}"

static void parse_notes(struct note_list *n, const char *text, int code, const char *why)
{
	struct err err = { 0 };

	CHECK_EQ(note_list_parse(n, "n.json", text, strlen(text), &err), code);
	if (!strstr(err.text, why))
		fprintf(stderr, "%s\n", err.text);
	CHECK(strstr(err.text, why));
}

static void notes_move_to_the_origin_of_the_page(void)
{
	static const char text[] = NOTES(
		"\"1000\"",
		"{\"from\":5,\"to\":9,\"id\":\"7\",\"text\":\"a <b>\",\"made\":\"now\"},"
		"{\"from\":20,\"to\":null,\"id\":\"\",\"text\":\"b\",\"made\":\"\"},"
		"{\"from\":null,\"to\":null,\"id\":\"8\",\"text\":\"c\",\"made\":\"\"},"
		"{\"text\":3},7");
	struct note_list n = { 0 };
	struct bytes out = { 0 };

	parse_notes(&n, text, 0, "");
	CHECK_EQ(n.nr, 3);
	CHECK_EQ(n.dropped, 2);
	CHECK_EQ(n.origin, 1000);
	CHECK(n.all[0].has_from && n.all[0].has_to && n.all[0].from == 5 && n.all[0].to == 9);
	CHECK(n.all[1].has_from && !n.all[1].has_to && !n.all[2].has_from);
	CHECK_EQ(note_list_outside(&n, 1005, 1020), 0);
	CHECK_EQ(note_list_outside(&n, 1006, 1020), 1);
	CHECK_EQ(note_list_outside(&n, 1005, 1019), 1);
	CHECK_EQ(note_list_outside(&n, 2000, 3000), 2);
	CHECK_EQ(note_list_write(&n, "t", 900, &out), 0);
	bytes_add(&out, "", 1);
	CHECK_STR((const char *)out.data,
		  "{\"format\":1,\"trace\":\"t\",\"origin\":\"900\",\"notes\":["
		  "{\"from\":105,\"to\":109,\"id\":\"7\",\"text\":\"a <b>\",\"made\":\"now\"},"
		  "{\"from\":120,\"to\":null,\"id\":\"\",\"text\":\"b\",\"made\":\"\"},"
		  "{\"from\":null,\"to\":null,\"id\":\"8\",\"text\":\"c\",\"made\":\"\"}]}");
	bytes_release(&out);
	note_list_release(&n);
}

static void what_has_no_notes_is_an_error(void)
{
	struct note_list n = { 0 };

	parse_notes(&n, "hello", -EINVAL, "'n.json' has no notes: it is neither JSON nor a page");
	parse_notes(&n, "{\"format\":2,\"notes\":[]}", -EINVAL, "it is not of format 1");
	parse_notes(&n, "{\"format\":1}", -EINVAL, "it is not of format 1");
	parse_notes(&n, NOTES("7", ""), -EINVAL, "its times have no origin");
	parse_notes(&n, NOTES("\"\"", ""), -EINVAL, "its times have no origin");
	parse_notes(&n, NOTES("\"x\"", ""), -EINVAL, "its times have no origin");
	CHECK_EQ(n.nr, 0);
}

/* A file with one note, and about @size spaces after it. */
static int read_large_notes(size_t size, struct note_list *n, struct err *err)
{
	static const char text[] = NOTES("\"5\"", "{\"from\":1,\"to\":null,\"id\":\"\","
						  "\"text\":\"x\",\"made\":\"\"}");
	char path[] = "/tmp/test-notes-XXXXXX";
	static char spaces[1 << 16];
	FILE *f = fdopen(mkstemp(path), "w");
	size_t i;
	int rc;

	CHECK(f && fputs(text, f) >= 0);
	memset(spaces, ' ', sizeof(spaces));
	for (i = 0; i < size; i += sizeof(spaces))
		CHECK_EQ(fwrite(spaces, sizeof(spaces), 1, f), 1);
	CHECK_EQ(fclose(f), 0);
	rc = note_list_read(n, path, err);
	unlink(path);
	return rc;
}

static void notes_of_many_pieces_are_read_up_to_a_size(void)
{
	struct note_list n = { 0 };
	struct err err = { 0 };

	CHECK_EQ(read_large_notes(200000, &n, &err), 0);
	CHECK_EQ(n.nr, 1);
	note_list_release(&n);
	n = (struct note_list){ 0 };
	CHECK_EQ(read_large_notes(NOTES_SIZE_MAX, &n, &err), -EFBIG);
	CHECK(strstr(err.text, " is too large for notes") != NULL);
	note_list_release(&n);
}

static void notes_are_read_from_pages_and_files(void)
{
	static const char text[] = NOTES("\"5\"", "{\"from\":1,\"to\":null,\"id\":\"\","
						  "\"text\":\"x\",\"made\":\"\"}");
	char path[] = "/tmp/test-notes-XXXXXX", *out;
	struct view *v = make_view(true);
	struct note_list n = { 0 }, again = { 0 };
	struct html_result result;
	struct err err = { 0 };
	size_t size;
	FILE *f = fdopen(mkstemp(path), "w");

	CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
	CHECK_EQ(note_list_read(&n, path, &err), 0);
	CHECK_EQ(n.nr, 1);
	out = write_page(v, HTML_SIZE, &n, &result, &size);
	f = fopen(path, "w");
	CHECK(fwrite(out, 1, size, f) == size && fclose(f) == 0);
	CHECK_EQ(note_list_read(&again, path, &err), 0);
	CHECK_EQ(again.nr, 1);
	CHECK_STR(again.all[0].text, "x");
	CHECK_EQ(again.origin + (uint64_t)again.all[0].from, 6);
	free(out);
	out = write_page(v, HTML_SIZE, NULL, &result, &size);
	f = fopen(path, "w");
	CHECK(fwrite(out, 1, size, f) == size && fclose(f) == 0);
	CHECK_EQ(note_list_read(&again, path, &err), -EINVAL);
	CHECK(strstr(err.text, "it is a page without notes"));
	unlink(path);
	CHECK_EQ(note_list_read(&again, path, &err), -ENOENT);
	free(out);
	note_list_release(&n);
	note_list_release(&again);
	view_free(v);
}

/* ---- too many slices --------------------------------------------------------------------------
 */

#define MANY_SLICES 100000u

/* Three blocks and a part of slices of 50 coroutines; coroutine 7 has a finding. */
static struct view *many_slices(void)
{
	const struct view_options options = { .trace = "many.ct" };
	struct view *v = view_new(&options);
	struct trace_item item;
	struct err err = { 0 };
	uint64_t random = 1, ts = BUSY_MS(0);
	unsigned i;

	CHECK(v != NULL);
	trace_item_init(&item, TRACE_ITEM_RUN);
	item.run.start_ts = ts;
	view_take(v, &item);
	for (i = 0; i < 2 * MANY_SLICES; i++) {
		random = random * UINT64_C(6364136223846793005) + 1;
		ts += 1 + (random >> 45); /* so that it cannot be packed well */
		trace_item_init(&item, TRACE_ITEM_EVENT);
		trace_event_init(&item.event);
		item.event.kind = i % 2 ? TRACE_SUSPEND : TRACE_RESUME;
		item.event.is_active = i % 2 == 0;
		item.event.probe_id = 1 + i / 2 % 50;
		item.event.seq = 2;
		item.event.tid = 7;
		item.event.ts = ts;
		item.event.site = i % 2 ? 1 : 0;
		if (i == 2 * MANY_SLICES - 1 - 2 * 40) /* it is resumed while it runs */
			item.event = (struct trace_event){ .kind = TRACE_RESUME,
							   .is_active = true,
							   .probe_id = item.event.probe_id,
							   .seq = 2,
							   .tid = 8,
							   .ts = ts,
							   .station = TRACE_NO_STATION };
		view_take(v, &item);
	}
	CHECK_EQ(view_finish(v, &stats, &err), 0);
	return v;
}

static void slices_that_do_not_fit_are_left_out_by_rules(void)
{
	struct view *v = many_slices();
	struct html_result whole, small;
	size_t size, least, blocks, of;
	const char *stretches;
	char *text = write_page(v, HTML_SIZE, NULL, &whole, &size);

	CHECK_EQ(whole.nr_thinned, 0);
	free(text);
	text = write_page(v, size - 200000, NULL, &small, &least);
	CHECK(least <= size - 200000);
	CHECK_EQ(small.nr_thinned, 1);
	CHECK_STR(small.thinned[0].what, "slices");
	CHECK_EQ(small.thinned[0].of, v->spool.nr);
	CHECK(small.thinned[0].kept >= 2 * SPOOL_BLOCK && small.thinned[0].kept < v->spool.nr);
	CHECK(strstr(small.thinned[0].text, " stretches of the run whole (the end and around "
					    "findings first)"));
	/* The end is one of them, and few other slices are there. */
	stretches = strstr(small.thinned[0].text, ": ");
	CHECK(stretches && sscanf(stretches, ": %zu of %zu ", &blocks, &of) == 2);
	CHECK_EQ(of, v->spool.nr_blocks);
	least = (blocks - 1) * SPOOL_BLOCK + v->spool.blocks[of - 1].nr;
	CHECK(small.thinned[0].kept >= least && small.thinned[0].kept < least + SPOOL_BLOCK / 2);
	free(text);
	text = write_page(v, size / 4, NULL, &small, &least);
	CHECK(least <= size / 4);
	CHECK(small.thinned[small.nr_thinned - 1].kept < SPOOL_BLOCK);
	free(text);
	view_free(v);
}

static void a_block_says_which_time_it_has(void)
{
	struct view *v = many_slices();
	const struct spool_block *b = &v->spool.blocks[0];
	struct view_block line;
	struct bytes out = { 0 };
	struct err err = { 0 };

	CHECK_EQ(section_slices(v, 0, NULL, &out, &line, &err), 0);
	CHECK(out.size > 0);
	CHECK_EQ(line.from, b->from);
	CHECK_EQ(line.last, b->last);
	CHECK_EQ(line.to, b->to);
	CHECK(line.from < line.last && line.last < line.to);
	CHECK_EQ(line.nr, b->nr);
	CHECK_EQ(line.of, b->nr);
	CHECK_EQ(memcmp(line.coros, b->coros, sizeof(line.coros)), 0);
	bytes_release(&out);
	view_free(v);
}

static void each_level_keeps_less_than_the_one_before(void)
{
	struct view *v = many_slices();
	uint64_t before = UINT64_MAX, counts[THIN_LEVELS];
	struct err err = { 0 };
	size_t *order, i;
	unsigned level;

	for (level = 0; level < THIN_LEVELS; level++) {
		uint8_t *keep = thin_mark(v, level, &err);
		uint64_t nr = 0;

		CHECK(keep != NULL);
		for (i = 0; i < v->spool.nr; i++)
			nr += keep[i / 8] >> i % 8 & 1;
		counts[level] = thin_count(v, level);
		CHECK_EQ(nr, counts[level]);
		CHECK(nr <= before);
		before = nr;
		free(keep);
	}
	CHECK_EQ(counts[2], 100);
	CHECK_EQ(counts[3], 50);
	CHECK_EQ(counts[4], 0);
	CHECK_STR(thin_rule(3), "the last of each coroutine");
	CHECK(thin_rule(4) == NULL);
	order = thin_order(v);
	CHECK_EQ(order[0], v->spool.nr_blocks - 1); /* the end first */
	free(order);
	view_free(v);
}

/* Coroutines of a merged trace have the name of their part before their own. */
static void coroutines_of_parts_are_labelled(void)
{
	const struct view_options options = { .trace = "m.ct" };
	struct view *v = view_new(&options);
	struct bytes names = { 0 };
	struct trace_item item;
	struct err err = { 0 };
	unsigned i;

	for (i = 1; i <= 2; i++) {
		trace_item_init(&item, TRACE_ITEM_PART);
		item.part.number = i;
		item.part.ids_from = 10 * i;
		item.part.ids_to = 10 * i + 5;
		item.part.name = i == 1 ? "a.ct" : "b.ct";
		view_take(v, &item);
	}
	busy_nr = 0;
	BUSY(BIRTH, 1, .probe_id = 10, .name = "one");
	BUSY(BIRTH, 2, .probe_id = 21, .site = 3);
	BUSY(BIRTH, 3, .probe_id = 99, .name = "other");
	busy_put_events(view_take, v);
	CHECK_EQ(view_finish(v, &stats, &err), 0);
	CHECK_EQ(view_section(v, "strings", &names, &err), 0);
	bytes_add(&names, "", 1);
	CHECK_STR((const char *)names.data, "[\"\",\"a.ct: one\",\"b.ct\",\"other\"]");
	bytes_release(&names);
	view_free(v);
}

int main(void)
{
	RUN(sections_have_all_values);
	RUN(unknown_sections_are_errors);
	RUN(a_page_holds_the_sections);
	RUN(a_page_that_is_too_small_names_a_size);
	RUN(deltas_have_what_changed);
	RUN(sections_of_a_bundle_are_replaced_and_counted);
	RUN(sections_of_every_size_are_read_back);
	RUN(a_damaged_section_is_an_error);
	RUN(a_page_needs_a_place_for_its_data);
	RUN(an_embedded_page_is_saved_with_its_data);
	RUN(notes_move_to_the_origin_of_the_page);
	RUN(what_has_no_notes_is_an_error);
	RUN(notes_are_read_from_pages_and_files);
	RUN(notes_of_many_pieces_are_read_up_to_a_size);
	RUN(slices_that_do_not_fit_are_left_out_by_rules);
	RUN(a_block_says_which_time_it_has);
	RUN(each_level_keeps_less_than_the_one_before);
	RUN(coroutines_of_parts_are_labelled);
	return 0;
}
