/* SPDX-License-Identifier: MIT */
/*
 * test_sdk_ticks.c - the times of the records in a lane do not decrease, with a counter that stands
 * still for many events; and what the collector makes of them.
 *
 * Where the counter cannot be replaced (coarse_counter.h), a coroutine whose time is ahead of the
 * counter stands for one that has made many events in one period.
 */
#include <corotracer/corotracer.h>

#include <pthread.h>

#include "collect/lane_scan.h"
#include "collect/tickclock.h"
/* The collector has a struct of this name, too. */
#define region test_region
#include "lanes_region.h"

#define STEP   (UINT64_C(1) << 30) /* a third of a second, or more */
#define AHEAD  UINT64_C(50000)
#define MOST   200000u
#define EVENTS 2000u

uint64_t coarse_step = 1;

static struct lanes_region region;
static struct ctp_record records[MOST];

static void open_coarse(struct shape shape)
{
	coarse_step = STEP;
	lanes_region_open(&region, shape);
	ctp_header_ext(region.region.header)->features |= CTP_EXT_CONTEXT | CTP_EXT_HANDOVER;
}

/* As after as many events in one period of the counter. */
static void run_ahead(const struct corotracer_coro *co)
{
	co->probe.life->last_ticks = ctp_ticks() + AHEAD;
}

static bool has_time(const struct ctp_record *r)
{
	return r->kind != CTP_REC_MORE && r->kind != CTP_REC_TEXT && r->kind != CTP_REC_PAD;
}

/* Check the times of lane @number.  Returns how many of its records have one. */
static unsigned expect_steady(uint32_t number)
{
	uint64_t nr = lane_records(&region, number, records, MOST), i, last = 0;
	unsigned found = 0;

	for (i = 0; i < nr; i++) {
		if (!has_time(&records[i]))
			continue;
		if (records[i].ticks < last)
			fprintf(stderr, "record %llu, kind %u, is %llu ticks back\n",
				(unsigned long long)i, records[i].kind,
				(unsigned long long)(last - records[i].ticks));
		CHECK(records[i].ticks >= last);
		last = records[i].ticks;
		found++;
	}
	CHECK(lane_nr(&region, number)->last_ticks == last);
	return found;
}

/* ---- one lane -------------------------------------------------------------------------- */

