/* SPDX-License-Identifier: MIT */
/*
 * test_jsonl_reader.c - every event is read as it was written; corrupt lines are counted, never
 * fatal.
 */
#include "trace/jsonl_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fmt.h"
#include "trace/json_line.h"
#include "trace/jsonl_parse.h"
#include "trace/jsonl_writer.h"

#include "check.h"

#define LINE                                                                                      \
	"{\"probe_id\":1,\"tid\":2,\"addr\":\"0x0000000000000000\",\"seq\":2,\"is_active\":true," \
	"\"ts\":5}"

/* ---- helpers ------------------------------------------------------------- */

static uint64_t next_random(void)
{
	static uint64_t state = UINT64_C(0x853c49e6748fea9b);

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint64_t random_number(void)
{
	return next_random() >> next_random() % 64;
}

/* The fixtures are in the directory next to this file's. */
static const char *fixture(const char *name)
{
	static char path[4096];
#ifdef FIXTURES
	snprintf(path, sizeof(path), "%s/%s", FIXTURES, name);
#else
	const char *slash = strrchr(__FILE__, '/');

	snprintf(path, sizeof(path), "%.*s/../fixtures/%s", slash ? (int)(slash - __FILE__) : 1,
		 slash ? __FILE__ : ".", name);
#endif
	return path;
}

static void open_text(struct jsonl_reader *r, const char *text, size_t size)
{
	struct err err = { 0 };
	int fd = memfd_create("trace", MFD_CLOEXEC);

	CHECK(fd >= 0 && write(fd, text, size) == (ssize_t)size);
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	CHECK_EQ(jsonl_reader_open_fd(r, fd, "a trace", &err), 0);
}

static void open_fixture(struct jsonl_reader *r, const char *name)
{
	struct err err = { 0 };
	int rc = jsonl_reader_open(r, fixture(name), &err);

	if (rc < 0)
		fprintf(stderr, "%s\n", err.text);
	CHECK_EQ(rc, 0);
}

static void read_all(struct jsonl_reader *r)
{
	struct trace_event ev;
	struct err err = { 0 };
	int rc;

	while ((rc = jsonl_next(r, &ev, &err)) > 0)
		;
	CHECK_EQ(rc, 0);
	CHECK_EQ(jsonl_next(r, &ev, &err), 0);
}

static bool same(const struct trace_event *a, const struct trace_event *b)
{
	return a->probe_id == b->probe_id && a->tid == b->tid && a->addr == b->addr &&
	       a->seq == b->seq && a->ts == b->ts && a->is_active == b->is_active &&
	       a->kind == b->kind && a->station == b->station && a->site == b->site &&
	       a->reason == b->reason && a->flags == b->flags && a->resource == b->resource;
}

/* ---- one line ------------------------------------------------------------ */

/* Text as lines.h hands it out. */
static const char *parse(const char *text, struct trace_event *ev)
{
	static char buf[4096];

	snprintf(buf, sizeof(buf) - LINES_SLACK, "%s\n", text);
	return jsonl_parse(buf, strlen(text), ev);
}

static void understands_other_spellings(void)
{
	struct trace_event ev;

	CHECK(!parse("{\"ts\":9,\"is_active\":1,\"seq\":\"2\",\"addr\":16,\"tid\":3,"
		     "\"probe_id\":\"0xfF\"}",
		     &ev));
	CHECK(ev.probe_id == 255 && ev.tid == 3 && ev.addr == 16 && ev.seq == 2 && ev.is_active);
	CHECK(ev.ts == 9 && ev.station == TRACE_NO_STATION);
	CHECK(!parse("  { \"probe_id\" : 1 , \"tid\":2,\"addr\":\"0x1\",\"seq\":2,"
		     "\"is_active\":0,\"ts\":5,\"station\":3,\"x\":[{}]}  ",
		     &ev));
	CHECK(!ev.is_active && ev.station == 3 && ev.addr == 1);
	/* Not one of the six: an unknown key may hold any value. */
	CHECK(!parse("{\"probe_id\":1,\"tid\":2,\"addr\":\"0x1\",\"seq\":2,\"is_active\":false,"
		     "\"ts\":5,\"station\":\"Paddington\"}",
		     &ev));
	CHECK_EQ(ev.station, TRACE_NO_STATION);
}

static void keeps_every_digit_of_large_numbers(void)
{
	static const uint64_t values[] = {
		INT64_MAX,      (uint64_t)INT64_MAX + 1,       UINT64_MAX,
		UINT64_MAX - 1, UINT64_C(1000000000000000000), UINT64_C(10000000000000000000)
	};
	struct trace_event ev;
	char text[512];
	size_t i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		snprintf(text, sizeof(text),
			 "{ \"seq\":%llu,\"probe_id\":%llu ,\"tid\":2,\"addr\":%llu,"
			 "\"is_active\":true,\"ts\":18446744073709551613}",
			 (unsigned long long)values[i], (unsigned long long)values[i],
			 (unsigned long long)values[i]);
		CHECK(!parse(text, &ev));
		CHECK(ev.probe_id == values[i] && ev.addr == values[i] && ev.seq == values[i]);
		CHECK(ev.ts == UINT64_MAX - 2);
	}
}

