/* SPDX-License-Identifier: MIT */
/*
 * test_run_summary.c - the summary of a run, as text and as JSON.
 *
 * Each story is a result of a collector with one or two things that went wrong; what is printed is
 * in fixtures/golden/run_summary.txt (golden.h).
 */
#include <corotracer/ctp.h>
#include <corotracer/request.h>

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "check.h"
#include "golden.h"
#include "run_awaits.h"
#include "run_frames.h"
#include "run_summary.h"
#include "run_unconnected.h"
#include "run_waiting.h"

/* ---- parts of the tool that are not part of this test ------------------------ */

static const char *waiting_missing, *awaits_missing;

const char *run_waiting_missing(void)
{
	return waiting_missing;
}

const char *run_awaits_missing(void)
{
	return awaits_missing;
}

void shipping_text(const struct shipping *s, bool is_quiet)
{
	(void)s;
	fprintf(stderr, "(shipping%s)\n", is_quiet ? ", quiet" : "");
}

void shipping_json(struct printer *p, const struct shipping *s)
{
	(void)s;
	print_count(p, "shipping", NULL, 1);
}

int counters_resolve(struct counters *c, bool privileged, struct err *err)
{
	(void)privileged;
	if (c->nr == 3)
		return err_set(err, -EINVAL, "no such counter");
	return 0;
}

/* ---- stories ------------------------------------------------------------------- */

static struct session s;
static struct collector_result r;

static void fine(void)
{
}

static void one_of_each(void)
{
	r.collected = r.totals.written = r.totals.coroutines = 1;
	r.others_collected = 3;
	s.config.output = "-";
}

static void takes_long_to_read(void)
{
	r.collecting_ns = r.duration_ns + NS_PER_SEC / 10;
}

static void takes_not_long_to_read(void)
{
	r.collecting_ns = r.duration_ns + NS_PER_SEC / 10 - 1;
	s.shipping.is_spool = true;
}

static void loses_everywhere(void)
{
	r.totals.written = 10000;
	r.lost = 1000;
	r.lost_output = 100;
	r.lost_full = 300;
	r.lanes.untraced = 200;
	r.others_lost = 5;
	r.others_collected = 15;
	r.lanes.lost_sites = 1;
	s.config.lanes.on_full = CTP_ON_FULL_DROP;
}

static void loses_by_a_signal(void)
{
	r.lost = r.lost_output = 7;
	r.totals.written += 7;
	r.drain_stopped = true;
	r.lanes.lost_sites = 2;
}

static void loses_before_the_connection(void)
{
	r.lost = r.lost_full = 9;
	r.lanes.untraced = 12; /* at most those that are lost */
	r.totals.written += 9;
}

static void loses_after_waiting(void)
{
	r.lost = r.lost_full = 9;
	r.totals.written += 9;
	s.config.lanes.on_full = CTP_ON_FULL_BLOCK;
	r.waits = 1;
	r.wait_ns = 1500000;
}

static void loses_in_stations(void)
{
	r.lost = 3;
	r.totals.written += 3;
	worst_note(&r.worst, &(struct worst_coroutine){ 4, 77, 10, 1, "first" });
	worst_note(&r.worst, &(struct worst_coroutine){ TRACE_NO_STATION, 78, 10, 2, NULL });
	r.waits = 2;
	r.wait_ns = 999;
}

static void loses_in_a_small_place(void)
{
	loses_after_waiting();
	r.waits = 0;
	r.place_holds = 3 << 20;
}

static void loses_in_a_tiny_place(void)
{
	loses_in_a_small_place();
	r.place_holds = 4096;
	s.config.shm = "/dev/shm/mine";
}

static void loses_where_nothing_can_grow(void)
{
	loses_in_a_small_place();
	r.place_holds = 0;
	r.starved = ENOSPC;
}

static void has_a_flight_recorder(void)
{
	s.config.flight_size = 1 << 20;
	r.forgotten = 1;
	r.facts_forgotten = 1;
	r.facts_refused = 1;
}

static void has_a_small_flight_recorder(void)
{
	s.config.flight_size = 1 << 20;
	r.forgotten = 1234567;
	r.facts_forgotten = 2;
	r.facts_refused = 20;
}

static void records_processors(void)
{
	s.config.cpu = true;
	r.switches = 1;
	r.switches_lost = 1;
}

