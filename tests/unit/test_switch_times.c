/* SPDX-License-Identifier: MIT */
/* test_switch_times.c - processor time of a thread, by its context switches: exact, or not
 * measured. */
#include "analyze/switch_times.h"
#include "check.h"

#define US UINT64_C(1000)
#define MS (1000 * US)

static void record_from(struct switch_times *s, uint64_t ts)
{
	CHECK_EQ(switch_times_add(s, &(struct trace_switch){ .from_ts = ts,
							     .to_ts = ts,
							     .state = TRACE_SWITCH_RECORDED }),
		 0);
}

static void add_wait(struct switch_times *s, uint64_t from_ts, uint64_t to_ts, const char *state)
{
	struct trace_switch item = {
		.pid = 1, .tid = 7, .from_ts = from_ts, .to_ts = to_ts, .state = state
	};

	CHECK_EQ(switch_times_add(s, &item), 0);
}

static void a_preempted_slice_did_not_run(void)
{
	struct switch_times s = { 0 };
	struct cpu_use use;

	record_from(&s, 1 * MS);
	add_wait(&s, 2 * MS + 2 * US, 2 * MS + 268 * US, TRACE_SWITCH_PREEMPTED);
	use = switch_times_thread(&s, 7, 2 * MS, 2 * MS + 269 * US);
	CHECK_EQ(use.measured_ns, 269 * US);
	CHECK_EQ(use.queued_ns, 266 * US);
	CHECK_EQ(use.cpu_ns, 3 * US);
	CHECK_EQ(use.blocked_ns, 0);
	switch_times_release(&s);
}

/* A server waits between its slices, every 50 us: none of that is time of a slice. */
static void waits_beside_a_slice_do_not_count(void)
{
	struct switch_times s = { 0 };
	unsigned i;

	record_from(&s, 0);
	for (i = 0; i < 100; i++)
		add_wait(&s, i * 50 * US, i * 50 * US + 40 * US, TRACE_SWITCH_BLOCKED);
	for (i = 0; i < 100; i++) {
		struct cpu_use use = switch_times_thread(&s, 7, i * 50 * US + 41 * US,
							 i * 50 * US + 49 * US);

		CHECK_EQ(use.cpu_ns, 8 * US);
		CHECK_EQ(use.measured_ns, 8 * US);
	}
	switch_times_release(&s);
}

static void nothing_is_measured_where_nothing_was_recorded(void)
{
	struct switch_times s = { 0 };

	CHECK_EQ(switch_times_thread(&s, 7, 1, 2).measured_ns, 0);
	record_from(&s, 10 * MS);
	CHECK_EQ(switch_times_thread(&s, 7, 9 * MS, 11 * MS).measured_ns, 0);
	CHECK_EQ(switch_times_thread(&s, 7, 11 * MS, 12 * MS).measured_ns, MS);
	CHECK_EQ(switch_times_add(&s, &(struct trace_switch){ .from_ts = 20 * MS,
							      .to_ts = 30 * MS,
							      .lost = 3,
							      .state = TRACE_SWITCH_LOST }),
		 0);
	CHECK_EQ(switch_times_thread(&s, 7, 15 * MS, 21 * MS).measured_ns, 0);
	CHECK_EQ(switch_times_thread(&s, 7, 22 * MS, 23 * MS).measured_ns, 0);
	CHECK_EQ(switch_times_thread(&s, 7, 31 * MS, 32 * MS).measured_ns, MS);
	switch_times_release(&s);
}

