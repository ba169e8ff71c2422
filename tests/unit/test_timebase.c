/* SPDX-License-Identifier: MIT */
/* test_timebase.c - when the clock is published in the region, and for how long it is valid. */
#include "collect/timebase.h"

#include <unistd.h>

#include "base/monotonic.h"
#include "check.h"

static struct ctp_ext_header ext;
static struct timebase tb;
static uint64_t now;

/* A reading may be refused, if the process was preempted: the next one counts. */
static void publish_later(void)
{
	uint64_t before = ext.clock_seq;
	int tries = 10000;

	while (ext.clock_seq == before && tries--)
		timebase_publish(&tb, now += 10 * NS_PER_MS);
	CHECK_EQ(ext.clock_seq, before + 2);
	CHECK_EQ(tb.published_ns, now);
}

static void open_clock(void)
{
	memset(&ext, 0, sizeof(ext));
	timebase_open(&tb, &ext);
	now = clock_now_ns() + NS_PER_SEC;
	if (!ext.clock_seq)
		publish_later();
}

/* The first rate serves to compare clocks only. */
static void a_rate_is_valid_when_a_second_one_agrees(void)
{
	open_clock();
	CHECK(tb.ext == &ext);
	CHECK(ext.clock_mult > 0);
	CHECK_EQ(ext.clock_mult, tb.mult);
	CHECK_EQ(ext.clock_window, 0);
	CHECK(ext.clock_ns > 0 && ext.clock_ns <= clock_now_ns());
	CHECK(ext.clock_ticks > tb.base.ticks);
	while (!ext.clock_window) { /* one that is too different begins again */
		usleep(1000);
		publish_later();
	}
	/* Twice the time over which the rate was measured, at most. */
	CHECK(ext.clock_window <= 2 * (ext.clock_ticks - tb.base.ticks) + 1000);
	CHECK_EQ(ext.clock_seq % 2, 0);
}

static void the_clock_is_published_every_10_ms(void)
{
	uint64_t seq;

	open_clock();
	publish_later();
	seq = ext.clock_seq;
	timebase_publish(&tb, now + 10 * NS_PER_MS - 1);
	CHECK_EQ(ext.clock_seq, seq);
	publish_later();
}

static void another_rate_begins_again(void)
{
	open_clock();
	tb.mult *= 2; /* as if the counter had changed */
	publish_later();
	CHECK_EQ(tb.mult, 0);
	CHECK_EQ(ext.clock_mult, 0);
	CHECK_EQ(ext.clock_window, 0);
	CHECK_EQ(tb.base.ticks, ext.clock_ticks);
	CHECK_EQ(tb.mid.ns, ext.clock_ns);
	while (!tb.mult) { /* the time between two readings has to be long enough for a rate */
		usleep(1000);
		publish_later();
	}
	CHECK_EQ(ext.clock_window, 0); /* the first rate again */
}

/* The interval over which the rate is measured is one to two seconds long. */
static void the_base_follows(void)
{
	struct timebase_pair base, mid;

	open_clock();
	base = tb.base;
	publish_later();
	CHECK_EQ(tb.base.ns, base.ns); /* it is young */
	tb.mid.ns -= NS_PER_SEC;
	mid = tb.mid;
	tb.mult = 0; /* the rate counts from now on */
	publish_later();
	CHECK_EQ(tb.base.ns, mid.ns);
	CHECK_EQ(tb.mid.ns, ext.clock_ns);
}

static void a_store_that_was_cut_is_repaired(void)
{
	open_clock();
	ext.clock_seq |= 1; /* it was being written */
	while (ext.clock_seq % 2)
		timebase_publish(&tb, now += 10 * NS_PER_MS);
	CHECK(ext.clock_seq > 0);
}

static void without_a_counter_nothing_is_published(void)
{
	struct timebase none = { 0 };

	timebase_publish(&none, UINT64_MAX);
	CHECK_EQ(none.published_ns, 0);
}

int main(void)
{
	RUN(without_a_counter_nothing_is_published);
	if (!timebase_usable())
		SKIP("the machine has no constant counter");
	RUN(a_rate_is_valid_when_a_second_one_agrees);
	RUN(the_clock_is_published_every_10_ms);
	RUN(another_rate_begins_again);
	RUN(the_base_follows);
	RUN(a_store_that_was_cut_is_repaired);
	return 0;
}