static void records_processors_without_wakes(void)
{
	s.config.cpu = true;
	r.switches = 12;
	r.switches_lost = 2;
	err_set(&r.no_wakes, -EACCES, "cannot record wake-ups");
	err_hint(&r.no_wakes, "mount tracefs");
}

static void records_frames(void)
{
	s.config.frames.is_wanted = true;
	r.frames = (struct frame_totals){
		.written = 5, .in_coroutine = 4, .issued = 5, .buffers = 1
	};
}

static void loses_frames(void)
{
	s.config.frames.is_wanted = true;
	s.quiet = true;
	r.frames = (struct frame_totals){
		.written = 1, .issued = 9, .buffers = 2, .lost = 8, .dropped = 3, .late = 1
	};
}

static void has_no_frame(void)
{
	s.config.frames.is_wanted = true;
	r.frames = (struct frame_totals){ .buffers = 2 };
}

static void has_no_lanes(void)
{
	err_set(&r.no_lanes, -ENOMEM, "no room for lanes");
	r.lanes.broken = 1;
}

static void has_broken_lanes(void)
{
	r.lanes.broken = 2;
	r.totals.garbage = 1;
	r.totals.unfinished = 2;
	r.wild_count = r.region_shrunk = true;
}

static void has_too_few_stations(void)
{
	s.config.nr_stations = 100;
	r.totals.without_station = 10;
	r.lanes.later = 3;
	r.lanes.unborn = 2;
}

static void needs_more_stations_than_there_are(void)
{
	s.config.nr_stations = CTP_MAX_STATIONS;
	r.totals.without_station = 1;
}

static void needs_all_stations(void)
{
	s.config.nr_stations = CTP_MAX_STATIONS - 1;
	r.totals.without_station = 1;
}

static void had_coroutines_before(void)
{
	r.totals.without_station = r.lanes.later = 1;
}

static void has_unborn_coroutines(void)
{
	r.totals.without_station = 4;
	r.lanes.unborn = 4;
}

static void has_odd_clocks(void)
{
	r.clocks.suspended_ns = 3 * NS_PER_SEC;
	r.clocks.wall_step_ns = 2 * NS_PER_MS;
	r.clocks.counter_changes = 1;
}

static void has_several_writers(void)
{
	r.totals.writers[WRITER_COROTRACER] = 1;
	r.totals.writers[WRITER_SEED_002] = 2;
}

static void nothing_connects(void)
{
	r.collected = r.totals.written = r.totals.coroutines = 0;
	r.nr_connected = 0;
}

static void nothing_connects_to_a_server(void)
{
	nothing_connects();
	r.launched = false;
}

static void nothing_is_found(void)
{
	nothing_connects();
	r.exit_status = 127;
}

static void a_process_does_not_connect(void)
{
	nothing_connects();
	s.quiet = true; /* is printed nevertheless */
	r.nr_unconnected = 5;
	r.unconnected[0] = (struct sdk_process){ .pid = 11, .name = "one" };
	r.unconnected[1] = (struct sdk_process){
		.pid = 12, .name = "two", .is_seen = true, .why = CTP_WHY_NOT_OPENED | EACCES << 8
	};
	r.unconnected[2] = (struct sdk_process){
		.pid = 13, .name = "th\nree", .is_seen = true, .why = CTP_WHY_NO_COROUTINE
	};
	r.unconnected[3] = (struct sdk_process){
		.pid = 14, .name = "four", .is_seen = true, .why = 0xff
	};
	r.unconnected[4] = (struct sdk_process){
		.pid = 15, .name = "five", .is_seen = true, .why = CTP_WHY_NO_MEMORY + 1
	};
}

static void strangers_connect(void)
{
	r.nr_refused = 1;
	r.nr_turned_away = 2;
	r.still_connected = 1;
}

static void others_go_on(void)
{
	r.nr_refused = 2;
	r.nr_turned_away = 1;
	r.still_connected = 3;
}

static void attaches(void)
{
	r.attached = r.detached = true;
	r.launched = false;
	r.still_connected = 1;
	waiting_missing = "the coroutines of before are not in the trace";
}

static void attaches_until_the_end(void)
{
	attaches();
	r.detached = false;
	waiting_missing = NULL;
}

static void attaches_until_exec(void)
{
	attaches_until_the_end();
	r.replaced = true;
	s.awaits = true;
	awaits_missing = "no debug information";
}

static void attaches_to_an_idle_one(void)
{
	attaches();
	nothing_connects();
}

