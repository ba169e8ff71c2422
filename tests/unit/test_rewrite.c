/* SPDX-License-Identifier: MIT */
/*
 * test_rewrite.c - a trace that is written again: lanes of threads, order, totals of a part, and
 * failed writes.  The writer is the test's.
 */
#include "export/rewrite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "count_open.h"

static struct {
	char log[8192];
	struct trace_counts counts;
	struct err trace, facts; /* of close */
	int open_fails;
	uint64_t start_ts;
	bool is_open;
	struct sidecar_totals totals;
	uint64_t horizon;
	unsigned nr_horizons, nr_events;
	bool is_quiet;
} world;

static void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *fmt, ...)
{
	size_t used = strlen(world.log);
	va_list args;

	va_start(args, fmt);
	vsnprintf(world.log + used, sizeof(world.log) - used, fmt, args);
	va_end(args);
}

/* ---- the writer ------------------------------------------------------------------------- */

static void write_lane(struct trace_writer *w, const struct trace_lane *lane)
{
	(void)w;
	note("lane %u %u/%d;", lane->number, lane->pid, (int)lane->tid);
}

static void write_event(struct trace_writer *w, uint32_t lane, const struct trace_event *ev)
{
	(void)w;
	world.nr_events++;
	if (world.is_quiet)
		return;
	if (lane == TRACE_LANE_STATIONS)
		note("%d;", (int)ev->ts);
	else
		note("%d@%u;", (int)ev->ts, lane);
}

static void write_horizon(struct trace_writer *w, uint64_t ts)
{
	(void)w;
	world.nr_horizons++;
	world.horizon = ts;
}

static void write_fact(struct trace_writer *w, const struct trace_item *item)
{
	(void)w;
	if (item->type == TRACE_ITEM_GAP)
		note("gap %d %d,%d;",
		     item->gap.lane == TRACE_LANE_STATIONS ? -1 : (int)item->gap.lane,
		     (int)item->gap.transitions, (int)item->gap.others);
	else
		note("fact %d;", (int)item->type);
	if (item->type == TRACE_ITEM_TOTALS)
		world.totals = item->totals;
}

static void tell_counts(const struct trace_writer *w, struct trace_counts *counts)
{
	(void)w;
	*counts = world.counts;
}

static const struct trace_writer_ops ops = { .lane = write_lane,
					     .event = write_event,
					     .horizon = write_horizon,
					     .fact = write_fact,
					     .counts = tell_counts };
static struct trace_writer writer = { .ops = &ops };

struct trace_writer *__wrap_trace_writer_open(const struct trace_output *output, struct err *err);
struct trace_writer *__wrap_trace_writer_open(const struct trace_output *output, struct err *err)
{
	CHECK(!world.is_open);
	CHECK_EQ(output->fd, 33);
	world.start_ts = output->run.start_ts;
	if (world.open_fails) {
		err_set(err, world.open_fails, "cannot open it");
		return NULL;
	}
	world.is_open = true;
	return &writer;
}

void __wrap_trace_writer_close(struct trace_writer *w, struct trace_counts *counts,
			       struct err *trace, struct err *facts);
void __wrap_trace_writer_close(struct trace_writer *w, struct trace_counts *counts,
			       struct err *trace, struct err *facts)
{
	CHECK(w == &writer && world.is_open);
	world.is_open = false;
	*counts = world.counts;
	*trace = world.trace;
	*facts = world.facts;
}

/* ---- a trace ---------------------------------------------------------------------------- */

static struct rewrite r;
static struct export_options options;
static struct sink_job job;

static void rewrite_new(void)
{
	rewrite_release(&r);
	memset(&r, 0, sizeof(r));
	memset(&world, 0, sizeof(world));
	memset(&job, 0, sizeof(job));
	memset(&options, 0, sizeof(options));
	job.options = &options;
	r.output.fd = 33;
}

static void put(const struct trace_item *item)
{
	struct err err = { 0 };

	CHECK_EQ(rewrite_item(&r, &job, item, &err), 0);
	CHECK_EQ(err.code, 0);
}

static void put_type(enum trace_item_type type)
{
	struct trace_item item;

	trace_item_init(&item, type);
	put(&item);
}

static void put_run(void)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_RUN);
	item.run.start_ts = 5;
	put(&item);
}

static void put_process(uint64_t pid)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_PROCESS);
	item.process.pid = pid;
	put(&item);
}

static struct trace_item event_at(uint64_t ts, uint64_t tid, uint32_t pid)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_EVENT);
	item.event.ts = ts;
	item.event.tid = tid;
	item.event.pid = pid;
	return item;
}

static void put_event(uint64_t ts, uint64_t tid, uint32_t pid)
{
	struct trace_item item = event_at(ts, tid, pid);

	put(&item);
}

static void check_log(const char *wanted)
{
	CHECK_STR(world.log, wanted);
	world.log[0] = '\0';
}

