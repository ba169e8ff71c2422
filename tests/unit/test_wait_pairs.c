/* SPDX-License-Identifier: MIT */
/* test_wait_pairs.c - from events to waits: every way in which a wait ends, save and load. */
#include "trace/wait_pairs.h"

#include <errno.h>

#include "check.h"

#define PAIRS_MAX 64

struct heard {
	struct wait_pair pairs[PAIRS_MAX];
	size_t nr;
};

static void hear_pair(void *ctx, const struct wait_pair *pair)
{
	struct heard *h = ctx;

	CHECK(h->nr < PAIRS_MAX);
	h->pairs[h->nr++] = *pair;
}

static struct trace_event event_of(enum trace_kind kind, uint64_t id, uint64_t ts)
{
	struct trace_event ev;

	trace_event_init(&ev);
	ev.kind = (uint8_t)kind;
	ev.is_active = kind == TRACE_RESUME;
	ev.probe_id = id;
	ev.ts = ts;
	ev.tid = 100 + id;
	return ev;
}

static void pass(struct wait_pairs *p, struct heard *h, enum trace_kind kind, uint64_t id,
		 uint64_t ts)
{
	struct trace_event ev = event_of(kind, id, ts);

	CHECK_EQ(wait_pairs_event(p, &ev, hear_pair, h), 0);
}

static void a_wait_has_the_members_of_its_three_events(void)
{
	struct trace_event suspend = event_of(TRACE_SUSPEND, 7, 100);
	struct trace_event wake = event_of(TRACE_WAKE, 7, 150), again = wake;
	struct trace_event resume = event_of(TRACE_RESUME, 7, 170);
	struct heard h = { .nr = 0 };
	struct wait_pairs p;

	wait_pairs_init(&p);
	suspend.site = 3;
	suspend.reason = TRACE_REASON_MUTEX;
	suspend.flags = TRACE_HAS_RESOURCE;
	suspend.addr = 0xabc;
	wake.peer = 9;
	wake.site = 4;
	again.ts = 160;
	again.peer = 10;
	resume.tid = 55;
	CHECK_EQ(wait_pairs_event(&p, &suspend, hear_pair, &h), 0);
	CHECK_EQ(p.nr_open, 1);
	CHECK_EQ(wait_pairs_event(&p, &wake, hear_pair, &h), 0);
	CHECK_EQ(wait_pairs_event(&p, &again, hear_pair, &h), 0);
	CHECK_EQ(h.nr, 0);
	CHECK_EQ(wait_pairs_event(&p, &resume, hear_pair, &h), 0);
	CHECK_EQ(h.nr, 1);
	CHECK_EQ(p.nr_open, 0);
	CHECK_EQ(h.pairs[0].probe_id, 7);
	CHECK_EQ(h.pairs[0].ts, 100);
	CHECK_EQ(h.pairs[0].woken_ts, 150);
	CHECK_EQ(h.pairs[0].end_ts, 170);
	CHECK_EQ(h.pairs[0].waker, 9);
	CHECK_EQ(h.pairs[0].site, 3);
	CHECK_EQ(h.pairs[0].wake_site, 4);
	CHECK_EQ(h.pairs[0].reason, TRACE_REASON_MUTEX);
	CHECK(h.pairs[0].has_resource);
	CHECK_EQ(h.pairs[0].addr, 0xabc);
	CHECK_EQ(h.pairs[0].tid, 107);
	CHECK_EQ(h.pairs[0].to_tid, 55);
	CHECK_EQ(h.pairs[0].state, WAIT_RESUMED);
	CHECK_EQ(h.pairs[0].station, TRACE_NO_STATION);
	wait_pairs_release(&p);
}