static void cannot_attach(void)
{
	attaches_to_an_idle_one();
	err_set(&r.failed, -EPERM, "cannot attach");
	err_hint(&r.failed, "be root");
}

static void cannot_write(void)
{
	err_set(&r.output, -ENOSPC, "cannot write 't.jsonl'");
	err_set(&r.sidecar, -EIO, "cannot write 't.meta'");
	r.modules_left_out = 5;
	r.exit_status = 3;
}

static void is_killed(void)
{
	r.signal = SIGKILL;
	r.exit_status = 137;
}

static void is_quiet(void)
{
	s.quiet = true;
	r.exit_status = 2;
}

static void is_quiet_and_loses(void)
{
	s.quiet = true;
	r.lost = 1;
}

static void is_quiet_without_stations(void)
{
	s.quiet = true;
	had_coroutines_before();
}

static void is_quiet_with_garbage(void)
{
	s.quiet = true;
	r.totals.garbage = 2;
}

#define STORY(name)         \
	{                   \
#name, name \
	}
static const struct {
	const char *name;
	void (*set)(void);
} stories[] = {
	STORY(fine),
	STORY(one_of_each),
	STORY(takes_long_to_read),
	STORY(takes_not_long_to_read),
	STORY(loses_everywhere),
	STORY(loses_by_a_signal),
	STORY(loses_before_the_connection),
	STORY(loses_after_waiting),
	STORY(loses_in_stations),
	STORY(loses_in_a_small_place),
	STORY(loses_in_a_tiny_place),
	STORY(loses_where_nothing_can_grow),
	STORY(has_a_flight_recorder),
	STORY(has_a_small_flight_recorder),
	STORY(records_processors),
	STORY(records_processors_without_wakes),
	STORY(records_frames),
	STORY(loses_frames),
	STORY(has_no_frame),
	STORY(has_no_lanes),
	STORY(has_broken_lanes),
	STORY(has_too_few_stations),
	STORY(needs_more_stations_than_there_are),
	STORY(needs_all_stations),
	STORY(had_coroutines_before),
	STORY(has_unborn_coroutines),
	STORY(has_odd_clocks),
	STORY(has_several_writers),
	STORY(nothing_connects),
	STORY(nothing_connects_to_a_server),
	STORY(nothing_is_found),
	STORY(a_process_does_not_connect),
	STORY(strangers_connect),
	STORY(others_go_on),
	STORY(attaches),
	STORY(attaches_until_the_end),
	STORY(attaches_until_exec),
	STORY(attaches_to_an_idle_one),
	STORY(cannot_attach),
	STORY(cannot_write),
	STORY(is_killed),
	STORY(is_quiet),
	STORY(is_quiet_and_loses),
	STORY(is_quiet_without_stations),
	STORY(is_quiet_with_garbage),
};

/* No two numbers of the summary are the same. */
static void all_numbers_differ(void)
{
	loses_everywhere();
	loses_frames();
	has_too_few_stations();
	has_odd_clocks();
	has_several_writers();
	r.frames.in_coroutine = 21;
	r.forgotten = 22;
	r.totals.garbage = 23;
	r.totals.unfinished = 24;
	r.totals.coroutines = 25;
	r.duration_ns = 26;
	r.collecting_ns = 27;
	r.cpu_ns = 28;
	r.nr_connected = 29;
	r.still_connected = 30;
	r.nr_refused = 31;
	r.nr_turned_away = 32;
	r.nr_wakeups = 33;
	r.modules_left_out = 34;
	r.waits = 35;
	r.wait_ns = 36;
	r.switches = 37;
	r.switches_lost = 38;
	r.facts_forgotten = 39;
	r.facts_refused = 40;
	r.region_bytes = 41;
	r.place_holds = 42;
	r.lanes.lanes = 43;
	r.lanes.broken = 44;
	r.lanes.kinds[TRACE_BIRTH] = 45;
	r.lanes.kinds[NR_TRACE_KINDS - 1] = 46;
	r.region_shrunk = true;
	r.totals.writers[WRITER_SEED_000] = 47;
}

static const struct {
	const char *name;
	void (*set)(void);
} in_json[] = {
	STORY(fine),
	STORY(all_numbers_differ),
	STORY(loses_in_stations),
	STORY(records_processors_without_wakes),
	STORY(has_no_lanes),
	STORY(a_process_does_not_connect),
	STORY(nothing_connects_to_a_server),
	STORY(attaches),
	STORY(attaches_until_exec),
	STORY(cannot_attach),
	STORY(cannot_write),
	STORY(is_killed),
};

