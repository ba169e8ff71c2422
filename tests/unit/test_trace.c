/* SPDX-License-Identifier: MIT */
/*
 * test_trace.c - a trace in any format is read as it was written.
 *
 * A synthetic run with items of all kinds is written through trace_writer and read through
 * trace_reader: every item once, unchanged, in the promised order.
 */
#include "trace/trace_reader.h"
#include "trace/trace_writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "check.h"
#include "count_open.h"
#include "trace/trace_filter.h"
#include "trace/unpack.h"
#include "trace_items.h"

#define NR_LANES  5
#define NR_EVENTS 20000

static char dir[] = "/tmp/test_trace.XXXXXX";
static char jsonl[64], ctf[64], ct[64];

/* ---- a run ---------------------------------------------------------------- */

static const char *const words[] = { "./server", "--name", "a \"b\"\n", "" };

static const struct sidecar_run run = {
	.tool = "corotracer 0.1.0",
	.command = words,
	.nr_command = 4,
	.pid = 4711,
	.start_ts = 1000,
	.start_realtime = UINT64_C(1700000000123456789),
	.hostname = "box",
	.arch = "x86_64",
	.stations = 256,
};

static const struct sidecar_process processes[] = { { 4711, 1000, 1500, 0 }, { 4712, 0, 1600, 0 } };

static const struct trace_site sites[] = { { 1, 42, 4711, "src/a.c", "main" },
					   { 2, 7, 4712, "", "" } };

static const struct sidecar_coroutine coroutines[] = {
	{ .station = 3, .probe_id = 9, .name = "n\xc3\xa9", .birth_ts = 5, .writer = "seed-002" },
	{ .station = TRACE_NO_STATION,
	  .probe_id = UINT64_MAX,
	  .pid = 4712,
	  .name_truncated = true,
	  .name = "cut",
	  .birth_ts = 6,
	  .death_ts = 8,
	  .dead = true,
	  .writer = "corotracer",
	  .written = 100,
	  .collected = 90,
	  .lost = 10,
	  .garbage = 1,
	  .state = TRACE_STATE_SUSPENDED,
	  .reason = TRACE_REASON_JOIN,
	  .has_resource = true,
	  .resource = 0,
	  .site = 2,
	  .birth_site = 1,
	  .since_ts = 7,
	  .addr = 0x1234,
	  .parent = 9 },
};

static const struct sidecar_totals totals = {
	.complete = true,
	.written = 1,
	.collected = 2,
	.lost = 3,
	.lost_overwritten = 4,
	.lost_output = 5,
	.garbage = 6,
	.unfinished = 7,
	.coroutines = 8,
	.without_station = 9,
	.exit_status = -1,
	.signal = 11,
	.end_ts = UINT64_C(1) << 60,
	.lost_full = 10,
	.others_written = 11,
	.others_collected = 12,
	.others_lost = 13,
	.waits = 14,
	.wait_ns = 15,
};

static const struct trace_gap gap = { 2, 4711, 1002, 0, 0, 17, 4 };

static struct trace_event events[NR_EVENTS];
static unsigned lanes[NR_EVENTS];

/* In order of time, with pauses: some longer than a packet's time fields can hold. */
static void make_events(void)
{
	uint64_t ts = 5000;
	int i;

	for (i = 0; i < NR_EVENTS; i++) {
		ts += 1 + (next_random() % 1000 ? next_random() % 1000 : next_random() >> 24);
		events[i] = any_event(ts);
		lanes[i] = next_random() % 8 ? (unsigned)(next_random() % NR_LANES)
					     : TRACE_LANE_STATIONS;
	}
}

/* ---- write ---------------------------------------------------------------- */

static struct trace_writer *open_writer(enum trace_format format, int *fd)
{
	struct trace_output output = { .format = format, .has_sidecar = true, .run = run };
	struct trace_writer *w;
	struct err err = { 0 };

