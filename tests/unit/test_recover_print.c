/* SPDX-License-Identifier: MIT */
/*
 * test_recover_print.c - what `recover`, `top --once` and `snapshot -l` print of a region and of
 * running collectors, as text and as JSON; fixtures/golden/recover_print.txt has the lines.
 */
#include <errno.h>
#include <jansson.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "check.h"
#include "golden.h"
#include "recover_print.h"
#include "running_list.h"
#include "top_print.h"

#define MOMENT (1000 * NS_PER_SEC)

/* ---- the region ------------------------------------------------------------------- */

static struct recover_event events[24];
static struct recover_thread threads[18];
static struct recover_coroutine coroutines[24];
static struct recover_process processes[3];
static struct trace_site sites[3];
static struct journal_lane lanes[1];
static struct recover r;

static void add_event(struct recover_thread *t, enum trace_kind kind, uint64_t id, uint64_t ago_ms)
{
	struct trace_event *ev = &t->last[t->nr_last++].ev;

	trace_event_init(ev);
	ev->kind = (uint8_t)kind;
	ev->probe_id = id;
	ev->tid = t->tid;
	ev->ts = MOMENT - ago_ms * NS_PER_MS;
	ev->site = 1;
	if (kind == TRACE_SUSPEND) {
		ev->reason = TRACE_REASON_IO_READ;
		ev->flags = TRACE_HAS_RESOURCE;
		ev->resource = 5;
	}
}

static struct recover_coroutine *add_coroutine(const char *name, uint8_t state, uint64_t age_ms)
{
	struct recover_coroutine *c = &coroutines[r.nr_coroutines++];

	snprintf(c->name, sizeof(c->name), "%s", name);
	c->co.probe_id = r.nr_coroutines;
	c->co.pid = 77;
	c->co.station = TRACE_NO_STATION;
	c->co.state = state;
	c->co.since_ts = MOMENT - age_ms * NS_PER_MS;
	c->co.birth_ts = MOMENT - 2000 * NS_PER_MS;
	c->co.written = 10 * r.nr_coroutines;
	r.by_state[state]++;
	return c;
}

static void begin_region(void)
{
	memset(&r, 0, sizeof(r));
	memset(threads, 0, sizeof(threads));
	memset(coroutines, 0, sizeof(coroutines));
	memset(processes, 0, sizeof(processes));
	sites[0] = (struct trace_site){
		.id = 1, .line = 10, .file = "a.c", .function = "read_all"
	};
	sites[1] = (struct trace_site){ .id = 2, .line = 20, .file = "b.c", .function = "make" };
	r.image.collector_pid = 42;
	r.image.made = 1700000000;
	r.image.clock_from = IMAGE_CLOCK_PUBLISHED;
	r.journal.cut_lane = UINT32_MAX;
	r.journal.lanes = lanes;
	r.threads = threads;
	r.coroutines = coroutines;
	r.processes = processes;
	r.sites = sites;
	r.nr_sites = 3;
	r.now_ns = MOMENT + NS_PER_SEC;
	r.now_realtime_ns = UINT64_C(1700000100) * NS_PER_SEC;
	r.same_time = true;
	r.first_ts = MOMENT - 3 * NS_PER_SEC;
	r.last_ts = MOMENT;
}

