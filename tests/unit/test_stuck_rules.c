/* SPDX-License-Identifier: MIT */
/*
 * test_stuck_rules.c - why a coroutine waits at the end of a trace: rings, abandoned locks, closed
 * descriptors and lost wakeups, each with a trace that shows it and one that does not.
 */
#include "analysis_bed.h"

#define MUTEX TRACE_REASON_MUTEX

/* Coroutines 1 to @nr exist and run. */
static struct analysis *with_running(unsigned nr)
{
	struct analysis *a = bed_begin(NULL);
	unsigned i;

	for (i = 1; i <= nr; i++) {
		BED_ADD(a, BIRTH, 0.01 * i, .probe_id = i, .site = i);
		BED_ADD(a, RESUME, 1 + 0.01 * i, .probe_id = i, .tid = 10 + i);
	}
	return a;
}

static void take(struct analysis *a, double ms, uint64_t id, uint64_t resource)
{
	BED_ADD(a, ACQUIRE, ms, .probe_id = id, .tid = 10 + id, .resource = resource, .site = 50);
}

static void give(struct analysis *a, double ms, uint64_t id, uint64_t resource)
{
	BED_ADD(a, RELEASE, ms, .probe_id = id, .tid = 10 + id, .resource = resource);
}

static void sleep_on(struct analysis *a, double ms, uint64_t id, unsigned reason, uint64_t resource)
{
	BED_ADD(a, SUSPEND, ms, .probe_id = id, .tid = 10 + id, .reason = (uint8_t)reason,
		.resource = resource, .site = 60 + (uint32_t)id);
}

/* Coroutine @id runs every 20 ms: the program goes on. */
static void go_on(struct analysis *a, uint64_t id, double from_ms, double to_ms)
{
	for (; from_ms < to_ms; from_ms += 20) {
		sleep_on(a, from_ms, id, TRACE_REASON_TIMER, 0);
		BED_ADD(a, RESUME, from_ms + 1, .probe_id = id, .tid = 10 + id);
	}
}

/* ---- rings --------------------------------------------------------------------------------- */

static void locks_taken_in_two_orders_are_a_proven_deadlock(void)
{
	struct analysis *a = with_running(2);

	take(a, 2, 1, 0x10000);
	take(a, 3, 2, 0x20000);
	sleep_on(a, 4, 1, MUTEX, 0x20000);
	sleep_on(a, 5, 2, MUTEX, 0x10000);
	bed_end(a, 6, 0);
	CHECK(strstr(bed_group(a, "deadlock")->finding.evidence[0].text,
		     "coroutine 1 waits for mutex 0x20000, which coroutine 2 took"));
	CHECK(strstr(bed_group(a, "deadlock")->finding.evidence[1].text,
		     "coroutine 2 waits for mutex 0x10000, which coroutine 1 took"));
	CHECK_EQ(bed_group(a, "deadlock")->finding.evidence[0].site, 50);
	bed_found(a, "deadlock", CONFIDENCE_PROVEN, "2 wait for each other in a ring: 1 -> 2 -> 1");
}

static void a_ring_with_a_member_that_goes_on_is_none(void)
{
	struct analysis *a = with_running(2);

	take(a, 2, 1, 0x10000);
	take(a, 3, 2, 0x20000);
	sleep_on(a, 4, 1, MUTEX, 0x20000);
	bed_end(a, 60, 0);
	bed_found_none(a, "deadlock");

	/* Woken: it is no longer in the ring. */
	a = with_running(2);
	take(a, 2, 1, 0x10000);
	take(a, 3, 2, 0x20000);
	sleep_on(a, 4, 1, MUTEX, 0x20000);
	sleep_on(a, 5, 2, MUTEX, 0x10000);
	BED_ADD(a, WAKE, 6, .probe_id = 1, .tid = 9);
	bed_end(a, 7, 0);
	bed_found_none(a, "deadlock");
}