static void a_wait_ends_in_each_state(void)
{
	struct heard h = { .nr = 0 };
	struct wait_pairs p;

	wait_pairs_init(&p);
	pass(&p, &h, TRACE_SUSPEND, 1, 10);
	pass(&p, &h, TRACE_SUSPEND, 2, 11);
	pass(&p, &h, TRACE_SUSPEND, 3, 12);
	pass(&p, &h, TRACE_END, 1, 20);     /* closed */
	pass(&p, &h, TRACE_DESTROY, 2, 21); /* closed */
	pass(&p, &h, TRACE_SUSPEND, 3, 22); /* lost, and another begins */
	pass(&p, &h, TRACE_SUSPEND, 4, 23);
	pass(&p, &h, TRACE_WAKE, 4, 24);
	pass(&p, &h, TRACE_CLOSE, 3, 25); /* of a resource: ends nothing */
	pass(&p, &h, TRACE_BIRTH, 3, 26);
	pass(&p, &h, TRACE_RESUME, 5, 27); /* its suspend is not in the trace */
	CHECK_EQ(h.nr, 3);
	CHECK_EQ(wait_pairs_finish(&p, hear_pair, &h), 0);
	CHECK_EQ(h.nr, 5);
	CHECK_EQ(h.pairs[0].state, WAIT_CLOSED);
	CHECK_EQ(h.pairs[0].end_ts, 20);
	CHECK_EQ(h.pairs[1].state, WAIT_CLOSED);
	CHECK_EQ(h.pairs[2].state, WAIT_LOST);
	CHECK_EQ(h.pairs[2].end_ts, 0);
	CHECK_EQ(h.pairs[3].probe_id, 3);
	CHECK_EQ(h.pairs[3].ts, 22);
	CHECK_EQ(h.pairs[3].state, WAIT_OPEN);
	CHECK_EQ(h.pairs[4].state, WAIT_WOKEN);
	CHECK_EQ(wait_pairs_finish(&p, hear_pair, &h), 0);
	CHECK_EQ(h.nr, 5);
	CHECK_STR(wait_state_name(WAIT_WOKEN), "woken");
	CHECK(!wait_state_name(NR_WAIT_STATES));
	wait_pairs_release(&p);
}

static void an_event_before_the_suspend_ends_nothing(void)
{
	struct heard h = { .nr = 0 };
	struct wait_pairs p;

	wait_pairs_init(&p);
	pass(&p, &h, TRACE_WAKE, 1, 5);
	pass(&p, &h, TRACE_SUSPEND, 1, 10);
	pass(&p, &h, TRACE_RESUME, 1, 9);
	pass(&p, &h, TRACE_WAKE, 1, 8);
	CHECK_EQ(h.nr, 0);
	pass(&p, &h, TRACE_RESUME, 1, 10);
	CHECK_EQ(h.nr, 1);
	CHECK_EQ(h.pairs[0].woken_ts, 0);
	wait_pairs_release(&p);
}

static void coroutines_with_one_id_on_two_stations_are_two(void)
{
	struct trace_event a = event_of(TRACE_SUSPEND, 1, 10), b = a;
	struct heard h = { .nr = 0 };
	struct wait_pairs p;

	wait_pairs_init(&p);
	a.station = 1;
	b.station = 2;
	CHECK_EQ(wait_pairs_event(&p, &a, hear_pair, &h), 0);
	CHECK_EQ(wait_pairs_event(&p, &b, hear_pair, &h), 0);
	CHECK_EQ(h.nr, 0);
	b.kind = TRACE_RESUME;
	b.ts = 30;
	CHECK_EQ(wait_pairs_event(&p, &b, hear_pair, &h), 0);
	CHECK_EQ(h.nr, 1);
	CHECK_EQ(h.pairs[0].station, 2);
	CHECK_EQ(p.nr_open, 1);
	wait_pairs_release(&p);
}

static void a_wait_that_a_gap_may_have_ended_is_lost(void)
{
	struct trace_gap gap = { .from_ts = 15, .to_ts = 20, .transitions = 1 };
	struct trace_gap others = { .from_ts = 25, .to_ts = 50, .others = 3 };
	struct heard h = { .nr = 0 };
	struct wait_pairs p;

	wait_pairs_init(&p);
	pass(&p, &h, TRACE_SUSPEND, 1, 10);
	pass(&p, &h, TRACE_SUSPEND, 2, 10);
	wait_pairs_gap(&p, &gap);
	wait_pairs_gap(&p, &others);
	pass(&p, &h, TRACE_SUSPEND, 3, 30);
	pass(&p, &h, TRACE_RESUME, 2, 40); /* its end is there */
	CHECK_EQ(wait_pairs_finish(&p, hear_pair, &h), 0);
	CHECK_EQ(h.nr, 3);
	CHECK_EQ(h.pairs[0].state, WAIT_RESUMED);
	CHECK_EQ(h.pairs[1].probe_id, 1);
	CHECK_EQ(h.pairs[1].state, WAIT_LOST);
	CHECK_EQ(h.pairs[2].state, WAIT_OPEN);
	wait_pairs_release(&p);
}

/* Suspends coroutines in an order that is not that of their numbers. */
static void suspend_many(struct wait_pairs *p, struct heard *h, bool downwards)
{
	struct trace_gap gap = { .from_ts = 1, .to_ts = 3, .transitions = 1 };
	uint64_t i, id;

	for (i = 0; i < 1000; i++) {
		id = 1 + (downwards ? 999 - i : i);
		pass(p, h, TRACE_SUSPEND, id, 10 + id);
		if (id % 3 == 0)
			pass(p, h, TRACE_WAKE, id, 2000);
	}
	wait_pairs_gap(p, &gap);
}