/* ---- tests ------------------------------------------------------------------------------- */

static void each_thread_has_a_lane(void)
{
	rewrite_new();
	put_run();
	CHECK_EQ(world.start_ts, 5);
	CHECK_EQ(r.output.fd, -1); /* the writer owns it */
	CHECK_EQ(r.output.run.start_ts, 0);
	put_process(7);
	world.log[0] = '\0';
	put_event(10, 100, 0);
	check_log("lane 0 7/100;10@0;"); /* the only process */
	put_event(20, 101, 0);
	check_log("lane 1 7/101;20@1;");
	put_event(15, 100, 0);
	check_log("15@0;");
	put_event(14, 100, 0); /* out of order */
	check_log("14;");
	put_event(15, 100, 0); /* at the same time */
	check_log("15@0;");
	put_event(16, 100, 7);
	check_log("16@0;");
	put_event(17, 100, 8); /* another process */
	check_log("lane 0 8/100;17@0;");
	put_process(9);
	world.log[0] = '\0';
	put_event(30, 102, 0); /* one of two */
	check_log("lane 2 0/102;30@2;");
	CHECK_EQ(job.rows, 8);
}

static void stations_and_other_traces_have_none(void)
{
	struct trace_item item = event_at(10, 100, 0);

	rewrite_new();
	put(&item); /* without a run */
	CHECK_EQ(world.start_ts, 10);
	check_log("10;");
	rewrite_new();
	put_run();
	world.log[0] = '\0';
	item.event.station = 3;
	put(&item);
	check_log("10;");
}

static void many_threads_share_lanes(void)
{
	unsigned i;

	rewrite_new();
	put_run();
	for (i = 0; i < REWRITE_LANES; i++)
		put_event(10, 1000 + i, 0);
	world.log[0] = '\0';
	put_event(11, 1000 + REWRITE_LANES - 1, 0);
	check_log("11@255;");
	put_event(12, 5000, 0); /* in turn */
	check_log("lane 0 0/5000;12@0;");
	put_event(13, 1000, 0);
	check_log("lane 0 0/1000;13@0;");
}

static void gaps_are_of_lanes(void)
{
	struct trace_item item;

	rewrite_new();
	put_run();
	put_event(10, 100, 0);
	world.log[0] = '\0';
	trace_item_init(&item, TRACE_ITEM_GAP);
	item.gap.lane = 17;
	item.gap.tid = 100;
	item.gap.transitions = 3;
	item.gap.others = 4;
	put(&item);
	check_log("gap 0 3,4;");
	item.gap.lane = TRACE_LANE_STATIONS;
	put(&item);
	check_log("gap -1 3,4;");
}

static void every_kind_of_item_is_written(void)
{
	int type;

	for (type = 0; type < NR_TRACE_ITEM_TYPES; type++) {
		char wanted[32];

		if (type == TRACE_ITEM_EVENT || type == TRACE_ITEM_GAP)
			continue;
		rewrite_new();
		put_type((enum trace_item_type)type);
		snprintf(wanted, sizeof(wanted), "fact %d;", type);
		check_log(wanted);
		CHECK_EQ(job.rows, 0);
	}
}

static void totals_of_a_part_count_the_part(void)
{
	struct trace_item item, wake = event_at(12, 100, 0);

	rewrite_new();
	put_run();
	put_event(10, 100, 0);
	put_event(11, 100, 0);
	wake.event.kind = TRACE_WAKE;
	put(&wake);
	trace_item_init(&item, TRACE_ITEM_TOTALS);
	item.totals.written = 100;
	item.totals.collected = 90;
	item.totals.others_written = 50;
	item.totals.others_collected = 45;
	item.totals.exit_status = 3;
	put(&item);
	CHECK_EQ(world.totals.written, 100); /* the whole trace */
	CHECK_EQ(world.totals.collected, 90);
	CHECK_EQ(world.totals.others_written, 50);
	CHECK_EQ(world.totals.exit_status, 3);
	CHECK(!world.totals.detached);
	options.filter.has_from = true;
	item.totals.detached = true;
	put(&item);
	CHECK_EQ(world.totals.collected, 2);
	CHECK_EQ(world.totals.written, 12); /* the same are lost */
	CHECK_EQ(world.totals.others_collected, 1);
	CHECK_EQ(world.totals.others_written, 6);
	CHECK_EQ(world.totals.exit_status, TRACE_EXIT_DETACHED);
	item.totals.detached = false;
	item.totals.exit_status = TRACE_EXIT_DETACHED;
	put(&item);
	CHECK(world.totals.detached);
}