static void a_lock_that_was_released_is_not_in_a_ring(void)
{
	struct analysis *a = with_running(2);

	take(a, 2, 1, 0x10000);
	take(a, 3, 2, 0x20000);
	sleep_on(a, 4, 1, MUTEX, 0x20000);
	give(a, 5, 2, 0x20000);
	sleep_on(a, 6, 2, MUTEX, 0x10000);
	bed_end(a, 7, 0);
	bed_found_none(a, "deadlock");
}

static void a_lock_that_is_taken_twice_waits_for_itself(void)
{
	struct analysis *a = with_running(1);

	take(a, 2, 1, 0x10000);
	sleep_on(a, 3, 1, MUTEX, 0x10000);
	bed_end(a, 4, 0);
	bed_found(a, "deadlock", CONFIDENCE_PROVEN,
		  "it waits for mutex 0x10000, which it holds itself");

	a = with_running(1);
	sleep_on(a, 3, 1, TRACE_REASON_JOIN, 1);
	bed_end(a, 4, 0);
	bed_found(a, "deadlock", CONFIDENCE_PROVEN, "it waits for its own end");
}

static void a_child_that_waits_for_a_lock_of_its_parent_is_a_ring(void)
{
	struct analysis *a = with_running(3);

	take(a, 2, 1, 0x10000);
	sleep_on(a, 3, 1, TRACE_REASON_JOIN, 3);
	sleep_on(a, 4, 3, MUTEX, 0x10000);
	bed_end(a, 5, 0);
	CHECK(strstr(bed_group(a, "deadlock")->finding.evidence[0].text,
		     "coroutine 1 waits for the end of coroutine 3"));
	bed_found(a, "deadlock", CONFIDENCE_PROVEN, "2 wait for each other in a ring: 1 -> 3 -> 1");
}

static void what_waits_behind_a_ring_is_its_consequence(void)
{
	struct analysis *a = with_running(3);
	size_t i, nr_info = 0;

	take(a, 2, 1, 0x10000);
	take(a, 2, 2, 0x20000);
	sleep_on(a, 3, 1, MUTEX, 0x20000);
	sleep_on(a, 4, 2, MUTEX, 0x10000);
	sleep_on(a, 5, 3, TRACE_REASON_JOIN, 1);
	bed_end(a, 6, 0);
	for (i = 0; i < a->findings.nr; i++) {
		const struct group *g = &a->findings.groups[i];

		if (strcmp(g->detector->name, "deadlock") != 0 || g->confidence != CONFIDENCE_INFO)
			continue;
		CHECK(strstr(g->finding.detail, "for coroutine 1, behind the ring 1 -> 2 -> 1"));
		nr_info++;
	}
	CHECK_EQ(nr_info, 1);
	bed_found(a, "deadlock", CONFIDENCE_PROVEN, "in a ring");
}

/* Each waits for a permit of the other one's semaphore; one of two permits may come back. */
static void permits_that_wait_for_each_other_are_a_strong_finding(void)
{
	struct analysis *a = with_running(3);

	take(a, 2, 1, 0x10000);
	take(a, 2, 2, 0x20000);
	sleep_on(a, 3, 1, TRACE_REASON_SEMAPHORE, 0x20000);
	sleep_on(a, 4, 2, TRACE_REASON_SEMAPHORE, 0x10000);
	bed_end(a, 5, 0);
	bed_found(a, "deadlock", CONFIDENCE_STRONG, "2 wait for each other in a ring");

	a = with_running(3);
	take(a, 2, 1, 0x10000);
	take(a, 2, 2, 0x20000);
	take(a, 2.5, 3, 0x20000); /* it runs, and may give its permit back */
	sleep_on(a, 3, 1, TRACE_REASON_SEMAPHORE, 0x20000);
	sleep_on(a, 4, 2, TRACE_REASON_SEMAPHORE, 0x10000);
	bed_end(a, 5, 0);
	bed_found_none(a, "deadlock");
}