static void a_saved_state_goes_on_where_it_was(void)
{
	struct bytes a = { 0 }, b = { 0 }, again = { 0 };
	struct heard h = { .nr = 0 };
	struct wait_pairs p, q;

	wait_pairs_init(&p);
	wait_pairs_init(&q);
	suspend_many(&p, &h, false);
	suspend_many(&q, &h, true);
	CHECK_EQ(wait_pairs_save(&p, &a), 0);
	CHECK_EQ(wait_pairs_save(&q, &b), 0);
	CHECK(a.size == b.size && !memcmp(a.data, b.data, a.size));
	wait_pairs_release(&q);
	wait_pairs_init(&q);
	CHECK_EQ(wait_pairs_load(&q, a.data, a.size), 0);
	CHECK_EQ(q.nr_open, 1000);
	CHECK_EQ(q.gap_ts, 3);
	CHECK_EQ(wait_pairs_save(&q, &again), 0);
	CHECK(a.size == again.size && !memcmp(a.data, again.data, a.size));
	pass(&q, &h, TRACE_RESUME, 300, 3000);
	CHECK_EQ(h.nr, 1);
	CHECK_EQ(h.pairs[0].ts, 310);
	CHECK_EQ(h.pairs[0].woken_ts, 2000);
	wait_pairs_release(&p);
	wait_pairs_release(&q);
	bytes_release(&a);
	bytes_release(&b);
	bytes_release(&again);
}

/* Times of a clock that has run for centuries: every byte of the saved numbers counts. */
static void large_numbers_are_saved_whole(void)
{
	struct wait_pairs p, q;
	struct heard h = { .nr = 0 };
	struct bytes saved = { 0 };

	wait_pairs_init(&p);
	wait_pairs_init(&q);
	p.gap_ts = UINT64_C(0xfedcba9876543210);
	pass(&p, &h, TRACE_SUSPEND, UINT64_C(0xf123456789abcdef), UINT64_MAX - 1);
	CHECK_EQ(wait_pairs_save(&p, &saved), 0);
	CHECK_EQ(wait_pairs_load(&q, saved.data, saved.size), 0);
	CHECK(q.gap_ts == p.gap_ts);
	pass(&q, &h, TRACE_RESUME, UINT64_C(0xf123456789abcdef), UINT64_MAX);
	CHECK_EQ(h.nr, 1);
	CHECK(h.pairs[0].ts == UINT64_MAX - 1 && h.pairs[0].end_ts == UINT64_MAX);
	wait_pairs_release(&p);
	wait_pairs_release(&q);
	bytes_release(&saved);
}

static void corrupt_bytes_are_refused(void)
{
	struct heard h = { .nr = 0 };
	struct bytes saved = { 0 };
	struct wait_pairs p;
	size_t cut;

	wait_pairs_init(&p);
	pass(&p, &h, TRACE_SUSPEND, 1, 10);
	pass(&p, &h, TRACE_SUSPEND, 2, 10);
	CHECK_EQ(wait_pairs_save(&p, &saved), 0);
	for (cut = 0; cut < saved.size; cut++) {
		struct wait_pairs q;

		wait_pairs_init(&q);
		CHECK_EQ(wait_pairs_load(&q, saved.data, cut), -EINVAL);
		wait_pairs_release(&q);
	}
	wait_pairs_release(&p);
	wait_pairs_init(&p);
	/* The same coroutine twice. */
	memcpy(saved.data + 24, saved.data + 24 + sizeof(struct wait_pair),
	       sizeof(struct wait_pair));
	CHECK_EQ(wait_pairs_load(&p, saved.data, saved.size), -EINVAL);
	wait_pairs_release(&p);
	wait_pairs_init(&p);
	saved.data[0] ^= 1;
	CHECK_EQ(wait_pairs_load(&p, saved.data, saved.size), -EINVAL);
	wait_pairs_release(&p);
	bytes_release(&saved);
}

int main(void)
{
	RUN(a_wait_has_the_members_of_its_three_events);
	RUN(a_wait_ends_in_each_state);
	RUN(an_event_before_the_suspend_ends_nothing);
	RUN(coroutines_with_one_id_on_two_stations_are_two);
	RUN(a_wait_that_a_gap_may_have_ended_is_lost);
	RUN(a_saved_state_goes_on_where_it_was);
	RUN(large_numbers_are_saved_whole);
	RUN(corrupt_bytes_are_refused);
	return 0;
}