	if (format == TRACE_FORMAT_CTF) {
		mkdir(ctf, 0700);
		*fd = open(ctf, O_RDONLY | O_DIRECTORY);
		output.path = ctf;
	} else {
		output.path = format == TRACE_FORMAT_CT ? ct : jsonl;
		*fd = open(output.path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	}
	CHECK(*fd >= 0);
	output.fd = *fd;
	w = trace_writer_open(&output, &err);
	CHECK(w != NULL);
	CHECK_EQ(w->wants_order, format != TRACE_FORMAT_CTF);
	return w;
}

static void put_events(struct trace_writer *w)
{
	unsigned i;

	for (i = 0; i < NR_LANES; i++)
		trace_put_lane(w, &(struct trace_lane){ i, 4711, 1000 + i });
	for (i = 0; i < NR_EVENTS; i++) {
		trace_put_event(w, lanes[i], &events[i]);
		if (i == NR_EVENTS / 2)
			trace_put_gap(w, gap.lane, events[i].ts, events[i].ts + 1, gap.transitions,
				      gap.others);
		if (i % 3000 == 0) {
			trace_put_horizon(w, events[i].ts);
			trace_flush(w);
		}
	}
	trace_put_horizon(w, UINT64_MAX);
}

static void write_run(enum trace_format format)
{
	struct trace_counts counts;
	struct err trace = { 0 }, facts = { 0 };
	uint64_t transitions = 0, i;
	int fd;
	struct trace_writer *w = open_writer(format, &fd);

	trace_put_run(w, &run);
	trace_put_site(w, &sites[0]);
	trace_put_process(w, &processes[0]);
	put_events(w);
	trace_put_process(w, &processes[1]);
	trace_put_site(w, &sites[1]);
	trace_put_coroutine(w, &coroutines[0]);
	trace_put_coroutine(w, &coroutines[1]);
	trace_put_totals(w, &totals);
	trace_writer_close(w, &counts, &trace, &facts);
	if (format == TRACE_FORMAT_CTF)
		close(fd);
	CHECK(!trace.code && !facts.code);
	for (i = 0; i < NR_EVENTS; i++)
		transitions += trace_is_transition(&events[i]);
	CHECK_EQ(counts.written, transitions);
	CHECK_EQ(counts.others_written, NR_EVENTS - transitions);
	CHECK_EQ(counts.unwritten + counts.others_unwritten + counts.clamped, 0);
}

/* ---- read ----------------------------------------------------------------- */

static void next_item(struct trace_reader *r, struct trace_item *item, enum trace_item_type type)
{
	struct err err = { 0 };

	CHECK_EQ(trace_next(r, item, &err), 1);
	CHECK_EQ(item->type, type);
}

static void check_run(struct trace_reader *r)
{
	struct trace_item item;
	size_t i;

	next_item(r, &item, TRACE_ITEM_RUN);
	CHECK_EQ(item.run.format, 1);
	CHECK_STR(item.run.tool, run.tool);
	CHECK_EQ(item.run.nr_command, run.nr_command);
	for (i = 0; i < run.nr_command; i++)
		CHECK_STR(item.run.command[i], run.command[i]);
	CHECK(item.run.pid == run.pid && item.run.start_ts == run.start_ts);
	CHECK(item.run.start_realtime == run.start_realtime && item.run.stations == 256);
	CHECK_STR(item.run.hostname, "box");
	CHECK_STR(item.run.arch, "x86_64");
}

static void check_site(const struct trace_site *a, const struct trace_site *b)
{
	CHECK(a->id == b->id && a->line == b->line && a->pid == b->pid);
	CHECK_STR(a->file, b->file);
	CHECK_STR(a->function, b->function);
}

/* In the order in which they were written. */
static void check_facts(struct trace_reader *r)
{
	struct trace_item item;

	check_run(r);
	next_item(r, &item, TRACE_ITEM_SITE);
	check_site(&item.site, &sites[0]);
	next_item(r, &item, TRACE_ITEM_PROCESS);
	CHECK(!memcmp(&item.process, &processes[0], sizeof(processes[0])));
	next_item(r, &item, TRACE_ITEM_PROCESS);
	CHECK(!memcmp(&item.process, &processes[1], sizeof(processes[1])));
	next_item(r, &item, TRACE_ITEM_SITE);
	check_site(&item.site, &sites[1]);
}

static void check_gap(const struct trace_gap *g)
{
	CHECK(g->lane == gap.lane && g->pid == gap.pid && g->tid == gap.tid);
	CHECK(g->transitions == gap.transitions && g->others == gap.others);
	CHECK_EQ(g->from_ts, events[NR_EVENTS / 2].ts);
	CHECK_EQ(g->to_ts, g->from_ts + 1);
}

/* All times differ, so the order is known. */
static void check_events(struct trace_reader *r)
{
	struct trace_item item;
	struct err err = { 0 };
	int i = 0, gaps = 0;

	while (i < NR_EVENTS) {
		CHECK_EQ(trace_next(r, &item, &err), 1);
		if (item.type == TRACE_ITEM_GAP) {
			CHECK(i == NR_EVENTS / 2 + 1 && !gaps++);
			check_gap(&item.gap);
			continue;
		}
		CHECK_EQ(item.type, TRACE_ITEM_EVENT);
		CHECK_EQ(item.event.ts, events[i].ts);
		CHECK(same_event(&item.event, &events[i]));
		i++;
	}
	CHECK_EQ(gaps, 1);
}

static void check_rest(struct trace_reader *r)
{
	struct trace_item item;
	struct err err = { 0 };
	int i;

	for (i = 0; i < 2; i++) {
		next_item(r, &item, TRACE_ITEM_COROUTINE);
		CHECK(same_coroutine(&item.coroutine, &coroutines[i]));
	}
	next_item(r, &item, TRACE_ITEM_TOTALS);
	CHECK(!memcmp(&item.totals, &totals, sizeof(totals)));
	CHECK_EQ(trace_next(r, &item, &err), 0);
	CHECK_EQ(trace_next(r, &item, &err), 0);
}

static void read_run(const char *path, enum trace_format format)
{
	struct err err = { 0 };
	struct trace_reader *r = trace_reader_open(path, &err);
	const struct trace_stats *stats;

	CHECK(r != NULL);
	check_facts(r);
	check_events(r);
	check_rest(r);
	stats = trace_reader_stats(r);
	CHECK_EQ(stats->format, format);
	CHECK(trace_stats_are_clean(stats));
	CHECK_EQ(stats->ctf.unknown, 0);
	CHECK_EQ(stats->ctf.discarded, format == TRACE_FORMAT_CTF ? 21 : 0);
	CHECK(stats->total > 0 && stats->bytes >= stats->total / 2);
	trace_reader_close(r);
}

/* ---- tests ---------------------------------------------------------------- */

static void everything_comes_back_from_json_lines(void)
{
	write_run(TRACE_FORMAT_JSONL);
	read_run(jsonl, TRACE_FORMAT_JSONL);
}

static void everything_comes_back_from_ctf(void)
{
	char metadata[80];

	write_run(TRACE_FORMAT_CTF);
	read_run(ctf, TRACE_FORMAT_CTF);
	snprintf(metadata, sizeof(metadata), "%s/metadata", ctf);
	read_run(metadata, TRACE_FORMAT_CTF);
}

static void everything_comes_back_from_the_compact_format(void)
{
	write_run(TRACE_FORMAT_CT);
	read_run(ct, TRACE_FORMAT_CT);
}

static void the_name_of_the_output_asks_for_a_format(void)
{
	CHECK_EQ(trace_format_of("trace.jsonl"), TRACE_FORMAT_JSONL);
	CHECK_EQ(trace_format_of("-"), TRACE_FORMAT_JSONL);
	CHECK_EQ(trace_format_of("/dev/null"), TRACE_FORMAT_JSONL);
	CHECK_EQ(trace_format_of(""), TRACE_FORMAT_JSONL);
	CHECK_EQ(trace_format_of("ctf"), TRACE_FORMAT_JSONL);
	CHECK_EQ(trace_format_of("a/trace.ctf"), TRACE_FORMAT_CTF);
	CHECK_EQ(trace_format_of("a/trace.ctf/"), TRACE_FORMAT_CTF);
	CHECK_EQ(trace_format_of("dir/"), TRACE_FORMAT_CTF);
	CHECK_EQ(trace_format_of("a/trace.ct"), TRACE_FORMAT_CT);
	CHECK_EQ(trace_format_of(".ct"), TRACE_FORMAT_JSONL);
}

static void reasons_and_states_have_names_both_ways(void)
{
	int i;

	for (i = 0; i < NR_TRACE_REASONS; i++)
		CHECK_EQ(trace_reason_from_name(trace_reason_name((unsigned)i)), i);
	for (i = 1; i < NR_TRACE_STATES; i++)
		CHECK_EQ(trace_state_from_name(trace_state_name((unsigned)i)), i);
	for (i = 0; i < NR_TRACE_KINDS; i++)
		CHECK(trace_kind_name((unsigned)i) != NULL);
	CHECK(!trace_reason_name(NR_TRACE_REASONS) && !trace_kind_name(NR_TRACE_KINDS));
	CHECK(!trace_state_name(NR_TRACE_STATES) && !trace_state_name(0));
	CHECK_EQ(trace_reason_from_name("io-reed"), -1);
	CHECK_EQ(trace_state_from_name("asleep"), 0);
}

/* As they were before other records existed: other tools read them. */
static void plain_transitions_are_the_lines_they_always_were(void)
{
	struct trace_event ev;
	struct trace_counts counts;
	struct err err = { 0 };
	char text[512] = "";
	int fd;
	struct trace_writer *w = open_writer(TRACE_FORMAT_JSONL, &fd);
	FILE *file;

	trace_event_init(&ev);
	ev.probe_id = 123;
	ev.tid = 456;
	ev.seq = 2;
	ev.is_active = true;
	ev.kind = TRACE_RESUME;
	ev.ts = 123456789;
	trace_put_event(w, 0, &ev);
	ev.station = 7;
	trace_put_event(w, TRACE_LANE_STATIONS, &ev);
	trace_writer_close(w, &counts, &err, &err);
	file = fopen(jsonl, "r");
	CHECK(file && fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	CHECK_STR(text, "{\"probe_id\":123,\"tid\":456,\"addr\":\"0x0000000000000000\",\"seq\":2,"
			"\"is_active\":true,\"ts\":123456789}\n"
			"{\"probe_id\":123,\"tid\":456,\"addr\":\"0x0000000000000000\",\"seq\":2,"
			"\"is_active\":true,\"ts\":123456789,\"station\":7}\n");
}

static void without_a_sidecar_there_is_no_place_for_the_rest(void)
{
	struct trace_output output = { .format = TRACE_FORMAT_JSONL, .path = "/dev/null" };
	struct trace_event ev = any_event(5);
	struct trace_counts counts;
	struct err err = { 0 };
	struct trace_writer *w;

	output.fd = open("/dev/null", O_WRONLY);
	w = trace_writer_open(&output, &err);
	CHECK(w != NULL);
	ev.kind = TRACE_WAKE;
	trace_put_run(w, &run);
	trace_put_event(w, 0, &ev);
	trace_put_totals(w, &totals);
	trace_writer_close(w, &counts, &err, &err);
	CHECK(!err.code && !counts.others_unwritten && !counts.others_written);
	CHECK(access("/dev/null.meta", F_OK) != 0);
}

/* A program that was started without a standard input gets its first file as descriptor 0. */
static void a_trace_is_read_without_a_standard_input(void)
{
	int before = fcntl(0, F_DUPFD_CLOEXEC, 3);

	CHECK(before >= 0);
	close(0);
	read_run(ct, TRACE_FORMAT_CT);
	CHECK(fcntl(0, F_GETFD) < 0);
	read_run(jsonl, TRACE_FORMAT_JSONL);
	CHECK(fcntl(0, F_GETFD) < 0);
	read_run(ctf, TRACE_FORMAT_CTF);
	CHECK(fcntl(0, F_GETFD) < 0);
	CHECK_EQ(dup2(before, 0), 0);
	close(before);
}

static void what_is_not_there_is_said_in_words(void)
{
	struct err err = { 0 };
	char empty[80];

	CHECK(!trace_reader_open("/nonexistent", &err));
	CHECK(err.code == -ENOENT && err.hint[0]);
	snprintf(empty, sizeof(empty), "%s/empty", dir);
	CHECK_EQ(mkdir(empty, 0700), 0);
	CHECK(!trace_reader_open(empty, &err));
	CHECK(strstr(err.text, "holds no trace") && err.hint[0]);
	rmdir(empty);
	trace_reader_close(NULL);
}

/* At the same time: create and wake come before the resume, destroy after the suspend. */
static void of_one_moment_cause_comes_before_effect(void)
{
	static const uint8_t put[] = { TRACE_SUSPEND, TRACE_BIRTH, TRACE_WAKE, TRACE_END };
	static const uint8_t got[] = { TRACE_BIRTH, TRACE_WAKE, TRACE_SUSPEND, TRACE_END };
	struct trace_counts counts;
	struct trace_reader *r;
	struct trace_item item;
	struct err err = { 0 };
	struct trace_event ev;
	int fd, i;
	struct trace_writer *w = open_writer(TRACE_FORMAT_JSONL, &fd);

	for (i = 0; i < 4; i++) {
		trace_event_init(&ev);
		ev.kind = put[i];
		ev.ts = 77;
		ev.seq = ev.kind == TRACE_SUSPEND ? 2 : 0;
		trace_put_event(w, 0, &ev);
	}
	trace_writer_close(w, &counts, &err, &err);
	r = trace_reader_open(jsonl, &err);
	CHECK(r != NULL);
	for (i = 0; i < 4; i++) {
		next_item(r, &item, TRACE_ITEM_EVENT);
		CHECK_EQ(item.event.kind, got[i]);
	}
	trace_reader_close(r);
}

static void remove_all(const char *path)
{
	char name[300];
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		if (e->d_name[0] != '.' && unlink(name) < 0)
			remove_all(name);
	}
	if (d)
		closedir(d);
	rmdir(path);
}

/* ---- compressed files ------------------------------------------------------------------- */

#define PACKED_LINES 3000u

static char *plain_lines(size_t *size)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, size);
	unsigned i;

	for (i = 0; i < PACKED_LINES; i++)
		fprintf(f,
			"{\"probe_id\":%u,\"tid\":7,\"addr\":\"0x0\",\"seq\":2,\"is_active\":%s,"
			"\"ts\":%u}\n",
			i % 9, i % 2 ? "true" : "false", 1000 + i);
	fclose(f);
	return text;
}