static void two_that_send_to_each_other_are_a_suspicion(void)
{
	struct analysis *a = with_running(2);
	unsigned i;

	/* Each has received from the other one's channel, so each is who makes room in it. */
	for (i = 1; i <= 2; i++) {
		sleep_on(a, 2 + i, i, TRACE_REASON_CHANNEL_RECV, 0x10000 * i);
		BED_ADD(a, RESUME, 4 + i, .probe_id = i, .tid = 10 + i);
	}
	sleep_on(a, 8, 1, TRACE_REASON_CHANNEL_SEND, 0x20000);
	sleep_on(a, 9, 2, TRACE_REASON_CHANNEL_SEND, 0x10000);
	bed_end(a, 10, 0);
	bed_found(a, "deadlock", CONFIDENCE_SUSPECT,
		  "2 wait for each other in a ring: 1 -> 2 -> 1");
}

/* ---- abandoned locks ----------------------------------------------------------------------------
 */

static struct analysis *with_holder_that_ends(double waited_ms, bool has_other_holder)
{
	struct analysis *a = with_running(3);

	take(a, 2, 1, 0x10000);
	if (has_other_holder)
		take(a, 2.1, 3, 0x10000);
	sleep_on(a, 3, 2, has_other_holder ? TRACE_REASON_SEMAPHORE : MUTEX, 0x10000);
	BED_ADD(a, END, 3.5, .probe_id = 1, .tid = 11, .flags = TRACE_DESTROYED);
	bed_end(a, 3 + waited_ms, 0);
	return a;
}

static void a_holder_that_ended_has_abandoned_its_lock(void)
{
	bed_found(with_holder_that_ends(50, false), "abandoned-lock", CONFIDENCE_STRONG,
		  "it waits for mutex 0x10000; coroutine 1 ended and did not release it");
	bed_found_none(with_holder_that_ends(49.9, false), "abandoned-lock");
	/* Another holder may still release a permit. */
	bed_found(with_holder_that_ends(50, true), "abandoned-lock", CONFIDENCE_SUSPECT,
		  "coroutine 1 ended and did not release it");
}

static void a_lock_that_was_released_before_the_end_is_not_abandoned(void)
{
	struct analysis *a = with_running(2);

	take(a, 2, 1, 0x10000);
	give(a, 2.5, 1, 0x10000);
	sleep_on(a, 3, 2, MUTEX, 0x10000);
	BED_ADD(a, END, 3.5, .probe_id = 1, .tid = 11, .flags = TRACE_DESTROYED);
	bed_end(a, 90, 0);
	bed_found_none(a, "abandoned-lock");
}

/* ---- closed
 * ---------------------------------------------------------------------------------------- */

static struct analysis *with_close(uint64_t by, double close_ms, double end_ms)
{
	struct analysis *a = with_running(2);

	sleep_on(a, 3, 1, TRACE_REASON_IO_READ, 20);
	BED_ADD(a, CLOSE, close_ms, .probe_id = by, .tid = 12, .resource = 20);
	bed_end(a, end_ms, 0);
	return a;
}

static void a_wait_for_a_closed_descriptor_is_proven_if_the_program_went_on(void)
{
	bed_found(with_close(2, 13, 263), "closed-under-waiter", CONFIDENCE_PROVEN,
		  "coroutine 2 closed it 10.000 ms after the wait began");
	bed_found(with_close(2, 13, 262.9), "closed-under-waiter", CONFIDENCE_SUSPECT,
		  "coroutine 2 closed it 10.000 ms after the wait began");
	bed_found(with_close(0, 13, 263), "closed-under-waiter", CONFIDENCE_PROVEN,
		  "code outside of all coroutines closed it");
	/* Closed before the wait: the number was given out again. */
	bed_found_none(with_close(2, 2.5, 263), "closed-under-waiter");
}