/* Two threads and three coroutines. */
static void a_killed_collector(void)
{
	struct recover_coroutine *c;

	begin_region();
	r.nr_threads = 2;
	threads[0] = (struct recover_thread){ .tid = 78,
					      .pid = 77,
					      .written = 30,
					      .read = 20,
					      .kept = 15,
					      .saved = 18,
					      .events = 10,
					      .last = events };
	threads[1] = (struct recover_thread){ .tid = 79,
					      .pid = 77,
					      .closed = true,
					      .broken = true,
					      .written = 5,
					      .read = 5,
					      .saved = 5,
					      .dropped = 3,
					      .dropped_others = 1,
					      .last = events + 12 };
	add_event(&threads[0], TRACE_BIRTH, 1, 2000);
	add_event(&threads[0], TRACE_RESUME, 1, 1500);
	add_event(&threads[0], TRACE_SUSPEND, 1, 1000);
	add_event(&threads[1], TRACE_WAKE, 1, 500);
	c = add_coroutine("reader", TRACE_STATE_SUSPENDED, 1000);
	c->co.site = 1;
	c->co.birth_site = 2;
	c->co.reason = TRACE_REASON_IO_READ;
	c->co.has_resource = true;
	c->co.resource = 5;
	c->woken_ts = MOMENT - 500 * NS_PER_MS;
	c->tid = 78;
	c = add_coroutine("", TRACE_STATE_RUNNING, 10);
	c->co.addr = 0xabc;
	c->co.parent = 1;
	c->co.lost = 4;
	c = add_coroutine("na\"me\n", TRACE_STATE_SUSPENDED, 0);
	c->co.station = 3;
	r.nr_processes = 3;
	processes[0] = (struct recover_process){ 77, PROCESS_GONE, "" };
	processes[1] = (struct recover_process){ 88, PROCESS_THERE, "server" };
	processes[2] = (struct recover_process){ 99, PROCESS_OTHER, "" };
}

static void with_a_journal(void)
{
	a_killed_collector();
	r.nr_processes = 1;
	r.journal.found = r.journal.has_trace = true;
	r.journal.trace = (char *)"/tmp/t.ct";
	r.account = (struct recover_account){ .saved = 20,
					      .others_saved = 3,
					      .unsaved = 10,
					      .others_unsaved = 2,
					      .lost = 4,
					      .others_lost = 1,
					      .gone = 6,
					      .missing = 7 };
	r.image.last_look_ns = MOMENT + NS_PER_SEC / 2;
	r.image.clock_from = IMAGE_CLOCK_MEASURED;
}

static void with_a_failed_journal(void)
{
	with_a_journal();
	r.journal.failed = true;
	r.journal.has_trace = false;
	r.account = (struct recover_account){ .saved = 1, .unsaved = 1 };
	r.options.output = "new.jsonl";
	r.options.join = true;
	r.written = (struct trace_counts){ .written = 12, .others_written = 3, .unwritten = 1 };
	err_set(&r.output, -ENOSPC, "cannot write 'new.jsonl'");
}

static void of_another_machine(void)
{
	a_killed_collector();
	r.nr_processes = 0;
	r.same_time = false;
	r.image.clock_from = IMAGE_CLOCK_ELSEWHERE;
	r.image.cut = true;
	r.image.live = true;
	r.short_of_memory = true;
	r.lanes.garbage = 2;
	r.stations.garbage = 1;
	r.stations.unfinished = 3;
	err_set(&r.image.no_lanes, -EPROTO, "lanes of another version");
}

static void more_than_is_shown(void)
{
	unsigned i;

	begin_region();
	r.nr_threads = 17; /* 16 are shown */
	for (i = 0; i < 17; i++)
		threads[i] = (struct recover_thread){
			.tid = 100 + i, .pid = 77, .written = i + 1, .last = events
		};
	for (i = 0; i < 9; i++) /* 8 of a thread */
		add_event(&threads[0], TRACE_RESUME, 1, 100 - i);
	for (i = 0; i < 21; i++) /* 20 are shown */
		add_coroutine("many", TRACE_STATE_SUSPENDED, 1000);
}

static void an_empty_region(void)
{
	begin_region();
	r.first_ts = r.last_ts = 0;
}

/* ---- what is printed ------------------------------------------------------------------ */

#define STORY(name)         \
	{                   \
#name, name \
	}
static const struct {
	const char *name;
	void (*set)(void);
} stories[] = {
	STORY(a_killed_collector), STORY(with_a_journal),     STORY(with_a_failed_journal),
	STORY(of_another_machine), STORY(more_than_is_shown), STORY(an_empty_region),
};

static void print_regions(void)
{
	size_t i;

	for (i = 0; i < sizeof(stories) / sizeof(stories[0]); i++) {
		stories[i].set();
		printf("== %s\n", stories[i].name);
		CHECK_EQ(recover_print(&r, "/dev/shm/x/region", false, false), 0);
		if (stories[i].set != more_than_is_shown)
			CHECK_EQ(recover_print(&r, "/dev/shm/x/region", false, true), 0);
	}
	more_than_is_shown();
	puts("== all of them");
	CHECK_EQ(recover_print(&r, "/dev/shm/x/region", true, false), 0);
}