static void write_bytes(const char *path, const void *data, size_t size)
{
	FILE *f = fopen(path, "w");

	CHECK(f && fwrite(data, 1, size, f) == size && fclose(f) == 0);
}

static uint64_t read_packed(const char *path, bool *is_cut)
{
	struct err err = { 0 };
	struct trace_reader *r = trace_reader_open(path, &err);
	struct trace_item item;
	uint64_t nr = 0;

	CHECK(r != NULL);
	while (trace_next(r, &item, &err) > 0)
		nr += item.type == TRACE_ITEM_EVENT;
	CHECK(!err.code);
	*is_cut = trace_reader_stats(r)->packed_cut;
	trace_reader_close(r);
	return nr;
}

/* Neither descriptors nor a thread to read it with: an error, and nothing stays open. */
static void unpack_fails(const char *path)
{
	unsigned before = count_open();
	struct rlimit limit, none;
	pthread_attr_t usual, large;
	struct packed_input u;
	struct err err = { 0 };
	int next = dup(0);

	CHECK(next >= 0 && close(next) == 0);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = (rlim_t)next + 1; /* for the file alone */
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	CHECK_EQ(unpack_open(&u, path, &err), -EMFILE);
	CHECK(strstr(err.text, path) && strstr(err.text, strerror(EMFILE)));
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
	CHECK_EQ(count_open(), before);
	/* A stack that no address space has room for. */
	CHECK_EQ(pthread_getattr_default_np(&usual), 0);
	CHECK_EQ(pthread_attr_init(&large), 0);
	CHECK_EQ(pthread_attr_setstacksize(&large, (size_t)1 << 52), 0);
	CHECK_EQ(pthread_setattr_default_np(&large), 0);
	CHECK_EQ(unpack_open(&u, path, &err), -EAGAIN);
	CHECK_EQ(pthread_setattr_default_np(&usual), 0);
	CHECK(unpack_close(&u));
	CHECK_EQ(count_open(), before);
	pthread_attr_destroy(&large);
	pthread_attr_destroy(&usual);
}