/* ---- lost wakeups
 * ------------------------------------------------------------------------------------- */

static struct analysis *with_lock_left_free(double free_ms, bool goes_on)
{
	struct analysis *a = with_running(3);

	take(a, 2, 1, 0x10000);
	sleep_on(a, 3, 2, MUTEX, 0x10000);
	give(a, 4, 1, 0x10000);
	if (goes_on)
		go_on(a, 3, 5, 4 + free_ms);
	bed_end(a, 4 + free_ms, 0);
	return a;
}

static void a_waiter_of_a_free_lock_lost_its_wakeup(void)
{
	bed_found(with_lock_left_free(300, true), "lost-wakeup", CONFIDENCE_STRONG,
		  "it waits for mutex 0x10000, which is free: coroutine 1 released it 300.000 ms");
	bed_found(with_lock_left_free(100, false), "lost-wakeup", CONFIDENCE_SUSPECT, "is free");
	bed_found_none(with_lock_left_free(99, false), "lost-wakeup");
}

static struct analysis *with_late_timer(double late_ms, bool goes_on)
{
	struct analysis *a = with_running(2);

	sleep_on(a, 3, 1, TRACE_REASON_TIMER, BED_MS(10));
	if (goes_on)
		go_on(a, 2, 11, 10 + late_ms);
	bed_end(a, 10 + late_ms, 0);
	return a;
}

static void a_timer_that_expired_should_have_fired(void)
{
	bed_found(with_late_timer(500, true), "lost-wakeup", CONFIDENCE_STRONG,
		  "its timer expired 500.000 ms before the end of the trace");
	bed_found(with_late_timer(250, true), "lost-wakeup", CONFIDENCE_SUSPECT,
		  "its timer expired");
	bed_found_none(with_late_timer(150, true), "lost-wakeup");
	bed_found_none(with_late_timer(-2, true), "lost-wakeup");
}

static struct analysis *with_ended_child(double ended_ms, bool goes_on)
{
	struct analysis *a = with_running(3);

	sleep_on(a, 3, 1, TRACE_REASON_JOIN, 2);
	BED_ADD(a, END, 5, .probe_id = 2, .tid = 12);
	if (goes_on)
		go_on(a, 3, 6, 5 + ended_ms);
	bed_end(a, 5 + ended_ms, 0);
	return a;
}

static void a_parent_is_woken_when_its_child_ends(void)
{
	bed_found(with_ended_child(200, true), "lost-wakeup", CONFIDENCE_STRONG,
		  "it waits for coroutine 2, which ended 200.000 ms before the end of the trace");
	bed_found(with_ended_child(100, false), "lost-wakeup", CONFIDENCE_SUSPECT, "which ended");
	bed_found_none(with_ended_child(99, false), "lost-wakeup");
}

static struct analysis *with_wake_never_run(double waited_ms)
{
	struct analysis *a = with_running(3);

	sleep_on(a, 3, 1, TRACE_REASON_CHANNEL_RECV, 0x30000);
	BED_ADD(a, WAKE, 4, .probe_id = 1, .peer = 2, .tid = 12);
	go_on(a, 3, 5, 4 + waited_ms);
	sleep_on(a, 4 + waited_ms, 2, TRACE_REASON_TIMER, 0);
	return a;
}

static void a_coroutine_that_was_woken_runs(void)
{
	struct analysis *a = with_wake_never_run(1100);

	CHECK_EQ(analysis_finish(a, NULL), 0);
	CHECK(bed_group(a, "lost-wakeup") || bed_group(a, "starvation"));
	analysis_free(a);
	a = with_wake_never_run(1100);
	BED_ADD(a, RESUME, 1200, .probe_id = 1, .tid = 11);
	CHECK_EQ(analysis_finish(a, NULL), 0);
	bed_found_none(a, "lost-wakeup");
	a = with_wake_never_run(40);
	CHECK_EQ(analysis_finish(a, NULL), 0);
	bed_found_none(a, "lost-wakeup");
}