static void print_picture(void)
{
	struct top_source source = { .region = (char *)"/dev/shm/x/region" };
	struct top_shown at[] = { { .row = 2 }, { .row = 0 }, { .row = 1 } };
	struct top_rows rows = { .at = at, .nr = 3 };
	struct top_row shown[3];
	struct top_places places = { 0 };
	struct top_picture p = {
		.rows = shown, .nr = 3, .moment = MOMENT, .up_ns = 61 * NS_PER_SEC
	};
	size_t i;

	a_killed_collector();
	for (i = 0; i < 3; i++)
		shown[i] = (struct top_row){ .c = &coroutines[i],
					     .state = coroutines[i].co.state,
					     .rate = 1.5 * (double)i };
	shown[0].state = TRACE_STATE_READY;
	shown[1].cpu = (struct top_cpu){ .slices = 3, .on_ns = 4, .ready_ns = 5, .blocked_ns = 6 };
	p.r = r;
	p.status = json_pack("{s:[s,s]}", "command", "./server", "a b");
	p.by_state[TRACE_STATE_SUSPENDED] = 1;
	p.by_state[TRACE_STATE_READY] = 1;
	p.by_state[TRACE_STATE_RUNNING] = 1;
	p.events = 1234;
	p.lost = 5;
	p.backlog = 6;
	p.threads = 1;
	p.births = 7;
	p.event_rate = 8.5;
	p.birth_rate = 0.25;
	puts("== a picture");
	CHECK_EQ(top_print_text(&p, &rows, &places, 3), 0);
	p.told = true;
	p.nr = p.threads = 2;
	CHECK_EQ(top_print_text(&p, &rows, &places, 2), 0);
	CHECK_EQ(top_print_json(&source, &p, &rows, 3), 0);
	p.r.image.cut = true;
	CHECK_EQ(top_print_json(&source, &p, &rows, 0), 0);
	json_decref(p.status);
	top_places_release(&places);
}

static void print_collectors(void)
{
	struct running at[4] = { 0 };
	struct all_running all = { .at = at, .nr = 4 };
	struct err err = { 0 };
	size_t i;

	at[0].status = json_pack("{s:i,s:I,s:i,s:i,s:i,s:[s]}", "pid", 7, "since_ns",
				 (json_int_t)1700000000000000000, "coroutines", 1234, "written", 5,
				 "recorder_size", 0, "command", "x");
	at[1].status = json_pack("{s:i,s:i}", "pid", 8, "recorder_size", (10 << 20) - 1);
	at[2].status = json_pack("{s:i,s:i}", "pid", 9, "recorder_size", 10 << 20);
	err_set(&at[3].err, -EACCES, "it does not answer");
	puts("== collectors");
	running_print(stdout, &all);
	running_nobody(&all, 5, 0, &err);
	printf("%s / %s\n", err.text, err.hint);
	memset(&err, 0, sizeof(err));
	running_nobody(&all, 0, 3, &err);
	printf("%s / %s\n", err.text, err.hint);
	all.nr = 0;
	memset(&err, 0, sizeof(err));
	running_nobody(&all, 5, 0, &err);
	printf("%s / %s\n", err.text, err.hint);
	memset(&err, 0, sizeof(err));
	running_nobody(&all, 5, 3, &err);
	printf("%s / %s\n", err.text, err.hint);
	for (i = 0; i < 3; i++)
		json_decref(at[i].status);
}

static void the_lines_are_the_expected_ones(void)
{
	static char text[1 << 17];
	FILE *all = tmpfile();
	int before = dup(1);
	size_t size;

	CHECK(all != NULL);
	fflush(stdout);
	dup2(fileno(all), 1);
	print_regions();
	print_picture();
	print_collectors();
	fflush(stdout);
	dup2(before, 1);
	close(before);
	rewind(all);
	size = fread(text, 1, sizeof(text) - 1, all);
	CHECK(size < sizeof(text) - 1);
	fclose(all);
	golden_check("recover_print.txt", text);
}

int main(void)
{
	setenv("TZ", "UTC", 1);
	tzset();
	RUN(the_lines_are_the_expected_ones);
	return 0;
}