static void says_what_is_wrong(void)
{
	struct trace_event ev;

	CHECK_STR(parse("hello", &ev), "it is not JSON");
	CHECK_STR(parse(LINE LINE, &ev), "it is not JSON");
	CHECK_STR(parse("[]", &ev), "it is not a JSON object");
	CHECK_STR(parse("{}", &ev), "there is no probe_id");
	CHECK_STR(parse("{\"probe_id\":1,\"tid\":2,\"addr\":0,\"seq\":2,\"ts\":5}", &ev),
		  "there is no is_active");
	CHECK_STR(parse("{\"probe_id\":1,\"tid\":2,\"addr\":0,\"seq\":2,\"ts\":5,\"is_active\":2}",
			&ev),
		  "is_active is neither true nor false");
	CHECK_STR(parse("{\"probe_id\":18446744073709551616,\"tid\":2,\"addr\":0,\"seq\":2,"
			"\"ts\":5,\"is_active\":1}",
			&ev),
		  "probe_id is not a whole number from 0 to 2^64 - 1");
	CHECK_STR(parse("{\"probe_id\":1,\"tid\":2,\"addr\":\"0x0000000000000000\",\"seq\":2,"
			"\"is_active\":true,\"ts\":0}",
			&ev),
		  "ts is 0");
}

/* The fast parser and the slow parser accept the same lines. */
static void both_ways_agree(void)
{
	char text[256 + LINES_SLACK];
	struct trace_event ev, fast, slow;
	int i;

	for (i = 0; i < 50000; i++) {
		int size;

		ev = (struct trace_event){
			.probe_id = random_number(),
			.tid = random_number(),
			.addr = random_number(),
			.seq = random_number(),
			.ts = random_number(),
			.is_active = next_random() % 2,
			.station = i % 3 ? TRACE_NO_STATION : (uint32_t)random_number(),
			.site = i % 4 ? 0 : (uint32_t)random_number(),
			.reason = (uint8_t)(i % 5 ? 0 : next_random() % 20),
			.flags = i % 7 ? 0 : TRACE_HAS_RESOURCE,
			.resource = i % 7 ? 0 : random_number(),
		};
		ev.kind = ev.is_active;
		memset(text, 0, sizeof(text));
		size = snprintf(
			text, 256,
			"{\"probe_id\":%llu,\"tid\":%llu,\"addr\":\"0x%016llx\",\"seq\":%llu,"
			"\"is_active\":%s,\"ts\":%llu",
			(unsigned long long)ev.probe_id, (unsigned long long)ev.tid,
			(unsigned long long)ev.addr, (unsigned long long)ev.seq,
			ev.is_active ? "true" : "false", (unsigned long long)ev.ts);
		if (ev.station != TRACE_NO_STATION)
			size += snprintf(text + size, 64, ",\"station\":%u", ev.station);
		if (ev.site)
			size += snprintf(text + size, 64, ",\"site\":%u", ev.site);
		if (ev.reason >= NR_TRACE_REASONS)
			size += snprintf(text + size, 64, ",\"reason\":%u", ev.reason);
		else if (ev.reason)
			size += snprintf(text + size, 64, ",\"reason\":\"%s\"",
					 trace_reason_name(ev.reason));
		if (ev.flags)
			size += snprintf(text + size, 64, ",\"resource\":%llu",
					 (unsigned long long)ev.resource);
		size += snprintf(text + size, 8, "}\n") - 1;
		CHECK(jsonl_parse_ours(text, (size_t)size, &fast));
		CHECK(!jsonl_parse_any(text, (size_t)size, &slow));
		CHECK(same(&fast, &ev));
		CHECK(same(&slow, &ev));
	}
}

