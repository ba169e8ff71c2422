/* SPDX-License-Identifier: MIT */
/*
 * test_sidecar.c - the sidecar is read as it was written, has whole lines at any time, has its
 * totals on any disk failure, and is never trusted.
 */
#include "trace/sidecar.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "trace_items.h"

static char dir[] = "/tmp/test_sidecar.XXXXXX";
static char path[64];

/* ---- helpers ------------------------------------------------------------- */

static const char *const words[] = { "./server", "--name", "a \"b\"\n", "" };

static const struct sidecar_run run = {
	.tool = "corotracer 0.1.0",
	.command = words,
	.nr_command = 4,
	.pid = 4711,
	.start_ts = UINT64_MAX,
	.start_realtime = UINT64_C(1700000000123456789),
	.hostname = "box",
	.arch = "x86_64",
	.stations = 256,
};

static const struct sidecar_process process = { 4712, 1000, 17, 0 };

static const struct sidecar_coroutine coroutine = {
	.station = 3,
	.probe_id = UINT64_C(0xffff800012345678),
	.pid = 4712,
	.name = "reader \xc3\xa9",
	.name_truncated = true,
	.birth_ts = 5,
	.death_ts = 9,
	.dead = true,
	.writer = "seed-002",
	.written = 100,
	.collected = 90,
	.lost = 10,
	.garbage = 1,
	.parent = 77,
	.birth_site = 6,
	.state = TRACE_STATE_SUSPENDED,
	.since_ts = 8,
	.addr = 0x1234,
	.site = 7,
	.reason = TRACE_REASON_TIMER,
	.has_resource = true,
	.resource = 0,
};

static const struct sidecar_totals totals = {
	.complete = true,
	.written = 100,
	.collected = 90,
	.lost = 10,
	.lost_overwritten = 7,
	.lost_full = 1,
	.lost_output = 2,
	.garbage = 1,
	.unfinished = 4,
	.coroutines = 5,
	.without_station = 6,
	.others_written = 33,
	.others_collected = 32,
	.others_lost = 1,
	.forgotten = 13,
	.others_forgotten = 14,
	.waits = 11,
	.wait_ns = 12,
	.exit_status = 3,
	.end_ts = 99,
};

static const struct trace_site site = { 7, 42, 4712, "src/\"a\".c", "main" };

static const struct trace_gap gap = { 3, 4712, 4713, 10, 20, 5, 6 };

static void write_all(void)
{
	struct sidecar_writer w;
	struct err err = { 0 };

	CHECK_EQ(sidecar_writer_open(&w, path, &err), 0);
	sidecar_put_fact(&w, &(struct trace_item){ .type = TRACE_ITEM_RUN, .run = run });
	sidecar_put_fact(&w,
			 &(struct trace_item){ .type = TRACE_ITEM_PROCESS, .process = process });
	sidecar_put_fact(&w, &(struct trace_item){ .type = TRACE_ITEM_SITE, .site = site });
	sidecar_put_fact(&w, &(struct trace_item){ .type = TRACE_ITEM_GAP, .gap = gap });
	sidecar_put_fact(&w, &(struct trace_item){ .type = TRACE_ITEM_COROUTINE,
						   .coroutine = coroutine });
	sidecar_put_totals(&w, &totals);
	CHECK_EQ(sidecar_writer_close(&w, &err), 0);
	CHECK_EQ(sidecar_writer_close(&w, &err), 0);
}

static void open_text(struct sidecar_reader *r, const char *text)
{
	struct err err = { 0 };
	int fd = memfd_create("sidecar", MFD_CLOEXEC);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	CHECK_EQ(sidecar_reader_open_fd(r, fd, "a sidecar", &err), 0);
}

/* ---- tests --------------------------------------------------------------- */

static void lies_beside_its_trace(void)
{
	char *name = sidecar_path("some/trace.jsonl");

	CHECK_STR(name, "some/trace.jsonl.meta");
	free(name);
}