/* The file with its whole data, with two members, cut, and with a damaged byte. */
static void check_packed(const char *name, unsigned char *packed, size_t size)
{
	unsigned char *twice = malloc(2 * size);
	unsigned before = count_open();
	char path[80];
	bool is_cut;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	write_bytes(path, packed, size);
	CHECK(unpack_is_packed(path));
	CHECK_EQ(read_packed(path, &is_cut), PACKED_LINES);
	CHECK(!is_cut);
	CHECK(twice != NULL);
	memcpy(twice, packed, size);
	memcpy(twice + size, packed, size);
	write_bytes(path, twice, 2 * size);
	CHECK_EQ(read_packed(path, &is_cut), 2 * PACKED_LINES);
	CHECK(!is_cut);
	write_bytes(path, packed, size - 9);
	CHECK(read_packed(path, &is_cut) <= PACKED_LINES);
	CHECK(is_cut);
	packed[size / 2] ^= 0xff;
	write_bytes(path, packed, size);
	read_packed(path, &is_cut);
	CHECK(is_cut);
	CHECK_EQ(count_open(), before);
	packed[size / 2] ^= 0xff;
	write_bytes(path, packed, size);
	unpack_fails(path);
	free(twice);
}

static void compressed_lines_are_read_as_they_are(void)
{
	size_t size, packed_size;
	char *text = plain_lines(&size);
	unsigned char *packed = malloc(size + 1000);
	z_stream z = { 0 };

	CHECK(packed != NULL);
	CHECK(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	z.next_in = (unsigned char *)text;
	z.avail_in = (unsigned)size;
	z.next_out = packed;
	z.avail_out = (unsigned)size + 1000;
	CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
	packed_size = z.total_out;
	deflateEnd(&z);
	check_packed("t.jsonl.gz", packed, packed_size);
	{
		ZSTD_CCtx *c = ZSTD_createCCtx();

		/* A damaged byte is found by the checksum. */
		CHECK(!ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1)));
		packed_size = ZSTD_compress2(c, packed, size + 1000, text, size);
		CHECK(!ZSTD_isError(packed_size));
		ZSTD_freeCCtx(c);
	}
	check_packed("t.jsonl.zst", packed, packed_size);
	free(packed);
	free(text);
}