static void write_every_kind(struct corotracer_coro *hot, struct corotracer_coro *co)
{
	struct corotracer_coro more;

	corotracer_suspend(hot, hot);
	corotracer_suspend(co, co);
	corotracer_resume(hot);
	corotracer_resume(co);
	corotracer_suspend_on(hot, hot, NULL, CTP_REASON_MUTEX, 1);
	corotracer_suspend_on(co, co, NULL, CTP_REASON_MUTEX, 1);
	corotracer_resume(hot);
	corotracer_wake_at(co, NULL, NULL, 0);
	corotracer_resume(hot);
	corotracer_wake_by(co, hot, NULL, 0, 1);
	corotracer_switch(hot, hot, co);
	corotracer_switch(co, co, hot);
	CHECK_EQ(corotracer_begin(&more, "more"), 0);
	CHECK(more.probe.life->last_ticks >= more.probe.life->birth_ticks);
	corotracer_resume(hot);
	corotracer_closing_at(co, 7, NULL);
	corotracer_resume(hot);
	corotracer_acquired_at(co, 8, NULL);
	corotracer_resume(hot);
	corotracer_released_at(co, 8, NULL);
	corotracer_resume(hot);
	CHECK_EQ(corotracer_set_traceparent(
			 co, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
		 0);
	corotracer_resume(hot);
	corotracer_finish(&more, 0);
	corotracer_resume(hot);
	corotracer_end(&more);
}

#define EVERY_KIND 27u

static void expect_every_kind_steady(struct shape shape,
				     void (*before)(const struct corotracer_coro *))
{
	struct corotracer_coro hot, co;
	uint64_t start;

	open_coarse(shape);
	CHECK_EQ(corotracer_begin(&hot, NULL), 0);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	start = ctp_ticks();
	if (before)
		before(&hot);
	write_every_kind(&hot, &co);
	CHECK_EQ(expect_steady(0), EVERY_KIND + 2);
	/* One tick per event at most, in front of the counter. */
	if (!before)
		CHECK(lane_nr(&region, 0)->last_ticks <= ctp_ticks() + EVERY_KIND + 2);
	else
		CHECK(lane_nr(&region, 0)->last_ticks <= start + AHEAD + STEP + EVERY_KIND);
}

static void times_of_a_lane_do_not_decrease(void)
{
	expect_every_kind_steady((struct shape)SHAPE, NULL);
}

static void nor_behind_a_coroutine_that_is_ahead(void)
{
	expect_every_kind_steady((struct shape)SHAPE, run_ahead);
}

static void nor_on_the_slow_path(void)
{
	struct shape shape = SHAPE;

	shape.without = CTP_EXT_MEMBARRIER;
	expect_every_kind_steady(shape, run_ahead);
}

static void nor_around_a_gap(void)
{
	struct shape shape = SHAPE;
	struct corotracer_coro hot, co;
	unsigned i;

	shape.lane_chunks = 3;
	open_coarse(shape);
	CHECK_EQ(corotracer_begin(&hot, NULL), 0);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	run_ahead(&hot);
	for (i = 0; i < 3 * CTP_CHUNK_RECORDS; i++)
		corotracer_resume(&hot);
	CHECK_EQ(lane_nr(&region, 0)->dropped, 2);
	CHECK(lane_nr(&region, 0)->dropped_at == lane_nr(&region, 0)->last_ticks);
	corotracer_suspend(&co, &co);
	/* As the collector: the chunks are read from the second one on. */
	lane_nr(&region, 0)->first = ((struct ctp_chunk *)ctp_unit(&region.chunks, 0))->link;
	lane_give_back(&region, 0);
	corotracer_suspend(&co, &co);
	corotracer_suspend(&hot, &hot);
	CHECK(lane_nr(&region, 0)->dropped_at == 0);
	lane_nr(&region, 0)->head -= CTP_CHUNK_RECORDS * sizeof(struct ctp_record);
	CHECK_EQ(expect_steady(0), 2 * CTP_CHUNK_RECORDS + 3u);
	CHECK_EQ(records[(size_t)2 * CTP_CHUNK_RECORDS].kind, CTP_REC_GAP);
}

/* Not with that of the thread that had the lane before it was closed. */
static void a_lane_begins_without_a_time(void)
{
	struct corotracer_coro co;

	open_coarse((struct shape)SHAPE);
	lane_nr(&region, 0)->last_ticks = UINT64_MAX / 2;
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	CHECK_EQ(expect_steady(0), 1);
	CHECK(records[0].ticks <= ctp_ticks());
}

/* ---- more threads ------------------------------------------------------------------------ */

static void *resume_ahead(void *co)
{
	run_ahead(co);
	corotracer_resume(co);
	corotracer_resume(co);
	return NULL;
}

static void *live_in_thread(void *co)
{
	CHECK_EQ(corotracer_begin(co, NULL), 0);
	corotracer_resume(co);
	return NULL;
}

static void in_thread(void *(*body)(void *), void *arg)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, body, arg), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void the_next_thread_of_a_lane_continues_with_its_time(void)
{
	struct corotracer_coro hot, co;

	open_coarse((struct shape)SHAPE);
	CHECK_EQ(corotracer_begin(&hot, NULL), 0);
	in_thread(resume_ahead, &hot);
	in_thread(live_in_thread, &co); /* its creation is what takes over the lane */
	CHECK_EQ(region.ext->lanes.used, 2);
	CHECK_EQ(expect_steady(1), 5);
	CHECK_EQ(records[2].kind, CTP_REC_THREAD);
	CHECK_EQ(records[3].kind, CTP_REC_BIRTH);
	CHECK(records[4].ticks > records[3].ticks);
	expect_steady(0);
}

/* ---- the collector ------------------------------------------------------------------------ */

static struct lanes lanes;
static struct tickclock ticks_clock;
static struct drain drain;
static struct err no_err;
static uint32_t next_seq[16]; /* by coroutine */
static const char numbers[4 * EVENTS];
static uint64_t last_ts, nr_events;

static void on_lane(void *ctx, const struct trace_lane *lane)
{
	(void)ctx;
	(void)lane;
}

static void on_gap(void *ctx, uint32_t lane, uint64_t from_ts, uint64_t to_ts, uint64_t transitions,
		   uint64_t others)
{
	(void)ctx;
	(void)lane;
	(void)from_ts;
	(void)to_ts;
	CHECK_EQ(transitions + others, 0);
}

static void on_site(void *ctx, const struct trace_site *site)
{
	(void)ctx;
	(void)site;
}

/* Suspend number n is at &numbers[n]. */
static void on_event(void *ctx, uint32_t lane, const struct trace_event *ev)
{
	(void)ctx;
	(void)lane;
	nr_events++;
	CHECK(ev->ts >= last_ts);
	last_ts = ev->ts;
	if (ev->kind != TRACE_SUSPEND)
		return;
	CHECK(ev->probe_id < 16);
	CHECK_EQ(ev->addr - (uintptr_t)numbers, next_seq[ev->probe_id]);
	next_seq[ev->probe_id]++;
}

static void collector_open(void)
{
	static const struct drain_sink sink = {
		.ordered = true,
		.lane = on_lane,
		.event = on_event,
		.gap = on_gap,
		.site = on_site,
	};

	tickclock_open(&ticks_clock);
	lanes = (struct lanes){ .ext = region.ext,
				.lanes = region.lanes,
				.chunks = region.chunks,
				.lives = region.lives,
				.sites = region.sites };
	CHECK_EQ(drain_open(&drain, &lanes, &ticks_clock, &sink, NULL, &no_err), 0);
}