static void check_run(struct sidecar_reader *r)
{
	struct trace_item rec;
	struct err err = { 0 };
	size_t i;

	CHECK_EQ(sidecar_next(r, &rec, &err), 1);
	CHECK_EQ(rec.type, TRACE_ITEM_RUN);
	CHECK_EQ(rec.run.format, SIDECAR_FORMAT);
	CHECK_STR(rec.run.tool, run.tool);
	CHECK_EQ(rec.run.nr_command, run.nr_command);
	for (i = 0; i < run.nr_command; i++)
		CHECK_STR(rec.run.command[i], run.command[i]);
	CHECK_EQ(rec.run.pid, run.pid);
	CHECK(rec.run.start_ts == UINT64_MAX);
	CHECK_EQ(rec.run.start_realtime, run.start_realtime);
	CHECK_STR(rec.run.hostname, "box");
	CHECK_STR(rec.run.arch, "x86_64");
	CHECK_EQ(rec.run.stations, 256);
}

static void check_coroutine(struct sidecar_reader *r)
{
	struct trace_item rec;
	struct err err = { 0 };

	CHECK_EQ(sidecar_next(r, &rec, &err), 1);
	CHECK_EQ(rec.type, TRACE_ITEM_COROUTINE);
	CHECK_EQ(rec.coroutine.station, 3);
	CHECK(rec.coroutine.probe_id == coroutine.probe_id);
	CHECK_EQ(rec.coroutine.pid, 4712);
	CHECK_STR(rec.coroutine.name, coroutine.name);
	CHECK(rec.coroutine.name_truncated && rec.coroutine.dead);
	CHECK(rec.coroutine.birth_ts == 5 && rec.coroutine.death_ts == 9);
	CHECK_STR(rec.coroutine.writer, "seed-002");
	CHECK(rec.coroutine.written == 100 && rec.coroutine.collected == 90);
	CHECK(rec.coroutine.lost == 10 && rec.coroutine.garbage == 1);
	CHECK(rec.coroutine.parent == 77 && rec.coroutine.birth_site == 6);
	CHECK(rec.coroutine.state == TRACE_STATE_SUSPENDED && rec.coroutine.since_ts == 8);
	CHECK(rec.coroutine.addr == 0x1234 && rec.coroutine.site == 7);
	CHECK(rec.coroutine.reason == TRACE_REASON_TIMER && rec.coroutine.has_resource);
	CHECK_EQ(rec.coroutine.resource, 0);
}

static void check_site_and_gap(struct sidecar_reader *r)
{
	struct trace_item rec;
	struct err err = { 0 };

	CHECK_EQ(sidecar_next(r, &rec, &err), 1);
	CHECK_EQ(rec.type, TRACE_ITEM_SITE);
	CHECK(rec.site.id == 7 && rec.site.line == 42 && rec.site.pid == 4712);
	CHECK_STR(rec.site.file, site.file);
	CHECK_STR(rec.site.function, "main");
	CHECK_EQ(sidecar_next(r, &rec, &err), 1);
	CHECK_EQ(rec.type, TRACE_ITEM_GAP);
	CHECK(!memcmp(&rec.gap, &gap, sizeof(gap)));
}

static void check_totals(const struct sidecar_totals *t)
{
	CHECK(t->complete);
	CHECK_EQ(t->written, totals.written);
	CHECK_EQ(t->collected, totals.collected);
	CHECK_EQ(t->lost, totals.lost);
	CHECK_EQ(t->lost_overwritten, totals.lost_overwritten);
	CHECK_EQ(t->lost_full, totals.lost_full);
	CHECK_EQ(t->forgotten, totals.forgotten);
	CHECK_EQ(t->others_forgotten, totals.others_forgotten);
	CHECK_EQ(t->lost_output, totals.lost_output);
	CHECK_EQ(t->others_written, totals.others_written);
	CHECK_EQ(t->others_collected, totals.others_collected);
	CHECK_EQ(t->others_lost, totals.others_lost);
	CHECK_EQ(t->waits, totals.waits);
	CHECK_EQ(t->wait_ns, totals.wait_ns);
	CHECK_EQ(t->garbage, totals.garbage);
	CHECK_EQ(t->unfinished, totals.unfinished);
	CHECK_EQ(t->coroutines, totals.coroutines);
	CHECK_EQ(t->without_station, totals.without_station);
	CHECK_EQ(t->exit_status, totals.exit_status);
	CHECK_EQ(t->signal, totals.signal);
	CHECK_EQ(t->end_ts, totals.end_ts);
}

