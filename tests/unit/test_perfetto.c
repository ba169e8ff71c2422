/* SPDX-License-Identifier: MIT */
/*
 * test_perfetto.c - packets for ui.perfetto.dev, field by field: clocks, tracks of every type,
 * slices with their arguments, counters, and sites.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "check.h"
#include "export/frames_timeline.h"
#include "export/sink.h"
#include "export/timeline.h"

static char dir[] = "/tmp/corotracer-test-XXXXXX", path[64];
static struct export_options options;
static struct sink_job job;
static struct timeline_view *view;

/* ---- messages as text ------------------------------------------------------------------- */

static char out[65536];
static size_t used;

static void say(const char *text, size_t size)
{
	CHECK(used + size + 1 < sizeof(out));
	memcpy(out + used, text, size);
	used += size;
	out[used] = '\0';
}

static uint64_t take_varint(const uint8_t **at, const uint8_t *end)
{
	uint64_t value = 0;
	unsigned shift = 0;

	for (;;) {
		uint8_t byte;

		CHECK(*at < end && shift < 64);
		byte = *(*at)++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80))
			return value;
	}
}

static bool is_text(const uint8_t *at, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++) {
		if (at[i] < ' ' || at[i] > '~')
			return false;
	}
	return size > 0;
}

/* "8:5 11{9:1 'text'}": numbers of fields with their values; texts in quotes. */
static void say_message(const uint8_t *at, size_t size)
{
	const uint8_t *end = at + size;
	char number[64];

	while (at < end) {
		uint64_t tag = take_varint(&at, end), value;
		double real;

		snprintf(number, sizeof(number), "%s%u",
			 used && !strchr("{\n", out[used - 1]) ? " " : "", (unsigned)(tag >> 3));
		say(number, strlen(number));
		if ((tag & 7) == 0) {
			snprintf(number, sizeof(number), ":%" PRIu64, take_varint(&at, end));
		} else if ((tag & 7) == 1) {
			CHECK(end - at >= 8);
			memcpy(&value, at, 8);
			memcpy(&real, at, 8);
			if (value < 1000000)
				snprintf(number, sizeof(number), "#%" PRIu64, value);
			else
				snprintf(number, sizeof(number), "~%g", real);
			at += 8;
		} else {
			CHECK_EQ(tag & 7, 2);
			value = take_varint(&at, end);
			CHECK(value <= (uint64_t)(end - at));
			if (is_text(at, value)) {
				say("'", 1);
				say((const char *)at, value);
				say("'", 1);
			} else {
				say("{", 1);
				say_message(at, value);
				say("}", 1);
			}
			at += value;
			continue;
		}
		say(number, strlen(number));
	}
}

/* Packets that are packed into one: each on a line. */
static void say_packets(const uint8_t *at, size_t size)
{
	const uint8_t *end = at + size;

	while (at < end) {
		uint64_t tag = take_varint(&at, end), length = take_varint(&at, end);

		CHECK_EQ(tag, 1 << 3 | 2);
		CHECK(length <= (uint64_t)(end - at));
		say_message(at, length);
		say("\n", 1);
		at += length;
	}
}