/* @nr waits of 5 ms for a channel, then one of @last_ms. */
static struct analysis *with_rhythm(unsigned nr, double last_ms)
{
	struct analysis *a = with_running(2);
	double at = 2;
	unsigned i;

	for (i = 0; i < nr; i++, at += 6) {
		sleep_on(a, at, 1, TRACE_REASON_CHANNEL_RECV, 0x30000);
		BED_ADD(a, RESUME, at + 5, .probe_id = 1, .tid = 11);
	}
	sleep_on(a, at, 1, TRACE_REASON_CHANNEL_RECV, 0x30000);
	go_on(a, 2, at + 1, at + last_ms);
	bed_end(a, at + last_ms, 0);
	return a;
}

static void a_wait_that_breaks_its_rhythm_is_a_suspicion(void)
{
	bed_found(with_rhythm(5, 1200), "lost-wakeup", CONFIDENCE_SUSPECT,
		  "its 5 earlier waits took at most 5.000 ms, this one 1200.000 ms");
	bed_found_none(with_rhythm(5, 90), "lost-wakeup");
	bed_found_none(with_rhythm(1, 1200), "lost-wakeup");
}

/* ---- everything is asleep --------------------------------------------------------------- */

/* Two coroutines wait for @reason since 10 ms; the trace ends @quiet_ms later. */
static struct analysis *with_sleepers(unsigned reason, double quiet_ms, bool is_woken_outside)
{
	struct analysis *a = with_running(2);

	if (is_woken_outside) {
		sleep_on(a, 3, 1, reason, 0x10000);
		BED_ADD(a, WAKE, 4, .probe_id = 1, .tid = 99);
		BED_ADD(a, RESUME, 5, .probe_id = 1, .tid = 11);
	}
	sleep_on(a, 9, 2, reason, 0x20000);
	sleep_on(a, 10, 1, reason, 0x10000);
	bed_end(a, 10 + quiet_ms, 0);
	return a;
}

static void a_program_in_which_all_wait_for_others_is_stalled(void)
{
	static const uint8_t inner[] = { TRACE_REASON_JOIN, TRACE_REASON_MUTEX,
					 TRACE_REASON_SEMAPHORE, TRACE_REASON_CHANNEL_SEND,
					 TRACE_REASON_CHANNEL_RECV };
	static const uint8_t outer[] = { TRACE_REASON_IO_READ, TRACE_REASON_TIMER,
					 TRACE_REASON_SIGNAL,  TRACE_REASON_UNKNOWN,
					 TRACE_REASON_USER,    TRACE_REASON_YIELD };
	size_t i;

	for (i = 0; i < sizeof(inner); i++)
		bed_found(with_sleepers(inner[i], 200, false), "stalled", CONFIDENCE_SUSPECT,
			  "all coroutines are asleep: none has run for the last 200.000 ms, and "
			  "each waits for another one");
	for (i = 0; i < sizeof(outer); i++)
		bed_found_none(with_sleepers(outer[i], 200, false), "stalled");
	bed_found_none(with_sleepers(TRACE_REASON_SEMAPHORE, 199.9, false), "stalled");
	/* Code outside of all coroutines woke one before: it may do so again. */
	bed_found_none(with_sleepers(TRACE_REASON_SEMAPHORE, 300, true), "stalled");
	bed_found_none(with_sleepers(TRACE_REASON_CHANNEL_RECV, 300, true), "stalled");
}