static void comes_back_as_it_was_written(void)
{
	struct sidecar_reader r;
	struct trace_item rec;
	struct err err = { 0 };

	write_all();
	CHECK_EQ(sidecar_reader_open(&r, path, &err), 0);
	check_run(&r);
	CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
	CHECK_EQ(rec.type, TRACE_ITEM_PROCESS);
	CHECK(rec.process.pid == 4712 && rec.process.uid == 1000 && rec.process.connected_ts == 17);
	check_site_and_gap(&r);
	check_coroutine(&r);
	CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
	CHECK_EQ(rec.type, TRACE_ITEM_TOTALS);
	check_totals(&rec.totals);
	CHECK_EQ(sidecar_next(&r, &rec, &err), 0);
	CHECK_EQ(r.stats.records, 6);
	CHECK_EQ(r.stats.unknown_keys + r.stats.unknown_types + r.stats.bad_fields, 0);
	CHECK_EQ(r.stats.garbage, 0);
	sidecar_reader_close(&r);
	sidecar_reader_close(&r);
}

static void spells_the_keys_as_agreed(void)
{
	char text[4096] = "";
	FILE *file;

	write_all();
	file = fopen(path, "r");
	CHECK(file && fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	CHECK_STR(text,
		  "{\"type\":\"run\",\"format\":1,\"tool\":\"corotracer 0.1.0\",\"command\":["
		  "\"./server\",\"--name\",\"a \\\"b\\\"\\n\",\"\"],\"pid\":4711,"
		  "\"start_ts\":18446744073709551615,\"start_realtime\":1700000000123456789,"
		  "\"hostname\":\"box\",\"arch\":\"x86_64\",\"stations\":256}\n"
		  "{\"type\":\"process\",\"pid\":4712,\"uid\":1000,\"connected_ts\":17}\n"
		  "{\"type\":\"site\",\"id\":7,\"file\":\"src/\\\"a\\\".c\",\"line\":42,"
		  "\"function\":\"main\",\"pid\":4712}\n"
		  "{\"type\":\"gap\",\"from_ts\":10,\"to_ts\":20,\"lane\":3,\"pid\":4712,"
		  "\"tid\":4713,\"transitions\":5,\"others\":6}\n"
		  "{\"type\":\"coroutine\",\"station\":3,\"probe_id\":18446603336526616184,"
		  "\"pid\":4712,\"name\":\"reader \xc3\xa9\",\"name_truncated\":true,"
		  "\"birth_ts\":5,\"death_ts\":9,\"dead\":true,\"writer\":\"seed-002\","
		  "\"written\":100,\"collected\":90,\"lost\":10,\"garbage\":1,\"parent\":77,"
		  "\"birth_site\":6,\"state\":\"suspended\",\"since_ts\":8,"
		  "\"addr\":\"0x0000000000001234\",\"site\":7,\"reason\":\"timer\","
		  "\"resource\":0}\n"
		  "{\"type\":\"totals\",\"complete\":true,\"written\":100,\"collected\":90,"
		  "\"lost\":10,\"lost_overwritten\":7,\"lost_full\":1,\"lost_output\":2,"
		  "\"garbage\":1,"
		  "\"unfinished\":4,\"coroutines\":5,\"without_station\":6,\"others_written\":33,"
		  "\"others_collected\":32,\"others_lost\":1,\"forgotten\":13,"
		  "\"others_forgotten\":14,\"waits\":11,\"wait_ns\":12,"
		  "\"exit_status\":3,"
		  "\"signal\":null,\"end_ts\":99}\n");
}

static void writes_null_for_what_is_not_known(void)
{
	struct sidecar_coroutine nobody = { 0 };
	struct sidecar_totals killed = { .exit_status = -1, .signal = 9 };
	struct sidecar_writer w;
	struct sidecar_reader r;
	struct trace_item rec;
	struct err err = { 0 };

	CHECK_EQ(sidecar_writer_open(&w, path, &err), 0);
	sidecar_put_fact(&w,
			 &(struct trace_item){ .type = TRACE_ITEM_COROUTINE, .coroutine = nobody });
	sidecar_put_totals(&w, &killed);
	CHECK_EQ(sidecar_writer_close(&w, &err), 0);
	CHECK_EQ(sidecar_reader_open(&r, path, &err), 0);
	CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
	CHECK(!rec.coroutine.name && !rec.coroutine.death_ts && !rec.coroutine.name_truncated);
	CHECK_STR(rec.coroutine.writer, "unknown");
	CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
	CHECK_EQ(rec.totals.exit_status, -1);
	CHECK_EQ(rec.totals.signal, 9);
	sidecar_reader_close(&r);
}

static char *slurp(size_t *size)
{
	FILE *file = fopen(path, "r");
	struct stat st;
	char *text;

	CHECK(file && fstat(fileno(file), &st) == 0);
	*size = (size_t)st.st_size;
	text = malloc(*size + 1);
	CHECK(text && fread(text, 1, *size, file) == *size);
	text[*size] = '\0';
	fclose(file);
	return text;
}

/* The file as it is right after its collector was killed. */
static struct sidecar_stats read_all(bool *has_totals, struct sidecar_totals *last)
{
	struct sidecar_reader r;
	struct trace_item rec;
	struct err err = { 0 };

	*has_totals = false;
	CHECK_EQ(sidecar_reader_open(&r, path, &err), 0);
	while (sidecar_next(&r, &rec, &err) > 0) {
		CHECK(!*has_totals); /* they are last */
		*has_totals = rec.type == TRACE_ITEM_TOTALS;
		if (*has_totals && last)
			*last = rec.totals;
	}
	sidecar_reader_close(&r);
	return r.stats;
}

static void is_whole_lines_of_json_whenever_it_is_looked_at(void)
{
	struct sidecar_writer w;
	struct sidecar_stats stats;
	struct err err = { 0 };
	size_t size;
	bool has_totals;
	char *text;
	int i;

	CHECK_EQ(sidecar_writer_open(&w, path, &err), 0);
	stats = read_all(&has_totals, NULL);
	CHECK(stats.records == 0 && stats.garbage == 0 && stats.unknown_types == 0);
	sidecar_put_fact(&w, &(struct trace_item){ .type = TRACE_ITEM_RUN, .run = run });
	CHECK_EQ(sidecar_flush(&w), 0);
	for (i = 1; i < 10; i++) {
		sidecar_put_fact(&w, &(struct trace_item){ .type = TRACE_ITEM_PROCESS,
							   .process = process });
		CHECK_EQ(sidecar_flush(&w), 0);
		stats = read_all(&has_totals, NULL);
		CHECK_EQ(stats.records, 1 + i);
		CHECK(stats.garbage == 0 && !has_totals);
		text = slurp(&size);
		CHECK_STR(text + size - 3, "\"}\n");
		free(text);
	}
	sidecar_put_totals(&w, &totals);
	CHECK_EQ(sidecar_writer_close(&w, &err), 0);
	stats = read_all(&has_totals, NULL);
	CHECK(stats.lines == 11 && has_totals); /* and no room for more */
}

static struct trace_event wake_number(uint64_t n)
{
	return (struct trace_event){
		.kind = TRACE_WAKE,
		.ts = 1000 + n,
		.probe_id = n,
		.tid = 5,
		.station = TRACE_NO_STATION,
	};
}

/* As on a full disk: existing bytes can be overwritten, and none can be added. */
static void limit_files_to(rlim_t size)
{
	struct rlimit limit = { size, RLIM_INFINITY };

	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void gets_its_totals_in_when_nothing_else_goes_any_more(void)
{
	rlim_t sizes[] = { 1500, 2000, 10000, 65536, 300000 };
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct sidecar_writer w;
		struct sidecar_stats stats;
		struct sidecar_totals last;
		struct err err = { 0 };
		uint64_t n;
		bool has_totals;

		CHECK_EQ(sidecar_writer_open(&w, path, &err), 0);
		sidecar_put_fact(&w, &(struct trace_item){ .type = TRACE_ITEM_RUN, .run = run });
		CHECK_EQ(sidecar_flush(&w), 0);
		limit_files_to(sizes[i]);
		for (n = 0; n < 10000; n++) {
			struct trace_event ev = wake_number(n);

			sidecar_put_event(&w, &ev);
			if (n % 100 == 0)
				sidecar_put_fact(&w,
						 &(struct trace_item){ .type = TRACE_ITEM_PROCESS,
								       .process = process });
			if (n % 777 == 0)
				sidecar_flush(&w);
		}
		sidecar_flush(&w);
		CHECK_EQ(w.events_written + w.events_unwritten, 10000);
		CHECK(w.events_unwritten > 0);
		sidecar_put_totals(&w, &totals);
		CHECK_EQ(sidecar_writer_close(&w, &err), -EFBIG);
		CHECK(strstr(err.text, path) != NULL);
		limit_files_to(RLIM_INFINITY);
		stats = read_all(&has_totals, &last);
		CHECK(has_totals && stats.garbage == 0);
		check_totals(&last);
		/* The run, the totals, and every event that is counted as written. */
		CHECK(stats.records >= w.events_written + 2);
		CHECK(stats.records <= w.events_written + 2 + w.events_written / 100 + 1);
		if (sizes[i] > 2000)
			CHECK(w.events_written > 0);
	}
}

static void has_room_for_the_longest_totals(void)
{
	struct sidecar_totals longest = { 0 };
	struct sidecar_writer w;
	struct err err = { 0 };
	size_t size;
	bool has_totals;

	memset(&longest, 0xff, sizeof(longest));
	longest.complete = false;
	longest.exit_status = longest.signal = INT32_MAX;
	CHECK_EQ(sidecar_writer_open(&w, path, &err), 0);
	sidecar_put_totals(&w, &longest);
	CHECK_EQ(sidecar_writer_close(&w, &err), 0);
	read_all(&has_totals, &longest);
	CHECK(has_totals && longest.wait_ns == UINT64_MAX);
	free(slurp(&size));
	CHECK(size <= SIDECAR_ROOM_SIZE);
}

/* Any field of any kind: the sidecar omits only fields that are 0. */
static struct trace_event anything(void)
{
	struct trace_event ev = any_event(any_number());

	if (trace_is_transition(&ev))
		ev.kind = TRACE_DESTROY;
	ev.is_active = false;
	ev.seq = any_number();
	ev.reason = (uint8_t)(next_random() % 20);
	ev.flags = (uint8_t)(next_random() % 32);
	ev.resource = ev.flags & TRACE_HAS_RESOURCE ? any_number() : 0;
	ev.pid = any_u32();
	ev.peer = any_number();
	ev.seen = any_u32();
	ev.written = any_number();
	ev.lost = any_number();
	return ev;
}

static void carries_every_event_with_all_that_was_told(void)
{
	enum { NR = 20000 };
	static struct trace_event events[NR];
	struct sidecar_writer w;
	struct sidecar_reader r;
	struct trace_item rec;
	struct err err = { 0 };
	int i;

	CHECK_EQ(sidecar_writer_open(&w, path, &err), 0);
	for (i = 0; i < NR; i++) {
		events[i] = anything();
		sidecar_put_event(&w, &events[i]);
	}
	CHECK_EQ(sidecar_writer_close(&w, &err), 0);
	CHECK_EQ(w.events_written, NR);
	CHECK_EQ(sidecar_reader_open(&r, path, &err), 0);
	for (i = 0; i < NR; i++) {
		CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
		CHECK_EQ(rec.type, TRACE_ITEM_EVENT);
		CHECK(same_event(&rec.event, &events[i]));
	}
	CHECK_EQ(sidecar_next(&r, &rec, &err), 0);
	CHECK_EQ(r.stats.unknown_keys + r.stats.bad_fields + r.stats.garbage, 0);
	sidecar_reader_close(&r);
}

static void spells_events_as_agreed(void)
{
	struct trace_event birth = {
		.kind = TRACE_BIRTH,
		.ts = 5,
		.probe_id = 9,
		.tid = 4,
		.peer = 8,
		.site = 3,
		.pid = 2,
		.station = TRACE_NO_STATION,
		.name = "reader",
		.name_size = 6,
	};
	struct trace_event wake = {
		.kind = TRACE_WAKE,
		.ts = 6,
		.probe_id = 9,
		.tid = 4,
		.station = TRACE_NO_STATION,
		.peer = 8,
		.seen = 17,
		.reason = TRACE_REASON_IO_READ,
		.flags = TRACE_HAS_RESOURCE,
		.resource = 0,
	};
	struct trace_event end = {
		.kind = TRACE_END,
		.ts = 7,
		.probe_id = 9,
		.tid = 4,
		.station = TRACE_NO_STATION,
		.addr = 16,
		.written = 20,
		.lost = 1,
		.flags = TRACE_DESTROYED | TRACE_CANCELLED,
	};
	struct sidecar_writer w;
	struct err err = { 0 };
	size_t size;
	char *text;

	CHECK_EQ(sidecar_writer_open(&w, path, &err), 0);
	sidecar_put_event(&w, &birth);
	sidecar_put_event(&w, &wake);
	sidecar_put_event(&w, &end);
	CHECK_EQ(sidecar_flush(&w), 0);
	text = slurp(&size);
	text[size - SIDECAR_ROOM_SIZE] = '\0';
	CHECK_STR(text,
		  "{\"type\":\"birth\",\"ts\":5,\"probe_id\":9,\"tid\":4,\"site\":3,\"parent\":8,"
		  "\"pid\":2,\"name\":\"reader\"}\n"
		  "{\"type\":\"wake\",\"ts\":6,\"probe_id\":9,\"tid\":4,\"reason\":\"io-read\","
		  "\"resource\":0,\"waker\":8,\"seen\":17}\n"
		  "{\"type\":\"end\",\"ts\":7,\"probe_id\":9,\"tid\":4,"
		  "\"addr\":\"0x0000000000000010\",\"written\":20,\"lost\":1,"
		  "\"destroyed\":true,\"cancelled\":true}\n");
	free(text);
	CHECK_EQ(sidecar_writer_close(&w, &err), 0);
}

static void cuts_a_name_without_end(void)
{
	static char name[3 * TRACE_NAME_MAX];
	struct trace_event birth = { .kind = TRACE_BIRTH,
				     .ts = 5,
				     .station = TRACE_NO_STATION,
				     .name = name,
				     .name_size = sizeof(name) };
	struct sidecar_writer w;
	struct sidecar_reader r;
	struct trace_item rec;
	struct err err = { 0 };
	int i;

	memset(name, 1, sizeof(name)); /* six bytes each */
	CHECK_EQ(sidecar_writer_open(&w, path, &err), 0);
	for (i = 0; i < 100; i++)
		sidecar_put_event(&w, &birth);
	CHECK_EQ(sidecar_writer_close(&w, &err), 0);
	CHECK_EQ(sidecar_reader_open(&r, path, &err), 0);
	for (i = 0; i < 100; i++) {
		CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
		CHECK_EQ(rec.event.name_size, TRACE_NAME_MAX);
		CHECK(rec.event.flags & TRACE_NAME_CUT);
	}
	CHECK_EQ(sidecar_next(&r, &rec, &err), 0);
	sidecar_reader_close(&r);
}

static void is_readable_by_whom_the_umask_says(void)
{
	mode_t old = umask(027);
	struct stat st;

	unlink(path);
	write_all();
	CHECK_EQ(stat(path, &st), 0);
	CHECK_EQ(st.st_mode & 0777, 0640);
	umask(old);
}

static void tells_in_words_where_it_cannot_write(void)
{
	struct sidecar_writer w;
	struct err err = { 0 };

	CHECK_EQ(sidecar_writer_open(&w, "/nonexistent/trace.jsonl.meta", &err), -ENOENT);
	CHECK(strstr(err.text, "/nonexistent/trace.jsonl.meta") != NULL);
	CHECK_EQ(sidecar_writer_close(&w, &err), 0);
}

static void may_be_missing(void)
{
	struct sidecar_reader r;
	struct err err = { 0 };

	CHECK_EQ(sidecar_reader_open(&r, "/nonexistent.meta", &err), -ENOENT);
	sidecar_reader_close(&r);
}

static void skips_and_counts_what_it_does_not_know(void)
{
	struct sidecar_reader r;
	struct trace_item rec;
	struct err err = { 0 };

	open_text(&r, "\n"
		      "{\"type\":\"weather\",\"sun\":true}\n"
		      "{\"type\":\"process\",\"pid\":5,\"shoe\":43,\"hat\":[1]}\n"
		      "nonsense\n"
		      "{\"type\":7}\n"
		      "{\"no\":\"type\"}\n"
		      "[\"type\"]\n"
		      "\"type\"\n"
		      "{\"type\":\"process\",\"pid\":6}");
	CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
	CHECK_EQ(rec.process.pid, 5);
	CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
	CHECK_EQ(rec.process.pid, 6);
	CHECK_EQ(sidecar_next(&r, &rec, &err), 0);
	CHECK_EQ(r.stats.unknown_types, 1);
	CHECK_EQ(r.stats.unknown_keys, 2);
	CHECK_EQ(r.stats.garbage, 5);
	CHECK_EQ(r.stats.lines, 9);
	sidecar_reader_close(&r);
}

/* The fixtures are in the directory next to this file's. */
static const char *fixture(const char *name)
{
	static char buf[4096];
#ifdef FIXTURES
	snprintf(buf, sizeof(buf), "%s/%s", FIXTURES, name);
#else
	const char *slash = strrchr(__FILE__, '/');

	snprintf(buf, sizeof(buf), "%.*s/../fixtures/%s", slash ? (int)(slash - __FILE__) : 1,
		 slash ? __FILE__ : ".", name);
#endif
	return buf;
}

static void reads_a_sidecar_of_a_later_version_with_damage(void)
{
	struct sidecar_reader r;
	struct trace_item rec;
	struct err err = { 0 };

	CHECK_EQ(sidecar_reader_open(&r, fixture("sidecar.meta"), &err), 0);
	while (sidecar_next(&r, &rec, &err) > 0)
		;
	CHECK_EQ(rec.type, TRACE_ITEM_TOTALS);
	CHECK_EQ(rec.totals.signal, 11);
	CHECK_EQ(r.stats.records, 5);
	CHECK_EQ(r.stats.unknown_types, 1);
	CHECK_EQ(r.stats.unknown_keys, 1);
	CHECK_EQ(r.stats.bad_fields, 1);
	CHECK_EQ(r.stats.garbage, 1);
	sidecar_reader_close(&r);
}

static void takes_a_field_of_the_wrong_type_as_missing(void)
{
	struct sidecar_reader r;
	struct trace_item rec;
	struct err err = { 0 };

	open_text(&r, "{\"type\":\"run\",\"command\":\"a b\",\"tool\":5,\"pid\":-1,"
		      "\"arch\":\"arm\",\"start_ts\":1e3}\n"
		      "{\"type\":\"run\",\"command\":[\"a\",7,null,\"b\"]}\n"
		      "{\"type\":\"totals\",\"exit_status\":4294967296,\"signal\":\"x\","
		      "\"complete\":1,\"lost\":18446744073709551616,\"written\":3}\n");
	CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
	CHECK(!rec.run.tool && !rec.run.command && !rec.run.nr_command && !rec.run.pid);
	CHECK_STR(rec.run.arch, "arm");
	CHECK_EQ(r.stats.bad_fields, 4);
	CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
	CHECK_EQ(rec.run.nr_command, 4);
	CHECK_STR(rec.run.command[1], "");
	CHECK_STR(rec.run.command[3], "b");
	CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
	CHECK(rec.totals.exit_status == -1 && !rec.totals.signal && !rec.totals.complete);
	CHECK(!rec.totals.lost && rec.totals.written == 3);
	CHECK_EQ(r.stats.bad_fields, 8);
	sidecar_reader_close(&r);
}

static void carries_any_bytes_as_a_name(void)
{
	struct sidecar_coroutine c = coroutine;
	struct sidecar_writer w;
	struct sidecar_reader r;
	struct trace_item rec;
	struct err err = { 0 };

	c.name = "\x1b[2J\xff\"\\\n\x01";
	CHECK_EQ(sidecar_writer_open(&w, path, &err), 0);
	sidecar_put_fact(&w, &(struct trace_item){ .type = TRACE_ITEM_COROUTINE, .coroutine = c });
	CHECK_EQ(sidecar_writer_close(&w, &err), 0);
	CHECK_EQ(sidecar_reader_open(&r, path, &err), 0);
	CHECK_EQ(sidecar_next(&r, &rec, &err), 1);
	CHECK_STR(rec.coroutine.name, "\x1b[2J\xef\xbf\xbd\"\\\n\x01");
	sidecar_reader_close(&r);
}

int main(void)
{
	signal(SIGXFSZ, SIG_IGN);
	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/trace.jsonl.meta", dir);
	RUN(lies_beside_its_trace);
	RUN(comes_back_as_it_was_written);
	RUN(spells_the_keys_as_agreed);
	RUN(writes_null_for_what_is_not_known);
	RUN(is_whole_lines_of_json_whenever_it_is_looked_at);
	RUN(gets_its_totals_in_when_nothing_else_goes_any_more);
	RUN(has_room_for_the_longest_totals);
	RUN(carries_every_event_with_all_that_was_told);
	RUN(spells_events_as_agreed);
	RUN(cuts_a_name_without_end);
	RUN(is_readable_by_whom_the_umask_says);
	RUN(tells_in_words_where_it_cannot_write);
	RUN(may_be_missing);
	RUN(skips_and_counts_what_it_does_not_know);
	RUN(reads_a_sidecar_of_a_later_version_with_damage);
	RUN(takes_a_field_of_the_wrong_type_as_missing);
	RUN(carries_any_bytes_as_a_name);
	unlink(path);
	rmdir(dir);
	return 0;
}