/* One byte changed: both parsers give the same result. */
static void both_ways_agree_on_damaged_lines(void)
{
	static const char good[] = "{\"probe_id\":12345678901234567,\"tid\":4711,\"addr\":"
				   "\"0x00007f5e3c000b60\",\"seq\":18,\"is_active\":false,"
				   "\"ts\":123456789012345,\"station\":77}\n";
	size_t size = sizeof(good) - 2, at;
	int c, taken = 0;

	for (at = 0; at < size; at++) {
		for (c = 0; c < 256; c++) {
			char text[sizeof(good) + LINES_SLACK] = "";
			struct trace_event fast, slow;

			memcpy(text, good, sizeof(good));
			text[at] = (char)c;
			if (!jsonl_parse_ours(text, size, &fast))
				continue;
			taken++;
			CHECK(!jsonl_parse_any(text, size, &slow));
			CHECK(same(&fast, &slow));
		}
	}
	CHECK(taken > 500);
}

static void never_looks_behind_the_end_of_a_line(void)
{
	static const char good[] = LINE "\n";
	size_t cut;

	for (cut = 0; cut < sizeof(good) - 2; cut++) {
		char text[sizeof(good) + LINES_SLACK] = "";
		struct trace_event ev;

		/* The rest of the line exists, but as the next line. */
		memcpy(text, good, sizeof(good));
		text[cut] = '\n';
		CHECK(!jsonl_parse_ours(text, cut, &ev));
		CHECK(jsonl_parse(text, cut, &ev) != NULL);
	}
}

/* ---- streams ------------------------------------------------------------- */

static struct trace_event random_event(void)
{
	struct trace_event ev = {
		.probe_id = random_number(),
		.tid = next_random() % INT32_MAX,
		.addr = random_number(),
		.seq = random_number() | 1,
		.ts = random_number() | 1,
		.is_active = next_random() % 2,
		.station = next_random() % 2 ? TRACE_NO_STATION : (uint32_t)next_random() >> 1,
		.site = next_random() % 2 ? 0 : (uint32_t)next_random(),
		.reason = (uint8_t)(next_random() % 2 ? 0 : next_random() % 20),
		.flags = next_random() % 2 ? 0 : TRACE_HAS_RESOURCE,
	};

	ev.kind = ev.is_active;
	if (ev.flags)
		ev.resource = random_number();
	return ev;
}

#define ROUND_TRIP 100000