/* With more waits than are kept, long times stay right, and short ones are not measured. */
static void joined_waits_are_not_taken_for_exact(void)
{
	struct switch_times s = { 0 };
	uint64_t i, nr = SWITCH_SPANS + SWITCH_SPANS / 2, ns;
	struct cpu_use use;

	record_from(&s, 0);
	for (i = 0; i < nr; i++)
		add_wait(&s, i * 50 * US, i * 50 * US + 10 * US, TRACE_SWITCH_BLOCKED);
	CHECK(s.nr <= SWITCH_SPANS);
	CHECK(s.span_ns > 0);
	ns = nr / 2 * 50 * US;
	use = switch_times_thread(&s, 7, 25 * US, 25 * US + ns);
	CHECK_EQ(use.measured_ns, ns);
	CHECK(use.blocked_ns > ns / 5 - MS && use.blocked_ns < ns / 5 + MS);
	CHECK_EQ(switch_times_thread(&s, 7, 12 * US, 45 * US).measured_ns, 0);
	switch_times_release(&s);
}

static uint64_t late_of(const struct switch_times *s, uint64_t from_ms, uint64_t to_ms,
			uint64_t queued_ms)
{
	struct cpu_interval counted = { .span = { from_ms * MS, to_ms * MS },
					.queued_ns = queued_ms * MS };

	return switch_times_late(s, 7, &counted, 30 * MS, 50 * MS);
}

/* A sleep from 30 to 50 ms, after the thread was preempted from 10 to 25 ms. */
static void a_sleep_has_only_the_waits_that_end_with_it(void)
{
	struct switch_times s = { 0 };

	record_from(&s, 0);
	add_wait(&s, 10 * MS, 25 * MS, TRACE_SWITCH_PREEMPTED);
	add_wait(&s, 30 * MS, 50 * MS, TRACE_SWITCH_BLOCKED);
	add_wait(&s, 55 * MS, 60 * MS, TRACE_SWITCH_PREEMPTED);
	CHECK_EQ(late_of(&s, 5, 52, 15), 0);  /* all of it was the preemption */
	CHECK_EQ(late_of(&s, 20, 52, 15), 0); /* which began before the sample */
	CHECK_EQ(late_of(&s, 26, 52, 4), 4 * MS);
	CHECK_EQ(late_of(&s, 5, 52, 18), 3 * MS);
	CHECK_EQ(late_of(&s, 26, 52, 90), 20 * MS);
	CHECK_EQ(late_of(&s, 26, 40, 4), 0); /* the sleep ends later */
	CHECK_EQ(late_of(&s, 26, 62, 5), 0);
	switch_times_release(&s);
}

/* What ends in one interval is shared by the waits in it. */
static void a_sleep_has_its_share_of_late_processors(void)
{
	struct switch_times s = { 0 };

	record_from(&s, 0);
	add_wait(&s, 20 * MS, 40 * MS, TRACE_SWITCH_BLOCKED);
	add_wait(&s, 60 * MS, 80 * MS, TRACE_SWITCH_BLOCKED);
	CHECK_EQ(late_of(&s, 15, 90, 8), 2 * MS); /* half of the first one was asked for */
	switch_times_release(&s);
}

static void count_wait(void *ctx, const struct time_span *span, bool is_blocked)
{
	uint64_t *sums = ctx;

	sums[is_blocked] += span->to_ts - span->from_ts;
}

static void each_wait_is_given_once(void)
{
	struct switch_times s = { 0 };
	uint64_t sums[2] = { 0 };

	record_from(&s, 0);
	add_wait(&s, 1 * MS, 3 * MS, TRACE_SWITCH_BLOCKED);
	add_wait(&s, 3 * MS, 4 * MS, TRACE_SWITCH_READY);
	add_wait(&s, 5 * MS, 9 * MS, TRACE_SWITCH_PREEMPTED);
	switch_times_each(&s, 7, 2 * MS, 6 * MS, count_wait, sums);
	CHECK_EQ(sums[true], MS);
	CHECK_EQ(sums[false], 2 * MS);
	switch_times_release(&s);
}

int main(void)
{
	a_preempted_slice_did_not_run();
	waits_beside_a_slice_do_not_count();
	nothing_is_measured_where_nothing_was_recorded();
	joined_waits_are_not_taken_for_exact();
	a_sleep_has_only_the_waits_that_end_with_it();
	a_sleep_has_its_share_of_late_processors();
	each_wait_is_given_once();
	return 0;
}