static void one_that_may_go_on_is_enough(void)
{
	struct analysis *a = with_running(3); /* the third one runs */

	sleep_on(a, 9, 2, TRACE_REASON_SEMAPHORE, 0x20000);
	sleep_on(a, 10, 1, TRACE_REASON_SEMAPHORE, 0x10000);
	bed_end(a, 400, 0);
	bed_found_none(a, "stalled");

	a = with_running(2); /* woken, and not run */
	sleep_on(a, 9, 2, TRACE_REASON_SEMAPHORE, 0x20000);
	sleep_on(a, 10, 1, TRACE_REASON_SEMAPHORE, 0x10000);
	BED_ADD(a, WAKE, 11, .probe_id = 1, .tid = 12, .peer = 2);
	bed_end(a, 400, 0);
	bed_found_none(a, "stalled");

	a = with_running(3); /* ended: it does not count */
	BED_ADD(a, END, 8, .probe_id = 3, .tid = 13);
	sleep_on(a, 9, 2, TRACE_REASON_SEMAPHORE, 0x20000);
	sleep_on(a, 10, 1, TRACE_REASON_SEMAPHORE, 0x10000);
	bed_end(a, 400, 0);
	bed_found(a, "stalled", CONFIDENCE_SUSPECT, "for the last 390.000 ms");
}

/* ---- descriptors ------------------------------------------------------------------------- */

static struct analysis *with_descriptor(const char *kind, const char *ready, const char *watch,
					uint64_t unread, double end_ms)
{
	struct analysis *a = with_running(2);
	struct trace_item item;

	sleep_on(a, 10, 1, TRACE_REASON_IO_READ, 7);
	trace_item_init(&item, TRACE_ITEM_DESCRIPTOR);
	item.descriptor = (struct trace_descriptor){ .probe_id = 1,
						     .fd = 7,
						     .from_ts = BED_MS(400),
						     .to_ts = BED_MS(500),
						     .unread = unread,
						     .kind = kind,
						     .ready = ready,
						     .watch = watch };
	CHECK_EQ(analysis_add(a, &item), 0);
	go_on(a, 2, 20, end_ms);
	bed_end(a, end_ms, 0);
	return a;
}

static void a_descriptor_that_is_ready_says_how(void)
{
	static const struct {
		const char *kind, *ready;
		uint64_t unread;
		const char *text;
	} cases[] = {
		{ "socket", "read", 3, "descriptor 7 is a socket with 3 unread bytes" },
		{ "pipe", "read", 0, "descriptor 7 is a pipe that is readable" },
		{ "eventfd", "read", 2, "descriptor 7 is an eventfd with the count 2" },
		{ "timerfd", "read", 1, "descriptor 7 is a timerfd that has expired" },
		{ "socket", "write", 0, "descriptor 7 is a socket that is writable" },
		{ "socket", "error", 9,
		  "descriptor 7 is a socket that has an error or was closed" },
		{ "later", "read", 4, "descriptor 7 is a descriptor with 4 unread bytes" },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		bed_found(with_descriptor(cases[i].kind, cases[i].ready, NULL, cases[i].unread,
					  1400),
			  "lost-wakeup", CONFIDENCE_STRONG, cases[i].text);
	bed_found(with_descriptor("pipe", "read", NULL, 0, 1399.9), "lost-wakeup",
		  CONFIDENCE_SUSPECT, "the collector saw it twice, 100.000 ms apart");
}

static void a_descriptor_says_how_epoll_watches_it(void)
{
	static const char *const cases[][2] = {
		{ "none", "no epoll set of the process has the descriptor" },
		{ "level", "epoll reports it at every epoll_wait(): the event is not passed on" },
		{ "edge", "it is registered edge-triggered, and the edge was delivered before" },
		{ "disarmed", "its one-shot registration is disarmed: its event was delivered" },
		{ "other", "it is registered with epoll, but not for what the coroutine waits" },
	};
	struct analysis *a;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		a = with_descriptor("socket", "read", cases[i][0], 1, 1400);
		CHECK_STR(bed_group(a, "lost-wakeup")->finding.evidence[0].text, cases[i][1]);
		analysis_free(a);
	}
}

/* ---- leaks ---------------------------------------------------------------------------------- */