static void reads_back_what_the_writer_wrote(void)
{
	static struct trace_event put[ROUND_TRIP];
	struct trace_event got;
	struct jsonl_reader r;
	struct jsonl_writer w;
	struct err err = { 0 };
	int i, fd = memfd_create("trace", MFD_CLOEXEC), copy = dup(fd);

	CHECK_EQ(jsonl_writer_open(&w, fd, "a trace", &err), 0);
	for (i = 0; i < ROUND_TRIP; i++) {
		put[i] = random_event();
		jsonl_put(&w, &put[i]);
	}
	CHECK_EQ(jsonl_close(&w, &err), 0);
	CHECK(lseek(copy, 0, SEEK_SET) == 0);
	CHECK_EQ(jsonl_reader_open_fd(&r, copy, "a trace", &err), 0);
	for (i = 0; i < ROUND_TRIP; i++) {
		CHECK_EQ(jsonl_next(&r, &got, &err), 1);
		CHECK(same(&got, &put[i]));
	}
	CHECK_EQ(jsonl_next(&r, &got, &err), 0);
	CHECK_EQ(r.stats.events, ROUND_TRIP);
	CHECK_EQ(r.stats.garbage, 0);
	/* Memory does not grow with the trace. */
	CHECK_EQ(r.lines.size, 256 * 1024);
	jsonl_reader_close(&r);
	jsonl_reader_close(&r);
}

static void tells_a_missing_trace_and_a_directory_in_words(void)
{
	struct jsonl_reader r;
	struct err err = { 0 };

	CHECK_EQ(jsonl_reader_open(&r, "/nonexistent/trace.jsonl", &err), -ENOENT);
	CHECK_STR(err.text, "cannot open '/nonexistent/trace.jsonl': No such file or directory");
	CHECK(err.hint[0] != '\0');
	CHECK_EQ(jsonl_reader_open(&r, "/tmp", &err), -EISDIR);
	CHECK_STR(err.text, "'/tmp' is a directory");
	jsonl_reader_close(&r);
}

static void finds_nothing_in_nothing(void)
{
	struct jsonl_reader r;

	open_text(&r, "", 0);
	read_all(&r);
	CHECK_EQ(r.stats.lines, 0);
	jsonl_reader_close(&r);
}

static void reads_the_trace_of_the_older_tool(void)
{
	struct jsonl_reader r;

	open_fixture(&r, "older-tool.jsonl");
	read_all(&r);
	CHECK_EQ(r.stats.events, 24);
	CHECK_EQ(r.stats.garbage, 3);
	CHECK_EQ(r.stats.first[0].line, 6);
	CHECK_STR(r.stats.first[0].reason, "ts is 0");
	CHECK_EQ(r.stats.first[1].line, 12);
	CHECK_EQ(r.stats.first[2].line, 18);
	CHECK_STR(r.stats.first[2].reason, "ts is a flag, not a time");
	jsonl_reader_close(&r);
}

static void sets_a_cut_last_line_aside(void)
{
	struct jsonl_reader r;

	open_fixture(&r, "cut.jsonl");
	read_all(&r);
	CHECK_EQ(r.stats.events, 3);
	CHECK_EQ(r.stats.garbage, 1);
	CHECK_EQ(r.stats.first[0].line, 4);
	CHECK_STR(r.stats.first[0].reason, "the file ends in the middle of it");
	jsonl_reader_close(&r);
}

static void tolerates_crlf_blank_lines_and_no_last_newline(void)
{
	struct jsonl_reader r;

	open_fixture(&r, "crlf.jsonl");
	read_all(&r);
	CHECK_EQ(r.stats.events, 4);
	CHECK_EQ(r.stats.garbage, 0);
	CHECK_EQ(r.stats.lines, 7);
	jsonl_reader_close(&r);
}