static void a_suffix_of_compression_is_not_part_of_the_name(void)
{
	static const char *const cases[][2] = { { "a.jsonl.zst", "a.jsonl" },
						{ "a.jsonl.gz", "a.jsonl" },
						{ "a.jsonl", "a.jsonl" },
						{ ".gz", ".gz" },
						{ "a.gz.b", "a.gz.b" } };
	struct packed_input u;
	struct err err = { 0 };
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *name = unpack_plain_name(cases[i][0]);

		CHECK_STR(name, cases[i][1]);
		free(name);
	}
	CHECK(!unpack_is_packed("/none") && !unpack_is_packed("/dev/null"));
	CHECK_EQ(unpack_open(&u, "/none", &err), -ENOENT);
	CHECK_EQ(unpack_open(&u, dir, &err), -EISDIR);
	CHECK(unpack_close(&u)); /* none is open */
}

/* ---- filters ------------------------------------------------------------------------------ */

static void kinds_are_a_list_of_names(void)
{
	unsigned kinds;

	CHECK(trace_filter_parse_kinds("wake", &kinds) && kinds == 1u << TRACE_WAKE);
	CHECK(trace_filter_parse_kinds("suspend,end", &kinds) &&
	      kinds == (1u << TRACE_SUSPEND | 1u << TRACE_END));
	CHECK(!trace_filter_parse_kinds("", &kinds));
	CHECK(!trace_filter_parse_kinds("wake,", &kinds));
	CHECK(!trace_filter_parse_kinds("wak", &kinds));
	CHECK(!trace_filter_parse_kinds("wake,sleep", &kinds));
}