/* Coroutines are created every @period_ms up to @end_ms; each @nth one ends. */
static struct analysis *with_births(double period_ms, double end_ms, unsigned nth)
{
	struct analysis *a = bed_begin(NULL);
	uint64_t id = 10;
	double ms;

	BED_ADD(a, BIRTH, 0, .probe_id = 1, .site = 1);
	BED_ADD(a, RESUME, 0.1, .probe_id = 1);
	for (ms = 1; ms < end_ms; ms += period_ms, id++) {
		BED_ADD(a, BIRTH, ms, .probe_id = id, .site = 5);
		BED_ADD(a, RESUME, ms + 0.1, .probe_id = id);
		BED_ADD(a, SUSPEND, ms + 0.2, .probe_id = id, .site = 6,
			.reason = TRACE_REASON_IO_READ, .resource = id);
		if (nth && id % nth == 0) {
			BED_ADD(a, RESUME, ms + 0.3, .probe_id = id);
			BED_ADD(a, END, ms + 0.4, .probe_id = id, .flags = TRACE_DESTROYED);
		}
	}
	bed_end(a, end_ms, 0);
	return a;
}

static void coroutines_that_only_become_more_leak(void)
{
	bed_found(with_births(20, 2000, 0), "leak", CONFIDENCE_SUSPECT,
		  "100 exist at the end of 100 created; 67 of them have not moved for a third of "
		  "the run");
	bed_found(with_births(20, 2000, 2), "leak", CONFIDENCE_SUSPECT,
		  "50 exist at the end of 100 created");
	bed_found_none(with_births(20, 2000, 1), "leak");
	bed_found_none(with_births(9, 900, 0), "leak");    /* too short */
	bed_found_none(with_births(100, 2000, 0), "leak"); /* too few */
}

static void a_number_that_falls_is_no_leak(void)
{
	struct analysis *a = bed_begin(NULL);
	uint64_t id, gone = 10;
	double ms = 1;

	for (id = 10; id < 110; id++, ms += 20) {
		BED_ADD(a, BIRTH, ms, .probe_id = id, .site = 5);
		BED_ADD(a, RESUME, ms + 0.1, .probe_id = id);
		BED_ADD(a, SUSPEND, ms + 0.2, .probe_id = id, .site = 6,
			.reason = TRACE_REASON_IO_READ, .resource = id);
		/* At two thirds of the run, most of them end. */
		for (; id == 76 && gone < 50; gone++) {
			BED_ADD(a, RESUME, ms + 0.3 + (double)gone / 1000, .probe_id = gone);
			BED_ADD(a, END, ms + 0.3005 + (double)gone / 1000, .probe_id = gone,
				.flags = TRACE_DESTROYED);
		}
	}
	bed_end(a, ms, 0);
	bed_found_none(a, "leak");
}

/* ---- more about rings and descriptors ------------------------------------------------------- */

static void a_long_ring_is_told_in_part(void)
{
	struct analysis *a = with_running(12);
	uint64_t i;

	for (i = 1; i <= 12; i++)
		take(a, 2 + 0.01 * (double)i, i, 0x10000 * i);
	for (i = 1; i <= 12; i++)
		sleep_on(a, 3 + 0.01 * (double)i, i, MUTEX, 0x10000 * (i % 12 + 1));
	bed_end(a, 6, 0);
	CHECK(strstr(bed_group(a, "deadlock")->finding.detail, " -> ..."));
	CHECK(!strstr(bed_group(a, "deadlock")->finding.detail, "-> 12"));
	bed_found(a, "deadlock", CONFIDENCE_PROVEN,
		  "12 wait for each other in a ring: 1 -> 2 -> 3 -> ");
}

