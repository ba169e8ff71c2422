/* SPDX-License-Identifier: MIT */
/* test_pace.c - the poll interval: long enough to cost little, short enough to lose little. */
#include "base/monotonic.h"
#include "check.h"
#include "collect/poll_interval.h"

static const struct harvest_scan nothing;

/* Scan from @now on, every scan finding @found; returns the number of scans in @span_ns. */
static unsigned scans_in(struct pace *p, const struct harvest_scan *found, uint64_t now,
			 uint64_t span_ns)
{
	uint64_t end = now + span_ns;
	unsigned nr = 0;

	while (now < end && nr < 1000000) {
		uint64_t wait = pace_next(p, found, now, 1000);

		CHECK(wait != PACE_SLEEP);
		now += wait + 1000;
		nr++;
	}
	return nr;
}

static void hurries_while_a_station_is_nearly_full(void)
{
	struct harvest_scan deep = { .events = 7, .deepest = 7 };
	struct pace p;

	pace_wake(&p, 0);
	CHECK_EQ(pace_next(&p, &deep, NS_PER_MS, 1000), 0);
}

static void hurries_after_a_loss(void)
{
	struct harvest_scan lossy = { .events = 1, .lost = 1, .deepest = 2 };
	struct pace p;

	pace_wake(&p, 0);
	CHECK_EQ(pace_next(&p, &lossy, NS_PER_MS, 1000), 0);
}

/* Between two full polls a hot station may seem empty; waiting then would lose the rest. */
static void stays_in_a_hurry_for_a_while_and_no_longer(void)
{
	struct harvest_scan lossy = { .events = 1, .lost = 1, .deepest = 2 };
	struct harvest_scan little = { .events = 1, .deepest = 1 };
	struct pace p;

	pace_wake(&p, 0);
	pace_next(&p, &lossy, NS_PER_MS, 1000);
	CHECK_EQ(pace_next(&p, &little, NS_PER_MS + 1000, 1000), 0);
	CHECK(pace_next(&p, &little, 10 * NS_PER_MS, 1000) >= 20 * NS_PER_US);
}

static void rests_in_spite_of_a_hurry(void)
{
	struct harvest_scan lossy = { .events = 1, .lost = 1, .deepest = 8 };
	uint64_t now = 0, waited = 0;
	struct pace p;

	pace_wake(&p, now);
	while (now < 10 * NS_PER_MS) {
		uint64_t wait = pace_next(&p, &lossy, now, 1000);

		waited += wait;
		now += wait + 1000;
	}
	CHECK(waited > NS_PER_MS && waited < 5 * NS_PER_MS);
}

static void looks_about_every_millisecond_when_little_happens(void)
{
	struct harvest_scan little = { .events = 3, .deepest = 1 };
	struct pace p;
	unsigned nr;

	pace_wake(&p, 0);
	nr = scans_in(&p, &little, 0, NS_PER_SEC);
	CHECK(nr > 900 && nr < 1100);
}

static void looks_more_often_as_stations_fill(void)
{
	struct harvest_scan half = { .events = 4, .deepest = 4 };
	struct pace p;

	pace_wake(&p, 0);
	CHECK(scans_in(&p, &half, 0, NS_PER_SEC) > 10000);
}

static void sleeps_only_after_a_good_while_without_events(void)
{
	struct harvest_scan one = { .events = 1, .deepest = 1 };
	uint64_t now = 0, wait = 0;
	struct pace p;

	pace_wake(&p, now);
	pace_next(&p, &one, now, 1000);
	while ((wait = pace_next(&p, &nothing, now, 1000)) != PACE_SLEEP)
		now += wait + 1000;
	CHECK(now >= 400 * NS_PER_MS && now <= 600 * NS_PER_MS);
}

/* An event every ten milliseconds must not find the collector asleep. */
static void stays_awake_at_a_hundred_events_a_second(void)
{
	struct harvest_scan one = { .events = 1, .deepest = 1 };
	uint64_t now = 0, next_event = 0;
	struct pace p;

	pace_wake(&p, now);
	while (now < 5 * NS_PER_SEC) {
		bool has = now >= next_event;
		uint64_t wait = pace_next(&p, has ? &one : &nothing, now, 1000);

		CHECK(wait != PACE_SLEEP);
		if (has)
			next_event += 10 * NS_PER_MS;
		now += wait + 1000;
	}
}

static void does_not_spend_its_time_looking_at_many_idle_stations(void)
{
	struct harvest_scan little = { .events = 3, .deepest = 1 };
	struct pace p;

	pace_wake(&p, 0);
	CHECK(pace_next(&p, &little, NS_PER_SEC, 20 * NS_PER_MS) >= 200 * NS_PER_MS);
	CHECK(pace_patrol(20 * NS_PER_MS) >= 10 * NS_PER_SEC);
	CHECK(pace_patrol(1000) >= NS_PER_SEC);
}

int main(void)
{
	RUN(hurries_while_a_station_is_nearly_full);
	RUN(hurries_after_a_loss);
	RUN(stays_in_a_hurry_for_a_while_and_no_longer);
	RUN(rests_in_spite_of_a_hurry);
	RUN(looks_about_every_millisecond_when_little_happens);
	RUN(looks_more_often_as_stations_fill);
	RUN(sleeps_only_after_a_good_while_without_events);
	RUN(stays_awake_at_a_hundred_events_a_second);
	RUN(does_not_spend_its_time_looking_at_many_idle_stations);
	return 0;
}
