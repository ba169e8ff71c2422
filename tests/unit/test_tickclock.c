/* SPDX-License-Identifier: MIT */
/*
 * test_tickclock.c - a record's ticks are converted to clock time, within 10 us, in order.
 *
 * A machine is simulated: its counter runs evenly, its clock is slewed, it is suspended
 * (the counter stops or runs on, the clock stands), and reading both at once is off by
 * some hundred nanoseconds.  The collector polls at its usual intervals; events happen between
 * two polls, and each is converted at the poll that follows it, as the drain does.
 */
#include "collect/tickclock.h"

#include <corotracer/probe.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "check.h"

#define NS_PER_S UINT64_C(1000000000)

/* ---- a machine ------------------------------------------------------------------------ */

struct machine {
	double ticks_per_ns;
	uint64_t now;     /* true time, ns */
	double clock;     /* CLOCK_MONOTONIC, ns */
	double counter;   /* ticks */
	double ppm;       /* how much faster the clock is at present */
	double jitter_ns; /* the error of reading both at once */
	uint64_t random;
};

static uint64_t next_random(struct machine *m)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return m->random;
}

static double random_part(struct machine *m)
{
	return (double)(next_random(m) % 100001) / 100000;
}

static struct machine machine_start(double ticks_per_ns, double jitter_ns)
{
	return (struct machine){ .ticks_per_ns = ticks_per_ns,
				 .clock = 7e9,
				 .counter = 4e15,
				 .jitter_ns = jitter_ns,
				 .random = 88172645463325252u };
}

static void machine_run(struct machine *m, uint64_t ns)
{
	m->now += ns;
	m->clock += (double)ns * (1 + m->ppm / 1e6);
	m->counter += (double)ns * m->ticks_per_ns;
}

static void machine_mark(struct machine *m, struct tickclock *tc)
{
	double off = (random_part(m) - 0.5) * m->jitter_ns;

	tickclock_add(tc, (uint64_t)m->counter, (uint64_t)(m->clock + off));
}

/* ---- events between polls ----------------------------------------------------------------- */

enum { A_LOOK = 20 };

struct watch {
	struct tickclock tc;
	uint64_t last;
	double worst;
	uint64_t backwards, nr;
	struct {
		uint64_t ticks;
		double clock;
	} seen[A_LOOK];
};

static void watch_convert(struct watch *w, uint32_t i)
{
	uint64_t ns = tickclock_ns(&w->tc, w->seen[i].ticks);
	double off = (double)ns - w->seen[i].clock;

	if (off < 0)
		off = -off;
	if (off > w->worst)
		w->worst = off;
	w->backwards += ns < w->last;
	w->last = ns;
	w->nr++;
}

/* @ns pass, with events all along; then the collector polls. */
static void watch_look(struct watch *w, struct machine *m, uint64_t ns)
{
	uint32_t i;

	for (i = 0; i < A_LOOK; i++) {
		/* The first just after the last poll, the last just before this one. */
		machine_run(m, i ? ns / A_LOOK : 10);
		w->seen[i].ticks = (uint64_t)m->counter;
		w->seen[i].clock = m->clock;
	}
	machine_run(m, 10);
	machine_mark(m, &w->tc);
	for (i = 0; i < A_LOOK; i++)
		watch_convert(w, i);
}

static struct watch *watch_start(struct machine *m)
{
	struct watch *w = calloc(1, sizeof(*w));

	CHECK(w != NULL);
	machine_mark(m, &w->tc);
	return w;
}

static void watch_end(struct watch *w, double most_ns)
{
	printf("# %llu events, at most %.0f ns off\n", (unsigned long long)w->nr, w->worst);
	CHECK_EQ(w->backwards, 0);
	CHECK(w->worst <= most_ns);
	free(w);
}

/* ---- tests -------------------------------------------------------------------------------- */

static void an_hour_with_a_clock_slewed_by_500_ppm_stays_within_10_us(void)
{
	struct machine m = machine_start(2.1, 100);
	struct watch *w = watch_start(&m);
	uint64_t k;

	for (k = 0; m.now < 3600 * NS_PER_S; k++) {
		/* Alternately faster and slower, without transition. */
		if (k % 1000 == 0)
			m.ppm = (random_part(&m) - 0.5) * 1000;
		watch_look(w, &m, 1 + next_random(&m) % (20 * NS_PER_S / 1000));
	}
	watch_end(w, 10000);
}

/* Polls every 10 to 100 us: much closer than the marks that are kept. */
static void in_a_hurry_time_never_goes_back(void)
{
	struct machine m = machine_start(3.0, 300);
	struct watch *w = watch_start(&m);

	while (m.now < 20 * NS_PER_S)
		watch_look(w, &m, 10000 + next_random(&m) % 90000);
	watch_end(w, 10000);
}

static void a_slow_counter_is_as_good(void)
{
	struct machine m = machine_start(0.025, 300); /* 25 MHz */
	struct watch *w = watch_start(&m);

	while (m.now < 20 * NS_PER_S)
		watch_look(w, &m, 10000 + next_random(&m) % 2000000);
	watch_end(w, 10000);
}

