/* SPDX-License-Identifier: MIT */
/* test_window.c - events are returned in order of time, each once, or are counted as late. */
#include "export/window.h"

#include <errno.h>

#include "check.h"

struct seen {
	uint64_t nr, last_ts, last_seq;
	uint64_t sum;
};

/* seq is the order of arrival among events of the same time. */
static int see(void *arg, const struct trace_event *ev)
{
	struct seen *s = arg;

	CHECK(!s->nr || ev->ts >= s->last_ts);
	if (s->nr && ev->ts == s->last_ts)
		CHECK(ev->seq > s->last_seq);
	s->nr++;
	s->last_ts = ev->ts;
	s->last_seq = ev->seq;
	s->sum += ev->ts;
	if (ev->kind == TRACE_BIRTH) {
		CHECK_EQ(ev->name_size, 3);
		CHECK(!memcmp(ev->name, "nam", 3));
	}
	return 0;
}

static uint64_t random_state;

static uint64_t next_random(void)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return random_state >> 33;
}

/* @jitter: how far an event may be from its place. */
static struct seen run(uint64_t nr, uint64_t jitter, uint64_t *late, uint64_t *sum)
{
	struct window w = { 0 };
	struct seen s = { 0 };
	uint64_t i;

	*sum = 0;
	for (i = 0; i < nr; i++) {
		char name[] = "nam";
		struct trace_event ev;

		trace_event_init(&ev);
		ev.ts = 1000000 + i / 2 * 10 + (jitter ? next_random() % jitter * 10 : 0);
		ev.seq = i + 1;
		if (i % 7 == 0) {
			ev.kind = TRACE_BIRTH;
			ev.name = name;
			ev.name_size = 3;
		}
		*sum += ev.ts;
		CHECK_EQ(window_add(&w, &ev, see, &s), 0);
		memset(name, 'x', 3); /* the window must have its own copy */
	}
	CHECK_EQ(window_finish(&w, see, &s), 0);
	*late = w.late;
	window_release(&w);
	return s;
}

static void what_is_in_order_stays_as_it_is(void)
{
	uint64_t late, sum;
	struct seen s = run(300000, 0, &late, &sum);

	CHECK_EQ(s.nr, 300000);
	CHECK_EQ(late, 0);
	CHECK_EQ(s.sum, sum);
}

static void disorder_within_the_window_is_mended(void)
{
	static const uint64_t jitters[] = { 2, 16, 1000, 30000 };
	uint64_t late, sum;
	size_t i;

	for (i = 0; i < 4; i++) {
		struct seen s = run(300000, jitters[i], &late, &sum);

		CHECK_EQ(s.nr, 300000);
		CHECK_EQ(late, 0);
		CHECK_EQ(s.sum, sum);
	}
}

static void what_comes_too_late_is_counted(void)
{
	uint64_t late, sum;
	struct seen s = run(300000, 1000000, &late, &sum);

	CHECK(late > 0);
	CHECK_EQ(s.nr + late, 300000);
}

/* From the last to the first: only as many as the window holds are returned. */
static void backwards_is_the_worst(void)
{
	struct window w = { 0 };
	struct seen s = { 0 };
	struct trace_event ev;
	uint64_t i;

	trace_event_init(&ev);
	for (i = 0; i < 200000; i++) {
		ev.ts = 1000000 - i;
		ev.seq = i;
		CHECK_EQ(window_add(&w, &ev, see, &s), 0);
	}
	CHECK_EQ(window_finish(&w, see, &s), 0);
	CHECK_EQ(s.nr + w.late, 200000);
	CHECK(s.nr >= WINDOW_EVENTS - 1);
	window_release(&w);
}

static int refuse(void *arg, const struct trace_event *ev)
{
	(void)arg;
	(void)ev;
	return -EIO;
}

static void gives_back_what_went_wrong(void)
{
	struct window w = { 0 };
	struct trace_event ev;
	int rc = 0;
	unsigned i;

	trace_event_init(&ev);
	ev.name = "abc";
	ev.name_size = 3;
	for (i = 0; rc == 0 && i < 2 * WINDOW_EVENTS; i++) {
		ev.ts = i + 1;
		rc = window_add(&w, &ev, refuse, NULL);
	}
	CHECK_EQ(rc, -EIO);
	CHECK_EQ(i, WINDOW_EVENTS);
	CHECK_EQ(window_finish(&w, refuse, NULL), -EIO);
	window_release(&w);
	CHECK_EQ(window_finish(&w, refuse, NULL), 0);
}

static void until_gives_those_before(void)
{
	struct window w = { 0 };
	struct seen s = { 0 };
	struct trace_event ev;
	uint64_t i;

	trace_event_init(&ev);
	for (i = 0; i < 100; i++) {
		ev.ts = 100 + (i ^ 3);
		ev.seq = i + 1;
		CHECK_EQ(window_add(&w, &ev, see, &s), 0);
	}
	CHECK_EQ(window_until(&w, 150, see, &s), 0);
	CHECK_EQ(s.nr, 50);
	CHECK_EQ(s.last_ts, 149);
	ev.ts = 148;
	CHECK_EQ(window_add(&w, &ev, see, &s), 0);
	CHECK_EQ(w.late, 1);
	CHECK_EQ(window_finish(&w, see, &s), 0);
	CHECK_EQ(s.nr, 100);
	window_release(&w);
}

int main(void)
{
	RUN(what_is_in_order_stays_as_it_is);
	RUN(disorder_within_the_window_is_mended);
	RUN(what_comes_too_late_is_counted);
	RUN(backwards_is_the_worst);
	RUN(gives_back_what_went_wrong);
	RUN(until_gives_those_before);
	return 0;
}
