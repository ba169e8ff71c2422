/* SPDX-License-Identifier: MIT */
/*
 * test_top_snapshot.c - pictures of a running program: rates, sums, and the processor time that its
 * collector knows.  The region and the collector's answers are the test's.
 */
#include "top/top_snapshot.h"

#include <errno.h>

#include "base/monotonic.h"
#include "check.h"
#include "collect/collector_client.h"
#include "collect/region_list.h"
#include "trace/event.h"

static struct recover region;
static struct recover_coroutine coroutines[4];
static struct recover_thread threads[3];
static struct recover_process processes[2];
static struct ctp_ext_lanes ext;
static struct recover_options asked;
static const char *status, *cpu; /* answers; NULL: none */
static bool is_live;
static int read_rc;
static unsigned nr_closed, nr_cpu;

json_t *__wrap_running_ask(const char *path, const char *request, int timeout_ms, struct err *err);
json_t *__wrap_running_ask(const char *path, const char *request, int timeout_ms, struct err *err)
{
	const char *text = strcmp(request, "cpu") ? status : cpu;

	(void)err;
	CHECK_STR(path, "region");
	CHECK(timeout_ms > 0);
	nr_cpu += !strcmp(request, "cpu");
	return text ? json_loads(text, 0, NULL) : NULL;
}

int __wrap_recover_read(struct recover *r, int fd, const char *path,
			const struct recover_options *options, struct err *err);
int __wrap_recover_read(struct recover *r, int fd, const char *path,
			const struct recover_options *options, struct err *err)
{
	CHECK_EQ(fd, 55);
	CHECK_STR(path, "region");
	asked = *options;
	*r = region;
	return read_rc ? err_set(err, read_rc, "cannot be read") : 0;
}

void __wrap_recover_close(struct recover *r);
void __wrap_recover_close(struct recover *r)
{
	(void)r;
	nr_closed++;
}

uint64_t __wrap_recover_moment(const struct recover *r);
uint64_t __wrap_recover_moment(const struct recover *r)
{
	return r->now_ns - 5;
}

bool __wrap_region_is_live(int fd);
bool __wrap_region_is_live(int fd)
{
	CHECK_EQ(fd, 55);
	return is_live;
}

static struct top_source s;
static struct top_picture p;

static void coroutine(size_t i, uint64_t id, enum trace_state state, uint64_t written)
{
	coroutines[i] = (struct recover_coroutine){ .unit = (uint32_t)i };
	coroutines[i].co.probe_id = id;
	coroutines[i].co.state = (uint8_t)state;
	coroutines[i].co.station = TRACE_NO_STATION;
	coroutines[i].co.written = written;
}

static void region_new(void)
{
	char *path = (char *)"region";

	free(s.lives.at);
	free(s.stations.at);
	coroutine(0, 10, TRACE_STATE_SUSPENDED, 100);
	coroutine(1, 20, TRACE_STATE_SUSPENDED, 50);
	coroutines[1].woken_ts = 7;
	coroutine(2, 30, TRACE_STATE_RUNNING, 7);
	threads[0] = (struct recover_thread){ .written = 30, .read = 10, .dropped = 2 };
	threads[1] = (struct recover_thread){ .written = 10, .read = 30, .dropped = 3 };
	threads[2] = (struct recover_thread){ .closed = true };
	processes[0].life = PROCESS_THERE;
	processes[1].life = PROCESS_GONE;
	ext.last_id = 40;
	region = (struct recover){ .coroutines = coroutines,
				   .nr_coroutines = 3,
				   .threads = threads,
				   .nr_threads = 3,
				   .processes = processes,
				   .nr_processes = 2,
				   .now_ns = 100 * NS_PER_SEC,
				   .now_realtime_ns = 1000 * NS_PER_SEC };
	region.image.lanes.ext = &ext;
	region.image.made = 980;
	s = (struct top_source){ .region = path, .fd = 55 };
	status = cpu = NULL;
	is_live = true;
	read_rc = 0;
	nr_closed = nr_cpu = 0;
}

static void take(void)
{
	struct err err = { 0 };

	CHECK_EQ(top_picture_take(&s, &p, 0, &err), 0);
}