static void reads_events_in_other_forms(void)
{
	struct trace_event ev;
	struct jsonl_reader r;
	struct err err;

	open_fixture(&r, "other-forms.jsonl");
	CHECK_EQ(jsonl_next(&r, &ev, &err), 1);
	CHECK(ev.probe_id == 7 && ev.addr == 4096 && ev.is_active);
	CHECK_EQ(jsonl_next(&r, &ev, &err), 1);
	CHECK(ev.probe_id == UINT64_C(0x7f5e3c000b60) && ev.tid == 100 && !ev.is_active);
	CHECK_EQ(jsonl_next(&r, &ev, &err), 1);
	CHECK(ev.probe_id == UINT64_MAX && ev.seq == UINT64_C(1) << 63 && ev.ts == UINT64_MAX);
	CHECK_EQ(jsonl_next(&r, &ev, &err), 1);
	CHECK(ev.probe_id == INT64_MAX && ev.addr == 0xabcdef && ev.station == 12);
	CHECK_EQ(jsonl_next(&r, &ev, &err), 0);
	CHECK_EQ(r.stats.garbage, 0);
	jsonl_reader_close(&r);
}

static void counts_all_garbage_and_remembers_the_first(void)
{
	struct jsonl_reader r;
	unsigned i;

	open_fixture(&r, "garbage.jsonl");
	read_all(&r);
	CHECK_EQ(r.stats.events, 1);
	CHECK_EQ(r.stats.garbage, 20);
	CHECK_EQ(r.stats.nr_first, JSONL_GARBAGE_FIRST);
	for (i = 0; i < JSONL_GARBAGE_FIRST; i++)
		CHECK_EQ(r.stats.first[i].line, i + 1);
	CHECK_STR(r.stats.first[0].reason, "it is not JSON");
	CHECK_STR(r.stats.first[1].reason, "there is no ts");
	CHECK_STR(r.stats.first[11].reason, "tid is no thread id");
	jsonl_reader_close(&r);
}

/* A line of @size bytes that is an event, padded with spaces inside. */
static void add_wide_line(char *text, size_t *at, size_t size)
{
	size_t start = *at;

	memcpy(text + *at, LINE, sizeof(LINE) - 1);
	*at += sizeof(LINE) - 2;
	while (*at < start + size - 1)
		text[(*at)++] = ' ';
	text[(*at)++] = '}';
	text[(*at)++] = '\n';
}

static void reads_lines_up_to_a_mebibyte_and_skips_longer_ones(void)
{
	char *text = malloc(8 * JSONL_LINE_MAX);
	struct jsonl_reader r;
	size_t at = 0;

	CHECK(text != NULL);
	add_wide_line(text, &at, JSONL_LINE_MAX - 1);
	add_wide_line(text, &at, JSONL_LINE_MAX);
	add_wide_line(text, &at, 1000);
	add_wide_line(text, &at, 3 * JSONL_LINE_MAX);
	add_wide_line(text, &at, 200);
	add_wide_line(text, &at, JSONL_LINE_MAX + 1);
	open_text(&r, text, at - 1);
	read_all(&r);
	CHECK_EQ(r.stats.lines, 6);
	CHECK_EQ(r.stats.events, 3);
	CHECK_EQ(r.stats.garbage, 3);
	CHECK_EQ(r.stats.first[0].line, 2);
	CHECK_EQ(r.stats.first[1].line, 4);
	CHECK_EQ(r.stats.first[2].line, 6);
	CHECK_STR(r.stats.first[0].reason, "it is too long: 1 MiB or more");
	CHECK_EQ(r.lines.bytes, at - 1);
	jsonl_reader_close(&r);
	free(text);
}

/* Lines whose ends fall on every position around the end of the buffer. */
static void reads_lines_across_the_ends_of_its_buffer(void)
{
	char *text = malloc(1024 * 1024);
	struct jsonl_reader r;
	int shift, i;

	CHECK(text != NULL);
	for (shift = 0; shift < 120; shift++) {
		size_t at = 0;

		add_wide_line(text, &at, sizeof(LINE) + (size_t)shift);
		for (i = 1; i < 7000; i++)
			add_wide_line(text, &at, sizeof(LINE) - 1);
		open_text(&r, text, at);
		read_all(&r);
		CHECK_EQ(r.stats.events, 7000);
		CHECK_EQ(r.stats.garbage, 0);
		jsonl_reader_close(&r);
	}
	free(text);
}