/* Where one coroutine takes a permit and another gives it back, the holder is not known. */
static void a_lock_that_is_passed_on_is_in_no_ring(void)
{
	struct analysis *a = with_running(3);

	take(a, 1.5, 3, 0x20000);
	give(a, 1.6, 1, 0x20000); /* not by the one that took it */
	take(a, 2, 1, 0x10000);
	take(a, 3, 2, 0x20000);
	sleep_on(a, 4, 1, MUTEX, 0x20000);
	sleep_on(a, 5, 2, MUTEX, 0x10000);
	bed_end(a, 6, 0);
	bed_found_none(a, "deadlock");
}

/* Coroutine 1 waits for descriptor 5; a later one waits for it, too, and is served (@served). */
static struct analysis *with_rival(bool is_created_later, bool is_served, double waited_ms)
{
	struct analysis *a = with_running(2);
	double ms = 10;

	if (!is_created_later) {
		BED_ADD(a, BIRTH, 5, .probe_id = 9, .tid = 19, .site = 9);
		BED_ADD(a, RESUME, 5.1, .probe_id = 9, .tid = 19);
	}
	sleep_on(a, ms, 1, TRACE_REASON_IO_READ, 5);
	if (is_created_later) {
		BED_ADD(a, BIRTH, 20, .probe_id = 9, .tid = 19, .site = 9);
		BED_ADD(a, RESUME, 21, .probe_id = 9, .tid = 19);
	}
	sleep_on(a, 22, 9, TRACE_REASON_IO_READ, 5);
	if (is_served)
		BED_ADD(a, RESUME, 23, .probe_id = 9, .tid = 19);
	go_on(a, 2, 30, ms + waited_ms);
	bed_end(a, ms + waited_ms, 0);
	return a;
}

static void a_descriptor_with_a_later_reader_may_be_used_again(void)
{
	bed_found(with_rival(true, true, 200), "closed-under-waiter", CONFIDENCE_SUSPECT,
		  "descriptor 5: coroutine 9, created later, waited for it and was served");
	bed_found_none(with_rival(false, true, 200), "closed-under-waiter");
	bed_found_none(with_rival(true, false, 200), "closed-under-waiter");
	bed_found_none(with_rival(true, true, 99), "closed-under-waiter");
}

int main(void)
{
	RUN(locks_taken_in_two_orders_are_a_proven_deadlock);
	RUN(a_ring_with_a_member_that_goes_on_is_none);
	RUN(a_lock_that_was_released_is_not_in_a_ring);
	RUN(a_lock_that_is_taken_twice_waits_for_itself);
	RUN(a_child_that_waits_for_a_lock_of_its_parent_is_a_ring);
	RUN(what_waits_behind_a_ring_is_its_consequence);
	RUN(permits_that_wait_for_each_other_are_a_strong_finding);
	RUN(two_that_send_to_each_other_are_a_suspicion);
	RUN(a_holder_that_ended_has_abandoned_its_lock);
	RUN(a_lock_that_was_released_before_the_end_is_not_abandoned);
	RUN(a_wait_for_a_closed_descriptor_is_proven_if_the_program_went_on);
	RUN(a_waiter_of_a_free_lock_lost_its_wakeup);
	RUN(a_timer_that_expired_should_have_fired);
	RUN(a_parent_is_woken_when_its_child_ends);
	RUN(a_coroutine_that_was_woken_runs);
	RUN(a_wait_that_breaks_its_rhythm_is_a_suspicion);
	RUN(a_program_in_which_all_wait_for_others_is_stalled);
	RUN(one_that_may_go_on_is_enough);
	RUN(a_descriptor_that_is_ready_says_how);
	RUN(a_descriptor_says_how_epoll_watches_it);
	RUN(coroutines_that_only_become_more_leak);
	RUN(a_number_that_falls_is_no_leak);
	RUN(a_long_ring_is_told_in_part);
	RUN(a_lock_that_is_passed_on_is_in_no_ring);
	RUN(a_descriptor_with_a_later_reader_may_be_used_again);
	return 0;
}