static void sums_follow_from_the_region_without_an_answer(void)
{
	region_new();
	take();
	CHECK(!p.told && !p.has_cpu);
	CHECK_EQ(p.nr, 3);
	CHECK_EQ(p.moment, 100 * NS_PER_SEC - 5);
	CHECK_EQ(p.by_state[TRACE_STATE_SUSPENDED], 1);
	CHECK_EQ(p.by_state[TRACE_STATE_READY], 1); /* woken, and has not run since */
	CHECK_EQ(p.by_state[TRACE_STATE_RUNNING], 1);
	CHECK_EQ(p.rows[1].state, TRACE_STATE_READY);
	CHECK_EQ(p.events, 157);
	CHECK_EQ(p.lost, 5);
	CHECK_EQ(p.threads, 2);
	CHECK_EQ(p.backlog, 20);
	CHECK_EQ(p.programs, 1);
	CHECK_EQ(p.births, 40);
	CHECK_EQ(p.up_ns, 20 * NS_PER_SEC); /* since the region was made */
	CHECK(p.event_rate > 7.84 && p.event_rate < 7.86);
	CHECK(p.birth_rate > 1.99 && p.birth_rate < 2.01);
	CHECK(asked.threads && asked.unordered && !asked.of);
	CHECK_EQ(asked.last, 0); /* nothing was known to run */
	top_picture_release(&p);
	CHECK_EQ(nr_closed, 1);
	take();
	CHECK(asked.last > 0); /* something ran */
	top_picture_release(&p);
}

static void rates_are_those_since_the_last_picture(void)
{
	region_new();
	status = "{\"written\": 1000, \"lost\": 4, \"since_ns\": 990000000000}";
	take();
	CHECK(p.told);
	CHECK_EQ(p.events, 1000);
	CHECK_EQ(p.lost, 4);
	CHECK_EQ(p.up_ns, 10 * NS_PER_SEC); /* what the collector says */
	CHECK(p.event_rate > 99.9 && p.event_rate < 100.1);
	top_picture_release(&p);
	region.now_ns += 2 * NS_PER_SEC;
	ext.last_id = 50;
	status = "{\"written\": 1500, \"lost\": 4, \"since_ns\": 990000000000}";
	take();
	CHECK(p.event_rate > 249.9 && p.event_rate < 250.1);
	CHECK(p.birth_rate > 4.99 && p.birth_rate < 5.01);
	top_picture_release(&p);
	/* Without an answer, its last words are shown; numbers of another kind are not compared. */
	status = NULL;
	region.now_ns += NS_PER_SEC;
	take();
	CHECK(!p.told);
	CHECK_EQ(p.events, 157);
	CHECK(p.event_rate > 15.6 && p.event_rate < 15.8);
	CHECK_EQ(running_number(p.status, "written"), 1500);
	top_picture_release(&p);
	json_decref(s.status);
}

static void processor_time_is_what_the_collector_measured(void)
{
	region_new();
	status = "{\"cpu\": true}";
	cpu = "{\"cpu\": [[20, 3, 1000, 100, 200], [99, 1, 1, 1, 1], [30, 2, 50, 40, 30],"
	      "[10, -1, 5, 0, 0]]}";
	take();
	CHECK(p.has_cpu);
	CHECK_EQ(nr_cpu, 1);
	CHECK_EQ(p.rows[1].cpu.slices, 3);
	CHECK_EQ(p.rows[1].cpu.on_ns, 700);
	CHECK_EQ(p.rows[1].cpu.ready_ns, 100);
	CHECK_EQ(p.rows[1].cpu.blocked_ns, 200);
	CHECK_EQ(p.rows[2].cpu.slices, 2);
	CHECK_EQ(p.rows[2].cpu.on_ns, 0); /* not less than none */
	CHECK_EQ(p.rows[0].cpu.slices, 0);
	CHECK_EQ(p.rows[0].cpu.on_ns, 5);
	top_picture_release(&p);
	json_decref(s.status);
	region_new();
	status = "{\"cpu\": false}";
	take();
	CHECK(!p.has_cpu);
	CHECK_EQ(nr_cpu, 0); /* it is not asked */
	top_picture_release(&p);
	json_decref(s.status);
}

static void a_picture_of_a_run_that_is_over_is_refused(void)
{
	struct err err = { 0 };

	region_new();
	is_live = false;
	CHECK(top_picture_take(&s, &p, 0, &err) < 0);
	CHECK(err.text[0] != '\0');
	CHECK(!p.rows);
	CHECK_EQ(nr_closed, 1);
	region_new();
	read_rc = -EPROTO;
	err = (struct err){ 0 };
	CHECK_EQ(top_picture_take(&s, &p, 0, &err), -EPROTO);
	CHECK_EQ(nr_closed, 0);
	CHECK(!p.status);
}