static void a_site_is_known_by_many_names(void)
{
	static const struct trace_site site = { 1, 42, 0, "/src/net/read.c", "read_all" };
	static const char *const good[] = { "read_all",   "read_*",    "/src/net/read.c",
					    "read.c",     "read.c:42", "/src/net/read.c:42",
					    "*read.c:42", "*" };
	static const char *const wrong[] = { "read", "read.c:4", "net/read.c", "read.c:43", "" };
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CHECK(trace_filter_site_matches(good[i], &site));
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK(!trace_filter_site_matches(wrong[i], &site));
}

static bool filter_passes(struct trace_filter *f, enum trace_item_type type, uint64_t ts,
			  uint64_t id)
{
	struct trace_item item;

	trace_item_init(&item, type);
	if (type == TRACE_ITEM_EVENT) {
		trace_event_init(&item.event);
		item.event.ts = ts;
		item.event.probe_id = id;
		item.event.site = 3;
	} else if (type == TRACE_ITEM_DESCRIPTOR) {
		item.descriptor.probe_id = id;
		item.descriptor.from_ts = item.descriptor.to_ts = ts;
	} else if (type == TRACE_ITEM_COROUTINE) {
		item.coroutine.probe_id = id;
	}
	trace_filter_note(f, &item);
	return trace_filter_passes(f, &item);
}