static struct drain_look collector_look(void)
{
	struct drain_look look;

	drain_look(&drain, &look);
	CHECK_EQ(drain.totals.garbage, 0);
	return look;
}

struct handed {
	struct corotracer_coro *co;
	uint32_t nr;
};

static void *suspend_in_thread(void *arg)
{
	struct handed *h = arg;

	corotracer_suspend(h->co, &numbers[h->nr++]);
	return NULL;
}

/* The run of necessity_of_steady_lanes in proof/MergeRuns.v. */
static void a_coroutine_that_moves_within_a_period_stays_in_order(void)
{
	struct corotracer_coro hot, co;
	struct handed h = { &co, 1 };
	struct timespec a_while = { 0, 1000000 };

	open_coarse((struct shape)SHAPE);
	collector_open();
	CHECK_EQ(corotracer_begin(&hot, NULL), 0);
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	run_ahead(&hot);
	corotracer_suspend(&hot, &numbers[0]);
	corotracer_suspend(&hot, &numbers[1]);
	corotracer_suspend(&hot, &numbers[2]);
	corotracer_suspend(&co, &numbers[0]);
	in_thread(suspend_in_thread, &h);
	nanosleep(&a_while, NULL);
	drain.last = true;
	CHECK_EQ(collector_look().events, 7);
	CHECK_EQ(next_seq[corotracer_id(&co)], 2);
	drain_close(&drain);
}

static struct corotracer_coro crowd[4];
static uint32_t crowd_nr[4];
static pthread_mutex_t crowd_lock = PTHREAD_MUTEX_INITIALIZER;

/* All in few periods: any of the threads continues any of the coroutines: one of them often, the
 * others rarely. */
static void *continue_crowd(void *seed)
{
	uint32_t state = *(const uint32_t *)seed, i, k;

	for (i = 0; i < EVENTS; i++) {
		state = state * 1664525 + 1013904223;
		k = state >> 24 < 64 ? 1 + (state >> 16) % 3 : 0;
		pthread_mutex_lock(&crowd_lock);
		corotracer_suspend(&crowd[k], &numbers[crowd_nr[k]++]);
		pthread_mutex_unlock(&crowd_lock);
	}
	return NULL;
}

static void coroutines_of_many_threads_stay_in_order(void)
{
	static uint32_t seeds[3] = { 1, 2, 3 };
	pthread_t threads[3];
	unsigned i;

	open_coarse((struct shape)SHAPE);
	collector_open();
	for (i = 0; i < 4; i++)
		CHECK_EQ(corotracer_begin(&crowd[i], NULL), 0);
	for (i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, continue_crowd, &seeds[i]), 0);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	drain.last = true;
	while (collector_look().left)
		;
	CHECK_EQ(nr_events, 3 * EVENTS + 4);
	for (i = 0; i < 4; i++)
		CHECK_EQ(next_seq[corotracer_id(&crowd[i])], crowd_nr[i]);
	drain_close(&drain);
}

/* The last poll does not wait for the counter, and nothing is taken for corrupt. */
static void events_ahead_of_the_counter_are_not_lost_at_the_end(void)
{
	struct corotracer_coro co;
	uint64_t far;

	open_coarse((struct shape)SHAPE);
	collector_open();
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
	CHECK_EQ(collector_look().events + collector_look().left, 1);
	far = UINT64_C(20) * 1000000000;
	co.probe.life->last_ticks = ctp_ticks() + far;
	corotracer_suspend(&co, &numbers[0]);
	corotracer_suspend(&co, &numbers[1]);
	drain.last = true;
	collector_look();
	CHECK_EQ(collector_look().left, 2);
	drain.ahead = true;
	CHECK_EQ(collector_look().events, 2);
	drain_finish(&drain);
	CHECK_EQ(drain.totals.garbage, 0);
	drain_close(&drain);
}

int main(void)
{
	scratch_make();
	RUN_ALONE(times_of_a_lane_do_not_decrease);
	RUN_ALONE(nor_behind_a_coroutine_that_is_ahead);
	RUN_ALONE(nor_on_the_slow_path);
	RUN_ALONE(nor_around_a_gap);
	RUN_ALONE(a_lane_begins_without_a_time);
	RUN_ALONE(the_next_thread_of_a_lane_continues_with_its_time);
	RUN_ALONE(a_coroutine_that_moves_within_a_period_stays_in_order);
	RUN_ALONE(coroutines_of_many_threads_stay_in_order);
	RUN_ALONE(events_ahead_of_the_counter_are_not_lost_at_the_end);
	return 0;
}