static void *drip(void *arg)
{
	static const char text[] = LINE "\n\n" LINE "\r\n" LINE;
	int fd = *(int *)arg;
	size_t i;

	for (i = 0; i < sizeof(text) - 1; i++) {
		if (write(fd, &text[i], 1) != 1)
			break;
		if (i % 16 == 0)
			usleep(100);
	}
	close(fd);
	return NULL;
}

static void reads_standard_input_byte_by_byte(void)
{
	int fds[2], saved = dup(STDIN_FILENO);
	struct jsonl_reader r;
	struct err err = { 0 };
	pthread_t thread;

	CHECK_EQ(pipe2(fds, O_NONBLOCK), 0);
	CHECK(dup2(fds[0], STDIN_FILENO) == STDIN_FILENO);
	close(fds[0]);
	CHECK_EQ(pthread_create(&thread, NULL, drip, &fds[1]), 0);
	CHECK_EQ(jsonl_reader_open(&r, "-", &err), 0);
	read_all(&r);
	CHECK_EQ(r.stats.events, 3);
	CHECK_EQ(r.stats.lines, 4);
	jsonl_reader_close(&r);
	pthread_join(thread, NULL);
	if (saved >= 0)
		dup2(saved, STDIN_FILENO);
}

static void quotes_no_number_that_json_does_not_have(void)
{
	static const char *const bad[] = {
		"{12345678901234567890:1}",
		"{\"a\":1,12345678901234567890 :2}",
		"[01234567890123456789]",
		"{\"a\" 12345678901234567890}",
		"[12345678901234567890.]",
		"[--12345678901234567890]",
		"[+12345678901234567890]",
		"[1234567890123456789012345678901234567890e]",
		"[x12345678901234567890]",
		"[\"a12345678901234567890]",
		NULL,
	};
	static const char good[] = "[12345678901234567890,-12345678901234567890,"
				   "\"\\\"12345678901234567890\",1e19,1234567890123456789012.5]";
	json_t *value;
	int i, rc;

	for (i = 0; bad[i]; i++) {
		value = json_line_parse(bad[i], strlen(bad[i]), &rc);
		CHECK(value == NULL);
		CHECK_EQ(rc, -EINVAL);
	}
	value = json_line_parse(good, sizeof(good) - 1, &rc);
	CHECK_EQ(rc, 0);
	CHECK_STR(json_string_value(json_array_get(value, 0)), "12345678901234567890");
	CHECK_STR(json_string_value(json_array_get(value, 1)), "-12345678901234567890");
	CHECK_STR(json_string_value(json_array_get(value, 2)), "\"12345678901234567890");
	CHECK(json_is_real(json_array_get(value, 3)) && json_is_real(json_array_get(value, 4)));
	json_decref(value);
}

int main(void)
{
	RUN(understands_other_spellings);
	RUN(keeps_every_digit_of_large_numbers);
	RUN(quotes_no_number_that_json_does_not_have);
	RUN(says_what_is_wrong);
	RUN(both_ways_agree);
	RUN(both_ways_agree_on_damaged_lines);
	RUN(never_looks_behind_the_end_of_a_line);
	RUN(reads_back_what_the_writer_wrote);
	RUN(tells_a_missing_trace_and_a_directory_in_words);
	RUN(finds_nothing_in_nothing);
	RUN(reads_the_trace_of_the_older_tool);
	RUN(sets_a_cut_last_line_aside);
	RUN(tolerates_crlf_blank_lines_and_no_last_newline);
	RUN(reads_events_in_other_forms);
	RUN(counts_all_garbage_and_remembers_the_first);
	RUN(reads_lines_up_to_a_mebibyte_and_skips_longer_ones);
	RUN(reads_lines_across_the_ends_of_its_buffer);
	RUN(reads_standard_input_byte_by_byte);
	return 0;
}