static void jitter_of_a_disturbed_reading_stays_what_it_was(void)
{
	struct machine m = machine_start(2.1, 4000);
	struct watch *w = watch_start(&m);

	while (m.now < 60 * NS_PER_S)
		watch_look(w, &m, 50000 + next_random(&m) % 3000000);
	watch_end(w, 10000);
}

/* The clock stands while the machine is suspended; the counter may run on. */
static void a_suspended_machine_is_followed_at_the_next_look(void)
{
	struct machine m = machine_start(2.1, 100);
	struct watch *w = watch_start(&m);
	int i;

	for (i = 0; i < 1000; i++)
		watch_look(w, &m, 1000000);
	m.counter += 600.0 * 2.1e9;
	watch_look(w, &m, 1000000);
	w->worst = 0; /* the poll after the suspension cannot know when it was */
	for (i = 0; i < 1000; i++)
		watch_look(w, &m, 1000000);
	watch_end(w, 10000);
}

static void what_was_published_late_has_its_own_time(void)
{
	struct machine m = machine_start(2.1, 0);
	struct watch *w = watch_start(&m);
	struct {
		uint64_t ticks;
		double clock;
	} late[64];
	uint32_t i, nr = 0;

	m.ppm = 400;
	for (i = 0; i < 3200; i++) {
		watch_look(w, &m, 1000000);
		if (i % 50 == 0) {
			late[nr].ticks = (uint64_t)m.counter;
			late[nr++].clock = m.clock;
		}
	}
	for (i = 0; i < nr; i++) {
		double off = (double)tickclock_ns(&w->tc, late[i].ticks) - late[i].clock;

		CHECK(off > -10000 && off < 10000);
	}
	watch_end(w, 10000);
}

/* Older than every mark: converted at the rate of the oldest interval. */
static void what_is_older_than_all_marks_is_reckoned_back(void)
{
	struct tickclock tc;
	uint64_t i;

	memset(&tc, 0, sizeof(tc));
	for (i = 0; i < 3 * TICKCLOCK_MARKS; i++)
		tickclock_add(&tc, 4000000000000 + i * 4000000, 1000000000000 + i * 2000000);
	CHECK_EQ(tickclock_ns(&tc, 4000000000000), 1000000000000);
	CHECK_EQ(tickclock_ns(&tc, 4000000000000 - 2000), 1000000000000 - 1000);
}

static void a_counter_that_stands_or_goes_back_changes_nothing(void)
{
	struct tickclock tc;

	memset(&tc, 0, sizeof(tc));
	tickclock_add(&tc, 1000000000, 5000000000);
	tickclock_add(&tc, 1010000000, 5010000000);
	tickclock_add(&tc, 1010000000, 5020000000);
	tickclock_add(&tc, 900000000, 5030000000);
	CHECK_EQ(tickclock_last(&tc)->ticks, 1010000000);
	CHECK_EQ(tickclock_ns(&tc, 1005000000), 5005000000);
	tickclock_add(&tc, 1020000000, 5040000000);
	CHECK_EQ(tickclock_ns(&tc, 1015000000), 5025000000);
}

/* The real one: a time between two clock readings is converted to a value between them. */
static void the_machines_own_clock_is_met(void)
{
	struct tickclock *tc = calloc(1, sizeof(*tc));
	uint64_t before, after, ticks, ns;
	struct timespec ts;
	int i, tight = 0;

	CHECK(tc != NULL);
	tickclock_open(tc);
	if (!tc->usable) {
		free(tc);
		printf("# no counter worth reading here\n");
		return;
	}
	for (i = 0; i < 100000; i++) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		before = (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
		ticks = ctp_ticks();
		clock_gettime(CLOCK_MONOTONIC, &ts);
		after = (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
		while (!tickclock_mark(tc) || tickclock_last(tc)->ticks < ticks)
			;
		ns = tickclock_ns(tc, ticks);
		CHECK(ns + 10000 >= before && ns <= after + 10000);
		tight += after - before < 10000;
	}
	/* Rounds with an interruption show nothing, so enough must be tight. */
	CHECK(tight > 100);
	free(tc);
}

/* The first reading can be much shorter than any later one. */
static void a_first_reading_that_was_too_good_does_not_stop_the_clock(void)
{
	struct tickclock tc;
	uint64_t first;
	int i;

	tickclock_open(&tc);
	if (!tc.usable)
		return;
	first = tickclock_last(&tc)->ticks;
	tc.pair_ticks = 0;
	for (i = 0; i < 32 && tickclock_last(&tc)->ticks == first; i++)
		tickclock_mark(&tc);
	CHECK(tickclock_last(&tc)->ticks > first);
}

int main(void)
{
	RUN(an_hour_with_a_clock_slewed_by_500_ppm_stays_within_10_us);
	RUN(in_a_hurry_time_never_goes_back);
	RUN(a_slow_counter_is_as_good);
	RUN(jitter_of_a_disturbed_reading_stays_what_it_was);
	RUN(a_suspended_machine_is_followed_at_the_next_look);
	RUN(what_was_published_late_has_its_own_time);
	RUN(what_is_older_than_all_marks_is_reckoned_back);
	RUN(a_counter_that_stands_or_goes_back_changes_nothing);
	RUN(the_machines_own_clock_is_met);
	RUN(a_first_reading_that_was_too_good_does_not_stop_the_clock);
	return 0;
}