static void a_filter_has_both_ends_of_its_range(void)
{
	struct trace_filter f = { .has_from = true, .has_to = true, .from_ns = 100, .to_ns = 200 };
	struct trace_item item;

	CHECK(trace_filter_is_set(&f));
	trace_item_init(&item, TRACE_ITEM_RUN);
	item.run.start_ts = 1000;
	trace_filter_note(&f, &item);
	CHECK(trace_filter_passes(&f, &item));
	CHECK_EQ(trace_filter_from(&f), 1100);
	CHECK_EQ(trace_filter_to(&f), 1200);
	CHECK(!filter_passes(&f, TRACE_ITEM_EVENT, 1099, 1));
	CHECK(filter_passes(&f, TRACE_ITEM_EVENT, 1100, 1));
	CHECK(filter_passes(&f, TRACE_ITEM_EVENT, 1200, 1));
	CHECK(!filter_passes(&f, TRACE_ITEM_EVENT, 1201, 1));
	CHECK(filter_passes(&f, TRACE_ITEM_SITE, 0, 0));
	trace_filter_release(&f);
	/* Without a run, since the first event. */
	f = (struct trace_filter){ .has_to = true, .to_ns = 10 };
	CHECK(filter_passes(&f, TRACE_ITEM_EVENT, 500, 1));
	CHECK(filter_passes(&f, TRACE_ITEM_EVENT, 510, 1));
	CHECK(!filter_passes(&f, TRACE_ITEM_EVENT, 511, 1));
	trace_filter_release(&f);
}

static void a_filter_knows_coroutines_and_kinds(void)
{
	struct trace_filter f = { .has_coroutine = true, .coroutine = 7 };

	CHECK(filter_passes(&f, TRACE_ITEM_EVENT, 5, 7));
	CHECK(!filter_passes(&f, TRACE_ITEM_EVENT, 5, 8));
	CHECK(filter_passes(&f, TRACE_ITEM_DESCRIPTOR, 5, 7));
	CHECK(filter_passes(&f, TRACE_ITEM_DESCRIPTOR, 5, 0)); /* of no coroutine */
	CHECK(!filter_passes(&f, TRACE_ITEM_DESCRIPTOR, 5, 8));
	CHECK(filter_passes(&f, TRACE_ITEM_COROUTINE, 5, 7));
	CHECK(!filter_passes(&f, TRACE_ITEM_COROUTINE, 5, 8));
	trace_filter_release(&f);
	f = (struct trace_filter){ .kinds = 1u << TRACE_WAKE };
	CHECK(!filter_passes(&f, TRACE_ITEM_EVENT, 5, 7)); /* a suspend */
	f.kinds = 1u << TRACE_SUSPEND;
	CHECK(filter_passes(&f, TRACE_ITEM_EVENT, 5, 7));
	trace_filter_release(&f);
	f = (struct trace_filter){ 0 };
	CHECK(!trace_filter_is_set(&f));
}

int main(void)
{
	CHECK(mkdtemp(dir) != NULL);
	snprintf(jsonl, sizeof(jsonl), "%s/trace.jsonl", dir);
	snprintf(ctf, sizeof(ctf), "%s/trace.ctf", dir);
	snprintf(ct, sizeof(ct), "%s/trace.ct", dir);
	make_events();
	RUN(everything_comes_back_from_json_lines);
	RUN(everything_comes_back_from_ctf);
	RUN(everything_comes_back_from_the_compact_format);
	RUN(a_trace_is_read_without_a_standard_input);
	RUN(the_name_of_the_output_asks_for_a_format);
	RUN(reasons_and_states_have_names_both_ways);
	RUN(plain_transitions_are_the_lines_they_always_were);
	RUN(without_a_sidecar_there_is_no_place_for_the_rest);
	RUN(what_is_not_there_is_said_in_words);
	RUN(of_one_moment_cause_comes_before_effect);
	RUN(compressed_lines_are_read_as_they_are);
	RUN(a_suffix_of_compression_is_not_part_of_the_name);
	RUN(kinds_are_a_list_of_names);
	RUN(a_site_is_known_by_many_names);
	RUN(a_filter_has_both_ends_of_its_range);
	RUN(a_filter_knows_coroutines_and_kinds);
	remove_all(dir);
	return 0;
}
