/* SPDX-License-Identifier: MIT */
/* test_clock_watch.c - suspensions, steps of the wall clock and odd counters, with given readings.
 */
#include "base/monotonic.h"
#include "check.h"
#include "collect/clock_watch.h"

#define TICKS_PER_SEC UINT64_C(3000000000)

static struct clock_watch watch;
static struct clock_reading at;

static void begin_watch(void)
{
	watch = (struct clock_watch){ .has_last = false };
	at = (struct clock_reading){ 1000 * NS_PER_SEC, 5000 * NS_PER_SEC,
				     UINT64_C(1700000000) * NS_PER_SEC, 77 * TICKS_PER_SEC };
	clock_watch_add(&watch, &at);
}

/* All clocks go on for a second. */
static void pass_second(void)
{
	at.monotonic_ns += NS_PER_SEC;
	at.boot_ns += NS_PER_SEC;
	at.wall_ns += NS_PER_SEC;
	at.ticks += TICKS_PER_SEC;
	clock_watch_add(&watch, &at);
}

static void clocks_that_agree_are_not_reported(void)
{
	uint64_t i;

	begin_watch();
	for (i = 0; i < 1000; i++) {
		at.wall_ns += i % 2 * 500000; /* slewed */
		at.boot_ns += i % 3 * 1000;   /* read a little later */
		pass_second();
	}
	CHECK_EQ(watch.suspended_ns, 0);
	CHECK_EQ(watch.wall_step_ns, 0);
	CHECK_EQ(watch.counter_changes, 0);
}

static void a_suspension_is_measured(void)
{
	begin_watch();
	pass_second();
	at.boot_ns += 3600 * NS_PER_SEC; /* monotonic time and counter stop */
	at.wall_ns += 3600 * NS_PER_SEC;
	pass_second();
	at.boot_ns += 10 * NS_PER_SEC; /* the counter goes on */
	at.wall_ns += 10 * NS_PER_SEC;
	at.ticks += 10 * TICKS_PER_SEC;
	pass_second();
	pass_second();
	CHECK_EQ(watch.suspended_ns, 3610 * NS_PER_SEC);
	CHECK_EQ(watch.wall_step_ns, 0);
	CHECK_EQ(watch.counter_changes, 0);
}

static void steps_of_the_wall_clock_are_summed(void)
{
	begin_watch();
	pass_second();
	at.wall_ns += 7200 * NS_PER_SEC;
	pass_second();
	at.wall_ns -= 7300 * NS_PER_SEC;
	pass_second();
	CHECK_EQ(watch.wall_step_ns, 14500 * NS_PER_SEC);
	CHECK_EQ(watch.suspended_ns, 0);
}

static void a_counter_with_another_rate_is_counted(void)
{
	int i;

	begin_watch();
	for (i = 0; i < 3; i++)
		pass_second();
	for (i = 0; i < 3; i++) {
		at.ticks -= TICKS_PER_SEC / 2; /* half the rate from here on */
		pass_second();
	}
	CHECK_EQ(watch.counter_changes, 1);
	pass_second();
	CHECK_EQ(watch.counter_changes, 2);
}

static void a_counter_that_goes_back_or_stops_is_counted(void)
{
	begin_watch();
	pass_second();
	at.ticks = 5;
	at.ticks -= TICKS_PER_SEC; /* pass_second() adds it */
	pass_second();
	CHECK_EQ(watch.counter_changes, 1);
	pass_second();
	at.ticks -= TICKS_PER_SEC;
	pass_second();
	CHECK_EQ(watch.counter_changes, 2);
}

static void without_a_counter_only_clocks_are_compared(void)
{
	int i;

	begin_watch();
	watch = (struct clock_watch){ .has_last = false };
	for (i = 0; i < 5; i++) {
		struct clock_reading none = at;

		none.ticks = 0;
		none.monotonic_ns += (uint64_t)i * NS_PER_SEC;
		none.boot_ns += (uint64_t)i * 2 * NS_PER_SEC;
		none.wall_ns += (uint64_t)i * 2 * NS_PER_SEC;
		clock_watch_add(&watch, &none);
	}
	CHECK_EQ(watch.counter_changes, 0);
	CHECK_EQ(watch.suspended_ns, 4 * NS_PER_SEC);
}

/* The clocks of this machine, read twice; the first reading is dated back by ten seconds. */
static void look_twice(bool has_counter)
{
	uint64_t now = clock_now_ns();

	watch = (struct clock_watch){ .has_last = false };
	clock_watch_look(&watch, now, has_counter, false);
	CHECK(watch.has_last);
	watch.last.monotonic_ns -= 10 * NS_PER_SEC;
	watch.last.boot_ns -= 10 * NS_PER_SEC;
	watch.last.wall_ns -= 10 * NS_PER_SEC;
	at = watch.last;
	clock_watch_look(&watch, at.monotonic_ns + 1, has_counter, false); /* too soon */
	CHECK(!memcmp(&watch.last, &at, sizeof(at)));
	clock_watch_look(&watch, clock_now_ns(), has_counter, false);
	CHECK(watch.last.monotonic_ns > at.monotonic_ns);
	CHECK_EQ(watch.suspended_ns, 0);
}

static void a_machine_without_a_counter_has_no_odd_one(void)
{
	look_twice(false);
	CHECK_EQ(watch.last.ticks, 0);
	CHECK_EQ(watch.counter_changes, 0);
	look_twice(true);
	CHECK(watch.last.ticks > at.ticks);
}

int main(void)
{
	RUN(clocks_that_agree_are_not_reported);
	RUN(a_suspension_is_measured);
	RUN(steps_of_the_wall_clock_are_summed);
	RUN(a_counter_with_another_rate_is_counted);
	RUN(a_counter_that_goes_back_or_stops_is_counted);
	RUN(without_a_counter_only_clocks_are_compared);
	RUN(a_machine_without_a_counter_has_no_odd_one);
	return 0;
}