/* Of the shared stream: older events are not expected any more. */
static void horizons_follow_at_a_distance(void)
{
	unsigned i;

	rewrite_new();
	world.is_quiet = true;
	for (i = 0; i < 32767; i++)
		put_event(1000 + i, 1, 0);
	CHECK_EQ(world.nr_horizons, 0);
	put_event(500, 1, 0);
	CHECK_EQ(world.nr_horizons, 1);
	CHECK_EQ(world.horizon, 0);
	for (i = 0; i < 32768; i++)
		put_event(100000 + i, 1, 0);
	CHECK_EQ(world.nr_horizons, 2);
	CHECK_EQ(world.horizon, 1000 + 32766); /* the newest of the interval before */
	CHECK_EQ(world.nr_events, 65536);
}

/* ---- failures ---------------------------------------------------------------------------- */

static void a_failed_write_is_noticed_soon(void)
{
	struct trace_item item = event_at(1, 1, 0);
	struct err err = { 0 };
	unsigned i;

	rewrite_new();
	world.is_quiet = true;
	err_set(&world.trace, -ENOSPC, "no space");
	world.counts.unwritten = 1;
	for (i = 0; i < 4095; i++)
		CHECK_EQ(rewrite_item(&r, &job, &item, &err), 0);
	CHECK_EQ(rewrite_item(&r, &job, &item, &err), -ENOSPC);
	CHECK_STR(err.text, "no space");
	CHECK(!r.writer && !world.is_open);
	rewrite_new();
	world.is_quiet = true;
	err_set(&world.facts, -EIO, "no facts");
	world.counts.others_unwritten = 1;
	err = (struct err){ 0 };
	for (i = 0; i < 4095; i++)
		CHECK_EQ(rewrite_item(&r, &job, &item, &err), 0);
	CHECK_EQ(rewrite_item(&r, &job, &item, &err), -EIO);
	rewrite_new();
	world.open_fails = -EACCES;
	err = (struct err){ 0 };
	CHECK_EQ(rewrite_item(&r, &job, &item, &err), -EACCES);
	CHECK_STR(err.text, "cannot open it");
}

static void make_file(const char *dir, const char *name, size_t size)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
	close(fd);
}

static uint64_t bytes_of(const char *path, enum trace_format format, bool has_sidecar)
{
	struct err err = { 0 };
	unsigned open_before = count_open();

	rewrite_new();
	r.output.path = path;
	r.output.format = format;
	r.output.has_sidecar = has_sidecar;
	CHECK_EQ(rewrite_finish(&r, &job, &err), 0);
	CHECK_STR(job.note, "");
	CHECK_EQ(count_open(), open_before);
	return job.bytes;
}

static void sizes_are_those_of_the_files(void)
{
	char dir[] = "/tmp/corotracer-test-XXXXXX", path[64];

	CHECK(mkdtemp(dir) != NULL);
	make_file(dir, "t.jsonl", 100);
	make_file(dir, "t.jsonl.meta", 20);
	snprintf(path, sizeof(path), "%s/t.jsonl", dir);
	CHECK_EQ(bytes_of(path, TRACE_FORMAT_JSONL, true), 120);
	CHECK_EQ(bytes_of(path, TRACE_FORMAT_JSONL, false), 100);
	CHECK_EQ(bytes_of(dir, TRACE_FORMAT_CTF, false), 120);
	CHECK_EQ(bytes_of(dir, TRACE_FORMAT_JSONL, false), 0); /* not a file */
	CHECK_EQ(bytes_of("-", TRACE_FORMAT_JSONL, true), 0);
	CHECK_EQ(bytes_of(NULL, TRACE_FORMAT_JSONL, true), 0);
	CHECK_EQ(bytes_of("/nonexistent", TRACE_FORMAT_CTF, true), 0);
	unlink(path);
	strcat(path, ".meta");
	unlink(path);
	CHECK_EQ(rmdir(dir), 0);
}

static void the_end_says_what_was_changed(void)
{
	struct err err = { 0 };

	rewrite_new();
	put_run();
	world.counts.clamped = 12;
	CHECK_EQ(rewrite_finish(&r, &job, &err), 0);
	CHECK_STR(job.note, "12 events were out of order and have a later time now");
	CHECK(!world.is_open);
	rewrite_new();
	err_set(&world.facts, -EIO, "no facts");
	CHECK_EQ(rewrite_finish(&r, &job, &err), -EIO);
	rewrite_new();
	world.open_fails = -EACCES;
	err = (struct err){ 0 };
	CHECK_EQ(rewrite_finish(&r, &job, &err), -EACCES);
	rewrite_new();
	put_run();
	rewrite_release(&r); /* not finished */
	CHECK(!world.is_open);
}

int main(void)
{
	RUN(each_thread_has_a_lane);
	RUN(stations_and_other_traces_have_none);
	RUN(many_threads_share_lanes);
	RUN(gaps_are_of_lanes);
	RUN(every_kind_of_item_is_written);
	RUN(totals_of_a_part_count_the_part);
	RUN(horizons_follow_at_a_distance);
	RUN(a_failed_write_is_noticed_soon);
	RUN(sizes_are_those_of_the_files);
	RUN(the_end_says_what_was_changed);
	rewrite_release(&r);
	return 0;
}