static void rows_have_rates_and_looks(void)
{
	region_new();
	coroutines[0].co.birth_ts = 98 * NS_PER_SEC - 5; /* two seconds before the moment */
	coroutines[1].co.birth_ts = 100 * NS_PER_SEC;    /* later: not known */
	coroutine(3, 40, TRACE_STATE_RUNNING, 9);
	coroutines[3].unit = 5000; /* more than there is room for at first */
	coroutines[2].co.station = 1;
	region.nr_coroutines = 4;
	take();
	CHECK(p.rows[0].rate > 49.9 && p.rows[0].rate < 50.1);
	CHECK(p.rows[1].rate < 0.1);
	CHECK_EQ(p.rows[0].looks.waiting, 1);
	CHECK_EQ(p.rows[1].looks.ready, 1);
	CHECK_EQ(p.rows[2].looks.running, 1);
	CHECK_EQ(p.rows[3].looks.running, 1);
	CHECK_EQ(s.lives.at[5000].events, 9);
	CHECK_EQ(s.stations.at[2].id, 30);
	top_picture_release(&p);
	region.now_ns += 2 * NS_PER_SEC;
	coroutines[0].co.written = 104;
	coroutines[1].co.written = 40; /* fewer than before */
	coroutines[2].co.state = TRACE_STATE_SUSPENDED;
	coroutines[3].co.probe_id = 41; /* another coroutine in the same place */
	take();
	CHECK(p.rows[0].rate > 1.9 && p.rows[0].rate < 2.1);
	CHECK(p.rows[1].rate < 20.1);
	CHECK_EQ(p.rows[0].looks.waiting, 2);
	CHECK_EQ(p.rows[2].looks.running, 1);
	CHECK_EQ(p.rows[2].looks.waiting, 1);
	CHECK_EQ(p.rows[3].looks.running, 1); /* its first */
	top_picture_release(&p);
}

static void a_picture_asks_for_what_is_shown(void)
{
	struct err err = { 0 };

	region_new();
	coroutine(1, 20, TRACE_STATE_SUSPENDED, 50);
	coroutine(2, 30, TRACE_STATE_SUSPENDED, 7);
	CHECK_EQ(top_picture_take(&s, &p, 7, &err), 0);
	CHECK_EQ(asked.of, 7);
	CHECK_EQ(asked.last, 64);
	CHECK_EQ(asked.newest, 8);
	top_picture_release(&p);
	take();
	CHECK_EQ(asked.of, 0);
	CHECK_EQ(asked.last, 0);
	CHECK_EQ(asked.newest, 1);
	CHECK_EQ(p.by_state[TRACE_STATE_READY], 0);
	top_picture_release(&p);
	take();
	CHECK_EQ(asked.last, 0); /* nothing runs */
	top_picture_release(&p);
	s.wants_events = true;
	take();
	CHECK_EQ(asked.last, 512);
	top_picture_release(&p);
	s.wants_events = false;
	coroutines[1].woken_ts = 7;
	take();
	top_picture_release(&p);
	take();
	CHECK_EQ(asked.last, 512); /* one was ready */
	top_picture_release(&p);
}

static void sums_may_begin_again(void)
{
	region_new();
	processes[0].life = PROCESS_GONE;
	processes[1].life = PROCESS_THERE;
	status = "{\"written\": 1000, \"lost\": 4, \"since_ns\": 990000000000}";
	take();
	CHECK_EQ(p.programs, 1);
	top_picture_release(&p);
	region.now_ns += 2 * NS_PER_SEC;
	ext.last_id = 30; /* fewer than before: since the beginning */
	status = "{\"written\": 500, \"lost\": 4, \"since_ns\": 990000000000}";
	take();
	CHECK(p.event_rate > 49.9 && p.event_rate < 50.1);
	CHECK(p.birth_rate > 2.9 && p.birth_rate < 3.1);
	top_picture_release(&p);
	json_decref(s.status);
	/* A run that has just begun, or whose clock was set back, has no rates. */
	region_new();
	status = "{\"written\": 500, \"since_ns\": 1000000000000}";
	region.image.lanes.ext = NULL;
	take();
	CHECK_EQ(p.up_ns, 0);
	CHECK_EQ(p.births, 0);
	CHECK(p.event_rate < 0.1 && p.birth_rate < 0.1);
	top_picture_release(&p);
	json_decref(s.status);
}

int main(void)
{
	RUN(sums_follow_from_the_region_without_an_answer);
	RUN(rates_are_those_since_the_last_picture);
	RUN(processor_time_is_what_the_collector_measured);
	RUN(a_picture_of_a_run_that_is_over_is_refused);
	RUN(rows_have_rates_and_looks);
	RUN(a_picture_asks_for_what_is_shown);
	RUN(sums_may_begin_again);
	free(s.lives.at);
	free(s.stations.at);
	return 0;
}