static void say_file(void)
{
	static uint8_t packed[65536], plain[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size;
	const uint8_t *at = packed, *end;
	uLongf length;

	CHECK(fd >= 0);
	size = read(fd, packed, sizeof(packed));
	CHECK(size > 0 && (size_t)size < sizeof(packed));
	close(fd);
	end = packed + size;
	used = 0;
	out[0] = '\0';
	while (at < end) {
		uint64_t tag = take_varint(&at, end), all = take_varint(&at, end);
		const uint8_t *next = at + all;

		CHECK_EQ(tag, 1 << 3 | 2);
		CHECK_EQ(take_varint(&at, end), 50 << 3 | 2); /* compressed packets */
		all = take_varint(&at, end);
		length = sizeof(plain);
		CHECK_EQ(uncompress(plain, &length, at, all), Z_OK);
		say_packets(plain, length);
		at = next;
	}
}

/* ---- a trace ------------------------------------------------------------------------------ */

static void export_begin(void)
{
	struct err err = { 0 };

	memset(&job, 0, sizeof(job));
	memset(&options, 0, sizeof(options));
	options.quiet = true;
	options.output = path;
	options.trace = "trace.jsonl";
	job.options = &options;
	job.output = path;
	CHECK_EQ(sink_perfetto.open(&job, &err), 0);
	view = job.state; /* its first member */
}

/* What was drawn, without the first two packets and the tracks that every trace has at its end. */
static const char *export_end(void)
{
	struct trace_stats stats = { .format = TRACE_FORMAT_JSONL };
	struct err err = { 0 };
	char *at;

	job.stats = &stats;
	CHECK_EQ(sink_perfetto.commit(&job, &err), 0);
	CHECK(strstr(job.note, "https://ui.perfetto.dev") != NULL);
	sink_perfetto.close(&job);
	say_file();
	CHECK_EQ(unlink(path), 0);
	at = strstr(out, "10:1 13:2 60{1:1 2'program' 11:3}\n");
	CHECK(at != NULL);
	*at = '\0';
	at = strchr(out, '\n');
	CHECK(at != NULL);
	at = strchr(at + 1, '\n');
	CHECK(at != NULL);
	return at + 1;
}

static void the_first_packets_set_clock_and_words(void)
{
	const struct sidecar_run run = { .start_ts = 1000, .start_realtime = 5000 };
	char text[256];
	unsigned i;

	export_begin();
	view->run(view, &run);
	export_end();
	CHECK(strstr(out, "10:1 6{1{1:3 2:1000} 1{1:1 2:5000} 2:3}\n"
			  "10:1 13:1 87:1 59{58:3} 12{") == out);
	for (i = 0; i < NR_TIMELINE_CATEGORIES; i++) {
		snprintf(text, sizeof(text), "1{1:%u 2'%s'}", i + 1, timeline_category_name(i));
		CHECK(strstr(out, text) != NULL);
	}
	for (i = 0; i < NR_TIMELINE_WORDS; i++) {
		snprintf(text, sizeof(text), " 2{1:%u 2'%s'}", i + 1, timeline_word_name(i));
		CHECK(strstr(out, text) != NULL);
	}
	for (i = 0; i < NR_TIMELINE_KEYS; i++) {
		snprintf(text, sizeof(text), " 3{1:%u 2'%s'}", i + 1, timeline_key_name(i));
		CHECK(strstr(out, text) != NULL);
	}
	export_begin(); /* the time of day is not known */
	export_end();
	CHECK(strstr(out, "10:1 6{1{1:3 2:0} 2:3}\n") == out);
}

static void draw_track(enum timeline_track_type type, const char *name)
{
	const struct timeline_track t = {
		.id = 9, .parent = 4, .type = type, .rank = 6, .pid = 70, .tid = 71, .name = name
	};

	view->track(view, &t);
}

static void tracks_have_descriptors(void)
{
	struct timeline_track t = { .id = 9, .parent = 4, .type = TRACK_THREAD, .name = "n" };
	const struct frame_track row = { .track = { .id = 8, .parent = 4, .type = TRACK_FRAME_ROW },
					 .group = "tick.user" };

	export_begin();
	draw_track(TRACK_PROCESS, "prog");
	draw_track(TRACK_THREAD, "t");
	draw_track(TRACK_GROUP, "group");
	draw_track(TRACK_COROUTINE, "co");
	draw_track(TRACK_COROUTINE_PACKED, NULL);
	draw_track(TRACK_COUNTER, "nr");
	draw_track(TRACK_LOST, "lost");
	draw_track(TRACK_FRAME_COUNTER, "fc");
	view->track(view, &t); /* no process */
	t.pid = 70;
	t.tid = UINT64_C(1) << 31; /* not a number of a thread */
	view->track(view, &t);
	t.tid--;
	view->track(view, &t);
	t.type = TRACK_PROCESS;
	t.pid = 0;
	view->track(view, &t);
	view->track(view, &row.track);
	CHECK_STR(export_end(), "10:1 13:2 60{1:9 3{1:70 6'prog'} 11:3}\n"
				"10:1 13:2 60{1:9 4{1:70 2:71 5'thread'}}\n"
				"10:1 13:2 60{1:9 5:4 2'group' 12:6 11:3}\n"
				"10:1 13:2 60{1:9 5:4 2'co' 12:6 15:2}\n"
				"10:1 13:2 60{1:9 5:4 12:6 15:3 16'coroutines'}\n"
				"10:1 13:2 60{1:9 5:4 2'nr' 12:6 8{3:2}}\n"
				"10:1 13:2 60{1:9 5:4 2'lost' 12:6 15:2}\n"
				"10:1 13:2 60{1:9 5:4 2'fc' 12:6 8{}}\n"
				"10:1 13:2 60{1:9 5:4 2'n'}\n"
				"10:1 13:2 60{1:9 5:4 2'n'}\n"
				"10:1 13:2 60{1:9 4{1:70 2:2147483647 5'thread'}}\n"
				"10:1 13:2 60{1:9 2'n' 11:3}\n"
				"10:1 13:2 60{1:8 5:4 12:0 15:3 16'tick.user'}\n");
}

static void slices_have_arguments(void)
{
	struct timeline_name word = { .id = WORD_READY + 1, .text = "ready" };
	struct timeline_name name = { .id = 1000, .text = "worker" };
	const struct timeline_track t = { .id = 9, .type = TRACK_COROUTINE };
	const struct timeline_field fields[2] = {
		{ "size", { .kind = CELL_UNSIGNED, .u = 12 } },
		{ "user", { .kind = CELL_TEXT, .text = "ann", .size = 3 } },
	};
	struct timeline_mark m = {
		.name = &name,
		.category = CATEGORY_READY,
		.flow = 77,
		.site = 3,
		.nr_args = 5,
		.args = { { KEY_COROUTINE, ARG_NUMBER, 8, NULL },
			  { KEY_SINCE, ARG_SIGNED, (uint64_t)-1, NULL },
			  { KEY_ADDRESS, ARG_POINTER, 4096, NULL },
			  { KEY_REASON, ARG_TEXT, 0, "timer" },
			  { KEY_LATE, ARG_TRUE, 0, NULL } },
	};

	export_begin();
	view->begin(view, &t, 5000, &m);
	m.flow_ends = true;
	m.nr_args = 0;
	m.site = 0;
	m.fields = fields;
	m.nr_fields = 2;
	view->instant(view, &t, 5001, &m); /* its name is known now */
	m.name = &word;
	m.flow = 0;
	m.nr_fields = 0;
	view->begin(view, &t, 5002, &m);
	view->end(view, &t, 5003, &word);
	CHECK_STR(export_end(),
		  "10:1 13:2 8:5000 11{9:1 11:9 3:4 10:1000 47#77 34:3 4{1:1 3:8} "
		  "4{1:12 4:18446744073709551615} 4{1:11 7:4096} 4{1:9 6'timer'} 4{1:25 2:1}} "
		  "12{2{1:1000 2'worker'}}\n"
		  "10:1 13:2 8:5001 11{9:3 11:9 3:4 10:1000 48#77 4{1:39 11{10'size' 3:12} "
		  "11{10'user' 6'ann'}}}\n"
		  "10:1 13:2 8:5002 11{9:1 11:9 3:4 10:2}\n"
		  "10:1 13:2 8:5003 11{9:2 11:9}\n");
	CHECK(name.told);
	CHECK(!word.told); /* one of the first packet */
}

static void counters_have_values(void)
{
	const struct timeline_track t = { .id = 9, .type = TRACK_COUNTER };
	const struct cell cells[] = { { .kind = CELL_SIGNED, .i = -3 },
				      { .kind = CELL_UNSIGNED, .u = 7 },
				      { .kind = CELL_UNSIGNED, .u = INT64_MAX },
				      { .kind = CELL_UNSIGNED, .u = UINT64_C(1) << 63 },
				      { .kind = CELL_FLOAT, .f = 2.5f },
				      { .kind = CELL_DOUBLE, .d = 0.125 } };
	size_t i;

	export_begin();
	for (i = 0; i < sizeof(cells) / sizeof(cells[0]); i++)
		view->counter(view, &t, 100 + i, &cells[i]);
	CHECK_STR(export_end(), "10:1 13:2 8:100 11{9:4 11:9 30:18446744073709551613}\n"
				"10:1 13:2 8:101 11{9:4 11:9 30:7}\n"
				"10:1 13:2 8:102 11{9:4 11:9 30:9223372036854775807}\n"
				"10:1 13:2 8:103 11{9:4 11:9 44~9.22337e+18}\n"
				"10:1 13:2 8:104 11{9:4 11:9 44~2.5}\n"
				"10:1 13:2 8:105 11{9:4 11:9 44~0.125}\n");
}

static void sites_are_places(void)
{
	const struct trace_site sites[] = { { 3, 20, 7, "a.c", "f" }, { 4, 0, 7, NULL, NULL } };

	export_begin();
	view->site(view, &sites[0]);
	view->site(view, &sites[1]);
	CHECK_STR(export_end(), "10:1 13:2 12{4{1:3 2'a.c' 3'f' 4:20}}\n"
				"10:1 13:2 12{4{1:4 2{} 3{} 4:0}}\n");
}

static void fields_have_types(void)
{
	struct timeline_name name = { .id = 2, .text = "x" };
	const struct timeline_track t = { .id = 9, .type = TRACK_FRAMES };
	const struct timeline_field fields[] = {
		{ "a", { .kind = CELL_SIGNED, .i = -1 } },
		{ "b", { .kind = CELL_BOOL, .u = 1 } },
		{ "c", { .kind = CELL_FLOAT, .f = 1.5f } },
		{ "d", { .kind = CELL_DOUBLE, .d = 2.5 } },
		{ "e", { .kind = CELL_NULL } },
	};
	struct timeline_mark m = {
		.name = &name, .category = CATEGORY_FRAME, .fields = fields, .nr_fields = 5
	};

	export_begin();
	view->instant(view, &t, 5, &m);
	CHECK_STR(export_end(), "10:1 13:2 8:5 11{9:3 11:9 3:9 10:2 4{1:39 "
				"11{10'a' 4:18446744073709551615} 11{10'b' 2:1} 11{10'c' 5~1.5} "
				"11{10'd' 5~2.5} 11{10'e' 6'none'}}}\n");
}

int main(void)
{
	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/o.pftrace", dir);
	RUN(the_first_packets_set_clock_and_words);
	RUN(tracks_have_descriptors);
	RUN(slices_have_arguments);
	RUN(counters_have_values);
	RUN(sites_are_places);
	RUN(fields_have_types);
	rmdir(dir);
	return 0;
}