/* A run without a problem. */
static void start_over(void)
{
	static const struct command cmd = { .name = "run" };

	memset(&s, 0, sizeof(s));
	memset(&r, 0, sizeof(r));
	waiting_missing = awaits_missing = NULL;
	s.cmd = &cmd;
	s.config.output = "t.jsonl";
	s.config.nr_stations = 128;
	r.launched = true;
	r.pid = 42;
	r.collected = r.totals.written = 20;
	r.totals.coroutines = 3;
	r.nr_connected = 1;
	r.duration_ns = r.collecting_ns = 1230000000;
	r.cpu_ns = 5000;
	snprintf(r.place, sizeof(r.place), "/dev/shm/region");
}

/* ---- what is printed ---------------------------------------------------------------- */

static FILE *all; /* stderr goes there */

static void print_stories(void)
{
	size_t i;

	for (i = 0; i < sizeof(stories) / sizeof(stories[0]); i++) {
		start_over();
		stories[i].set();
		fprintf(stderr, "== %s\n", stories[i].name);
		run_summary_text(&s, &r);
	}
	for (i = 0; i < sizeof(in_json) / sizeof(in_json[0]); i++) {
		start_over();
		in_json[i].set();
		fprintf(stderr, "== %s\n", in_json[i].name);
		run_summary_json(&s, &r, 5);
	}
}

static void print_snapshots(void)
{
	struct snapshot_result one = { .collected = 1, .forgotten = 20, .path = "s.jsonl" };

	fputs("== snapshots\n", stderr);
	run_summary_snapshot(&one);
	one.collected = 2000;
	one.facts_forgotten = 3;
	run_summary_snapshot(&one);
	err_set(&one.err, -EIO, "cannot write 's.jsonl'");
	run_summary_snapshot(&one);
	run_summary_json_error(&one.err);
	err_hint(&one.err, "make room");
	run_summary_json_error(&one.err);
}

/* Which options of frames fit together. */
static void print_checks(void)
{
	struct collector_config config = { .frames.counters.nr = 0 };

	fputs("== options of frames\n", stderr);
	CHECK(run_frames_check(&config));
	CHECK(config.frames.say == NULL);
	config.frames.counters.nr = 1;
	CHECK(!run_frames_check(&config));
	config.frames.is_wanted = true;
	CHECK(run_frames_check(&config));
	config.frames.say("hello");
	snprintf(config.frames.counters.warning, sizeof(config.frames.counters.warning),
		 "a warning");
	CHECK(run_frames_check(&config));
	config.frames.counters.nr = 3;
	CHECK(!run_frames_check(&config));
	config.flight_size = 1;
	CHECK(!run_frames_check(&config));
}

static void each_story_has_its_lines(void)
{
	static char text[1 << 17];
	int before = dup(2);
	size_t size;

	unsetenv("CTP_VERBOSE");
	all = tmpfile();
	CHECK(all != NULL);
	fflush(stderr);
	dup2(fileno(all), 2);
	print_stories();
	print_snapshots();
	print_checks();
	setenv("CTP_VERBOSE", "1", 1);
	start_over();
	nothing_connects();
	run_summary_text(&s, &r);
	fflush(stderr);
	dup2(before, 2);
	close(before);
	rewind(all);
	size = fread(text, 1, sizeof(text) - 1, all);
	CHECK(size < sizeof(text) - 1);
	fclose(all);
	golden_check("run_summary.txt", text);
}

/* A run fails if a process could not connect and nothing else was traced. */
static void a_process_that_failed_decides_the_status(void)
{
	memset(&r, 0, sizeof(r));
	r.unconnected[0].is_seen = true;
	r.unconnected[0].why = CTP_WHY_NO_COROUTINE;
	r.unconnected[1].is_seen = true;
	r.unconnected[1].why = CTP_WHY_NOT_OPENED | EACCES << 8;
	r.nr_unconnected = 1; /* the second one is not counted */
	CHECK(!run_unconnected_failed(&r));
	r.nr_unconnected = 2;
	CHECK(run_unconnected_failed(&r));
	r.nr_connected = 1;
	CHECK(!run_unconnected_failed(&r));
	r.nr_connected = 0;
	r.totals.written = 1;
	CHECK(!run_unconnected_failed(&r));
}

int main(void)
{
	RUN(a_process_that_failed_decides_the_status);
	RUN(each_story_has_its_lines);
	return 0;
}
