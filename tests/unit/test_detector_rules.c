/* SPDX-License-Identifier: MIT */
/*
 * test_detector_rules.c - from when on a detector reports, and how certain it is: each rule with a
 * trace that just fulfills it, and one that just does not.
 */
#include "analysis_bed.h"
#include "analyze/report.h"

/* ---- threads --------------------------------------------------------------------------- */

/* @nr slices of one coroutine; every @period-th on another thread than the others. */
static struct analysis *with_moves(unsigned nr, unsigned period)
{
	struct analysis *a = bed_begin(NULL);
	unsigned i;

	BED_ADD(a, BIRTH, 0, .probe_id = 1, .site = 1);
	for (i = 0; i < nr; i++) {
		uint64_t tid = i % period ? 7 : 8;

		BED_ADD(a, RESUME, 1 + i, .probe_id = 1, .tid = tid);
		BED_ADD(a, SUSPEND, 1.5 + i, .probe_id = 1, .tid = tid, .site = 2);
	}
	bed_end(a, 2 + nr, 0);
	return a;
}

static void coroutines_that_mostly_change_their_thread_migrate(void)
{
	/* Every third on thread 8: two of three resumes are on another thread than the one before.
	 */
	bed_found(with_moves(1001, 3), "migration", CONFIDENCE_INFO,
		  "667 of 1001 resumes were on another thread than before");
	bed_found_none(with_moves(999, 3), "migration");
	/* Every fourth: half of them, but for the first one. */
	bed_found_none(with_moves(1001, 4), "migration");
}

/* Resumes of several coroutines, one for each thread. */
static struct analysis *with_workers(const unsigned *resumes, unsigned nr)
{
	struct analysis *a = bed_begin(NULL);
	unsigned i, k;
	double ms = 1;

	for (i = 0; i < nr; i++) {
		BED_ADD(a, BIRTH, ms, .probe_id = 1 + i, .site = 1, .tid = 10 + i);
		for (k = 0; k < resumes[i]; k++, ms += 0.1) {
			BED_ADD(a, RESUME, ms, .probe_id = 1 + i, .tid = 10 + i);
			BED_ADD(a, SUSPEND, ms + 0.05, .probe_id = 1 + i, .tid = 10 + i, .site = 2);
		}
	}
	bed_end(a, ms, 0);
	return a;
}

static void workers_are_uneven_from_three_to_one_on(void)
{
	bed_found(with_workers((unsigned[]){ 750, 250 }, 2), "imbalance", CONFIDENCE_INFO,
		  "of 2 threads 10 resumed 750 times, 11 only 250");
	bed_found_none(with_workers((unsigned[]){ 749, 251 }, 2), "imbalance");
	bed_found_none(with_workers((unsigned[]){ 749, 249 }, 2), "imbalance"); /* too few */
	bed_found_none(with_workers((unsigned[]){ 2000 }, 1), "imbalance");
}

static void a_thread_that_hardly_runs_coroutines_is_no_worker(void)
{
	bed_found_none(with_workers((unsigned[]){ 1000, 1000, 1 }, 3), "imbalance");
	bed_found(with_workers((unsigned[]){ 1000, 1000, 3 }, 3), "imbalance", CONFIDENCE_INFO,
		  "of 3 threads 10 resumed 1000 times, 12 only 3");
}

/* ---- lives ------------------------------------------------------------------------------ */

static struct analysis *with_birth(double age_ms, bool runs)
{
	struct analysis *a = bed_begin(NULL);

	BED_ADD(a, BIRTH, 0, .probe_id = 1, .site = 1);
	BED_ADD(a, RESUME, 1, .probe_id = 1);
	BED_ADD(a, BIRTH, 2, .probe_id = 2, .site = 5);
	if (runs)
		BED_ADD(a, RESUME, 2.5, .probe_id = 2);
	bed_end(a, 2 + age_ms, 0);
	return a;
}

static void a_coroutine_that_never_ran_for_a_tenth_of_a_second_is_reported(void)
{
	bed_found(with_birth(100, false), "never-run", CONFIDENCE_SUSPECT,
		  "it was created 100.000 ms before the end of the trace, and never ran");
	bed_found_none(with_birth(99.9, false), "never-run");
	bed_found_none(with_birth(100, true), "never-run");
}

static void a_coroutine_that_is_destroyed_before_it_ran_is_reported(void)
{
	struct analysis *a = bed_begin(NULL);

	BED_ADD(a, BIRTH, 0, .probe_id = 1, .site = 1);
	BED_ADD(a, SUSPEND, 0.5, .probe_id = 1, .site = 1); /* where it was created */
	BED_ADD(a, DESTROY, 3, .probe_id = 1, .flags = TRACE_WAS_SUSPENDED);
	bed_end(a, 4, 0);
	CHECK(bed_group(a, "destroyed-suspended"));
	bed_found(a, "never-run", CONFIDENCE_SUSPECT,
		  "it was created 3.000 ms before it was destroyed, and never ran");
}

static struct analysis *with_destroy(unsigned flags, double waited_ms)
{
	struct analysis *a = bed_begin(NULL);

	BED_ADD(a, BIRTH, 0, .probe_id = 1, .site = 1);
	BED_ADD(a, RESUME, 1, .probe_id = 1);
	BED_ADD(a, SUSPEND, 2, .probe_id = 1, .site = 2);
	BED_ADD(a, DESTROY, 2 + waited_ms, .probe_id = 1, .flags = (uint8_t)flags);
	bed_end(a, 100, 0);
	return a;
}

static void a_frame_destroyed_while_it_waits_is_reported(void)
{
	bed_found(with_destroy(TRACE_WAS_SUSPENDED, 30), "destroyed-suspended", CONFIDENCE_INFO,
		  "it had waited for 30.000 ms");
	bed_found(with_destroy(TRACE_WAS_SUSPENDED, 0), "destroyed-suspended", CONFIDENCE_INFO,
		  "it had waited for 0.000 ms");
	bed_found_none(with_destroy(TRACE_WAS_SUSPENDED | TRACE_CANCELLED, 30),
		       "destroyed-suspended");
	bed_found_none(with_destroy(0, 30), "destroyed-suspended");
}

/* One of its kind is destroyed; the other one ends, and stays for @age_ms. */
static struct analysis *with_end(double age_ms, bool is_owned, bool is_same_kind)
{
	struct analysis *a = bed_begin(NULL);

	BED_ADD(a, BIRTH, 0, .probe_id = 9, .site = 3);
	BED_ADD(a, RESUME, 1, .probe_id = 9);
	BED_ADD(a, BIRTH, 2, .probe_id = 1, .site = is_same_kind ? 1 : 4);
	BED_ADD(a, RESUME, 3, .probe_id = 1);
	BED_ADD(a, END, 4, .probe_id = 1, .flags = TRACE_DESTROYED);
	BED_ADD(a, BIRTH, 5, .probe_id = 2, .site = 1, .peer = is_owned ? 9 : 0);
	BED_ADD(a, RESUME, 6, .probe_id = 2);
	BED_ADD(a, END, 7, .probe_id = 2);
	bed_end(a, 7 + age_ms, 0);
	return a;
}

static void an_ended_frame_that_stays_is_reported_if_others_are_destroyed(void)
{
	bed_found(with_end(1, false, true), "never-destroyed", CONFIDENCE_STRONG,
		  "it ended 1.000 ms before the end of the trace, and its frame was not destroyed; "
		  "of its kind 1 were");
	/* The parent may still need the result. */
	bed_found_none(with_end(99, true, true), "never-destroyed");
	bed_found(with_end(100, true, true), "never-destroyed", CONFIDENCE_SUSPECT,
		  "of its kind 1");
	/* Nothing says that this kind is destroyed at all. */
	bed_found_none(with_end(1, false, false), "never-destroyed");
}

static struct analysis *with_exit(bool is_test, int signal, bool has_totals)
{
	struct analysis_options options = { .of_a_test = is_test };
	struct analysis *a = bed_begin(&options);

	BED_ADD(a, BIRTH, 0, .probe_id = 1, .site = 1);
	BED_ADD(a, RESUME, 1, .probe_id = 1);
	BED_ADD(a, SUSPEND, 2, .probe_id = 1, .site = 2);
	if (has_totals)
		bed_end(a, 50, signal);
	else
		CHECK_EQ(analysis_finish(a, NULL), 0);
	return a;
}

static void what_waits_when_the_program_ends_fails_only_tests(void)
{
	bed_found(with_exit(false, 0, true), "suspended-at-exit", CONFIDENCE_INFO,
		  "the program ended by itself");
	bed_found(with_exit(true, 0, true), "suspended-at-exit", CONFIDENCE_STRONG,
		  "the program ended by itself");
	bed_found(with_exit(false, 11, true), "suspended-at-exit", CONFIDENCE_INFO,
		  "the program was ended by signal 11");
	bed_found_none(with_exit(true, 0, false), "suspended-at-exit");
}

/* ---- steps that are not possible ------------------------------------------------------------- */

static struct analysis *with_two_resumes(uint64_t second_tid, bool is_counted, uint64_t lost)
{
	struct analysis *a = bed_begin(NULL);

	BED_ADD(a, BIRTH, 0, .probe_id = 1, .site = 1);
	BED_ADD(a, RESUME, 1, .probe_id = 1);
	BED_ADD(a, RESUME, 2, .probe_id = 1, .tid = second_tid);
	BED_ADD(a, SUSPEND, 3, .probe_id = 1, .site = 2);
	if (is_counted)
		bed_counted(a, 1, lost);
	bed_end(a, 4, 0);
	return a;
}

static void a_resume_of_a_running_coroutine_is_proven_if_nothing_is_lost(void)
{
	bed_found(with_two_resumes(8, true, 0), "double-resume", CONFIDENCE_PROVEN,
		  "resumed on thread 8 while it was running on thread 7");
	bed_found(with_two_resumes(7, true, 0), "double-resume", CONFIDENCE_PROVEN,
		  "resumed on thread 7 while it was running on the same thread, 7");
	bed_found(with_two_resumes(8, false, 0), "double-resume", CONFIDENCE_SUSPECT, "thread 8");
	bed_found(with_two_resumes(8, true, 1), "double-resume", CONFIDENCE_SUSPECT, "thread 8");
}

static void a_coroutine_does_not_run_after_its_end(void)
{
	struct analysis *a = bed_begin(NULL);

	BED_ADD(a, BIRTH, 0, .probe_id = 1, .site = 1);
	BED_ADD(a, RESUME, 1, .probe_id = 1);
	BED_ADD(a, END, 2, .probe_id = 1);
	BED_ADD(a, RESUME, 3, .probe_id = 1, .tid = 9);
	BED_ADD(a, SUSPEND, 4, .probe_id = 1, .tid = 9);
	bed_end(a, 5, 0);
	bed_found(a, "resume-after-end", CONFIDENCE_PROVEN,
		  "thread 9 ran it after its end, 2 times");
}

/* @nr waits at addresses of code, and one that waits at @addr until the end. */
static struct analysis *with_address(unsigned nr, uint64_t addr, int signal)
{
	struct analysis *a = bed_begin(NULL);
	unsigned i;

	for (i = 0; i < nr; i++) {
		BED_ADD(a, RESUME, 1 + i, .probe_id = 1);
		BED_ADD(a, SUSPEND, 1.5 + i, .probe_id = 1, .addr = 0x401000);
	}
	BED_ADD(a, RESUME, 2 + nr, .probe_id = 2);
	BED_ADD(a, SUSPEND, 3 + nr, .probe_id = 2, .addr = addr);
	bed_end(a, 10 + nr, signal);
	return a;
}

static void an_address_that_cannot_be_code_is_suspicious(void)
{
	bed_found(with_address(100, 0xfff, 0), "suspicious-address", CONFIDENCE_SUSPECT,
		  "it is suspended at 0xfff; nine of ten others tell an address of code");
	bed_found(with_address(100, 0x10, 11), "suspicious-address", CONFIDENCE_STRONG, "0x10");
	bed_found(with_address(100, 0x10, 7), "suspicious-address", CONFIDENCE_STRONG, "0x10");
	bed_found(with_address(100, 0x10, 9), "suspicious-address", CONFIDENCE_SUSPECT, "0x10");
	bed_found(with_address(100, UINT64_C(0x4100000000000000), 0), "suspicious-address",
		  CONFIDENCE_SUSPECT, "0x4100000000000000");
	bed_found(with_address(100, UINT64_C(0xffff800000000000), 0), "suspicious-address",
		  CONFIDENCE_SUSPECT, "0xffff800000000000");
	bed_found_none(with_address(100, 4096, 0), "suspicious-address");
	bed_found_none(with_address(99, 0x10, 0), "suspicious-address"); /* too few to compare */
}

/* ---- schedulers ---------------------------------------------------------------------------- */

/* @times per second over @ms, the coroutine yields after @slice_ms. */
static struct analysis *with_yields(unsigned times, double ms, double slice_ms)
{
	struct analysis *a = bed_begin(NULL);
	unsigned i;

	BED_ADD(a, BIRTH, 0, .probe_id = 1, .site = 1);
	for (i = 1; i <= times; i++) {
		double at = ms * i / times - slice_ms;

		BED_ADD(a, RESUME, at, .probe_id = 1);
		BED_ADD(a, SUSPEND, at + slice_ms, .probe_id = 1, .site = 2,
			.reason = TRACE_REASON_YIELD);
	}
	bed_end(a, ms + 1, 0);
	return a;
}

static void a_thousand_empty_yields_a_second_are_polling(void)
{
	bed_found(with_yields(210, 200, 0.0005), "busy-yield", CONFIDENCE_STRONG,
		  "210 times in 200.000 ms it yielded after less than a microsecond");
	bed_found_none(with_yields(190, 200, 0.0005), "busy-yield"); /* too seldom */
	bed_found_none(with_yields(99, 90, 0.0005), "busy-yield");   /* too short */
	bed_found_none(with_yields(210, 200, 0.3), "busy-yield");    /* it works */
	/* Not optimized code takes longer. */
	bed_found(with_yields(210, 200, 0.0049), "busy-yield", CONFIDENCE_SUSPECT,
		  "yielded after less than 5 us");
	bed_found_none(with_yields(210, 200, 0.0051), "busy-yield");
}

/* One wake and one slice of coroutines 2 to 1 + @nr, woken before the first of them runs. */
static void serve_others(struct analysis *a, double at, unsigned nr)
{
	unsigned i;

	for (i = 0; i < nr; i++)
		BED_ADD(a, WAKE, at + 0.001 * i, .probe_id = 2 + i, .tid = 9);
	for (i = 0; i < nr; i++) {
		BED_ADD(a, RESUME, at + 0.01 * (i + 1), .probe_id = 2 + i);
		BED_ADD(a, SUSPEND, at + 0.01 * (i + 1) + 0.001, .probe_id = 2 + i, .site = 2);
	}
}

/*
 * In each round coroutine 1 becomes ready and runs @ready_ms later; meanwhile @nr others become
 * ready and run: one at a time, which is the newest, or two in the order of their wakes.
 */
static struct analysis *with_overtakes(unsigned nr, double ready_ms, unsigned rounds, bool by_two)
{
	struct analysis *a = bed_begin(NULL);
	unsigned i, round;
	double at = 5;

	for (i = 1; i <= 3; i++) {
		BED_ADD(a, BIRTH, i, .probe_id = i, .site = 1);
		BED_ADD(a, RESUME, i + 0.1, .probe_id = i);
		BED_ADD(a, SUSPEND, i + 0.2, .probe_id = i, .site = 2);
	}
	for (round = 0; round < rounds; round++, at += ready_ms + 1) {
		BED_ADD(a, WAKE, at, .probe_id = 1, .tid = 9);
		for (i = 0; i < nr; i += by_two && nr - i > 1 ? 2 : 1)
			serve_others(a, at + 0.1 + (ready_ms - 1) * i / nr,
				     by_two && nr - i > 1 ? 2 : 1);
		BED_ADD(a, RESUME, at + ready_ms, .probe_id = 1);
		BED_ADD(a, SUSPEND, at + ready_ms + 0.1, .probe_id = 1, .site = 2);
	}
	bed_end(a, at, 0);
	return a;
}

static void a_ready_coroutine_that_ten_others_overtake_is_starved(void)
{
	bed_found(with_overtakes(10, 50, 1, true), "starvation", CONFIDENCE_SUSPECT,
		  "it was ready for 50.000 ms, while thread 7 resumed 10 that became ready later");
	bed_found_none(with_overtakes(9, 50, 1, true), "starvation");
	bed_found_none(with_overtakes(10, 49.9, 1, true), "starvation");
}

static void five_starved_at_one_place_are_strong(void)
{
	bed_found(with_overtakes(10, 50, 5, true), "starvation", CONFIDENCE_STRONG,
		  "was ready for");
	bed_found(with_overtakes(10, 50, 4, true), "starvation", CONFIDENCE_SUSPECT,
		  "was ready for");
}

/*
 * Coroutines 1 to 3 become ready in that order; the thread takes @first of them before all others
 * that are ready, @nr times.
 */
static struct sched_thread with_choices(unsigned nr, unsigned first)
{
	struct analysis *a = bed_begin(NULL);
	struct sched_thread t;
	unsigned i, k;

	for (i = 1; i <= 3; i++) {
		BED_ADD(a, BIRTH, i, .probe_id = i, .site = 1);
		BED_ADD(a, RESUME, i + 0.1, .probe_id = i);
		BED_ADD(a, SUSPEND, i + 0.2, .probe_id = i, .site = 2);
	}
	for (k = 0; k < nr; k++) {
		double at = 10 * (k + 1);

		for (i = 1; i <= 3; i++)
			BED_ADD(a, WAKE, at + i * 0.1, .probe_id = i, .tid = 9);
		for (i = 0; i < 3; i++) {
			/* @first, then from the newest to the oldest */
			unsigned rest = 3 - i + (3 - i >= first), id = i ? rest : first;

			BED_ADD(a, RESUME, at + 1 + i, .probe_id = id);
			BED_ADD(a, SUSPEND, at + 1.5 + i, .probe_id = id, .site = 2);
		}
	}
	t = a->scheduling.threads[a->model.thread_now];
	analysis_free(a);
	return t;
}

/* Two of three resumes are a choice; the third one is not. */
static void a_choice_is_among_those_that_are_ready_and_not_running(void)
{
	struct sched_thread t = with_choices(5, 3);

	CHECK_EQ(t.newest_first, 10);
	CHECK_EQ(t.others_first, 0);
	t = with_choices(5, 2); /* from the middle, then the newest */
	CHECK_EQ(t.newest_first, 5);
	CHECK_EQ(t.others_first, 5);
	t = with_choices(5, 1);
	CHECK_EQ(t.newest_first, 5);
	CHECK_EQ(t.others_first, 5);
}

/* From 20 choices on it is known that the thread takes the newest first: no strong finding. */
static void a_thread_that_takes_the_newest_first_is_unfair(void)
{
	struct analysis *a = with_overtakes(20, 50, 1, false);

	CHECK(!bed_group(a, "starvation"));
	CHECK(strstr(bed_group(a, "unfair-order")->finding.evidence[0].text,
		     "of 20 choices among several ready coroutines the thread took the newest 20"));
	bed_found(a, "unfair-order", CONFIDENCE_SUSPECT, "resumed 20 that became ready later");
	bed_found_none(with_overtakes(19, 50, 1, false), "unfair-order");
	bed_found_none(with_overtakes(40, 50, 1, true), "unfair-order");
	bed_found(with_overtakes(20, 50, 9, false), "unfair-order", CONFIDENCE_SUSPECT, "20");
}

/* @nr waiters of one lock are woken at once @times, and wait again for it. */
static struct analysis *with_bursts(unsigned nr, unsigned times, unsigned reason)
{
	struct analysis *a = bed_begin(NULL);
	unsigned i, k;
	double at = 1;

	for (i = 1; i <= nr; i++) {
		BED_ADD(a, BIRTH, 0.001 * i, .probe_id = i, .site = 1);
		BED_ADD(a, RESUME, at, .probe_id = i);
		BED_ADD(a, SUSPEND, at + 0.01, .probe_id = i, .site = 2, .reason = (uint8_t)reason,
			.resource = 0x50);
		at += 0.1;
	}
	for (k = 0; k < times; k++) {
		for (i = 1; i <= nr; i++)
			BED_ADD(a, WAKE, at + 0.001 * i, .probe_id = i, .tid = 9);
		for (i = 1; i <= nr; i++) {
			at += 0.1;
			BED_ADD(a, RESUME, at, .probe_id = i);
			BED_ADD(a, SUSPEND, at + 0.01, .probe_id = i, .site = 2,
				.reason = (uint8_t)reason, .resource = 0x50);
		}
		at += 10;
	}
	bed_end(a, at, 0);
	return a;
}

static void waking_all_for_what_one_gets_is_a_herd(void)
{
	bed_found(with_bursts(8, 5, TRACE_REASON_MUTEX), "herd", CONFIDENCE_STRONG,
		  "5 times all waiters were woken at once, 8 on average; 40 of 40 then waited "
		  "again for the same mutex");
	bed_found(with_bursts(8, 5, TRACE_REASON_ACCEPT), "herd", CONFIDENCE_STRONG, "same accept");
	bed_found(with_bursts(10, 5, TRACE_REASON_USER), "herd", CONFIDENCE_SUSPECT,
		  "10 on average; 50 of 50");
	bed_found_none(with_bursts(7, 5, TRACE_REASON_MUTEX), "herd");
	bed_found_none(with_bursts(8, 4, TRACE_REASON_MUTEX), "herd");
}

/* ---- long waits ------------------------------------------------------------------------------ */

/* @nr waits of 10 ms at a place, then one of @last_ms until the end; another coroutine runs on. */
static struct analysis *with_long_wait(unsigned nr, double last_ms)
{
	struct analysis *a = bed_begin(NULL);
	double at = 1, end;
	unsigned i;

	for (i = 0; i <= nr; i++) {
		/* Each wait is of a coroutine of its own: none has a rhythm that could break. */
		BED_ADD(a, RESUME, at, .probe_id = 10 + i);
		BED_ADD(a, SUSPEND, at + 1, .probe_id = 10 + i, .site = 2,
			.reason = TRACE_REASON_YIELD); /* a generator: not a lost wakeup */
		if (i < nr)
			BED_ADD(a, RESUME, at + 11, .probe_id = 10 + i);
		if (i < nr)
			BED_ADD(a, END, at + 12, .probe_id = 10 + i, .flags = TRACE_DESTROYED);
		at += 13;
	}
	end = at - 12 + last_ms;
	for (; at < end; at += 20) {
		BED_ADD(a, RESUME, at, .probe_id = 1);
		BED_ADD(a, SUSPEND, at + 1, .probe_id = 1, .site = 3);
	}
	CHECK_EQ(analysis_finish(a, NULL), 0);
	return a;
}

static void a_wait_far_longer_than_others_at_its_place_is_long(void)
{
	bed_found(with_long_wait(20, 1500), "long-suspended", CONFIDENCE_SUSPECT,
		  "95 of 100 waits at this place took less than");
	bed_found_none(with_long_wait(20, 900), "long-suspended");  /* the minimum age */
	bed_found_none(with_long_wait(19, 1500), "long-suspended"); /* too few to compare */
	bed_found(with_long_wait(19, 10100), "long-suspended", CONFIDENCE_SUSPECT,
		  "longer than ten seconds, with too few other waits");
}

/* ---- traces of other tools ------------------------------------------------------------------- */

/* Transitions only: no run, no sites, no lives. */
static void foreign_add(struct analysis *a, uint64_t id, uint64_t tid, uint64_t seq, bool is_active,
			double ms, uint64_t addr)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_EVENT);
	trace_event_init(&item.event);
	item.event.kind = is_active ? TRACE_RESUME : TRACE_SUSPEND;
	item.event.is_active = is_active;
	item.event.probe_id = id;
	item.event.tid = tid;
	item.event.seq = seq;
	item.event.ts = BED_MS(ms);
	item.event.addr = addr;
	item.event.station = TRACE_NO_STATION;
	CHECK_EQ(analysis_add(a, &item), 0);
}

/* A run of @nr coroutines on thread @tid from @ms on, each with @steps waits. */
static void foreign_run(struct analysis *a, uint64_t tid, double ms, unsigned nr, unsigned steps)
{
	unsigned i, k;

	for (k = 0; k < steps; k++) {
		for (i = 0; i < nr; i++) {
			double at = ms + 10 * k + i;

			foreign_add(a, 1 + i, tid, 2 + 2 * k, true, at, 0);
			foreign_add(a, 1 + i, tid, 2 + 2 * k, false, at + 0.5, 0x7000 + i);
		}
	}
}

static void caveat_is(const struct analysis *a, const char *wanted)
{
	static const struct trace_stats stats;
	const struct report r = { .analysis = a, .stats = &stats };
	char text[640];
	unsigned i;

	for (i = 0; report_caveat(&r, i, text, sizeof(text)); i++) {
		if (strstr(text, wanted))
			return;
	}
	fprintf(stderr, "no caveat says: %s\n", wanted);
	exit(1);
}

static void a_jump_of_time_with_other_threads_is_another_run(void)
{
	struct analysis *a = analysis_new(NULL);

	foreign_run(a, 7, 0, 3, 5);
	foreign_run(a, 8, 3000, 4, 5); /* 2957.5 ms after the last event */
	foreign_run(a, 9, 9000, 2, 2);
	CHECK_EQ(analysis_finish(a, NULL), 0);
	CHECK_EQ(a->runs.nr, 2);
	CHECK_EQ(a->runs.coroutines, 3 + 4);
	CHECK_EQ(a->runs.alive, 3 + 4);
	CHECK_EQ(a->runs.threads, 2);
	CHECK_EQ(a->runs.duration_ns, BED_MS(42.5) - BED_MS(0) + BED_MS(43.5) - BED_MS(0));
	CHECK_EQ(a->runs.longest_ns, BED_MS(9000) - BED_MS(3043.5));
	caveat_is(a, "The trace holds 3 runs, up to 5.957 s apart. Each is judged by itself");
	caveat_is(a, "The trace has no sidecar: ");
	caveat_is(a, "9 addresses belong each to one coroutine and to no code");
	analysis_free(a);
}

static unsigned runs_of(uint64_t second_tid, double jump_ms, uint64_t first_seq)
{
	struct analysis *a = analysis_new(NULL);
	unsigned nr, k;

	foreign_run(a, 7, 0, 2, 3);
	for (k = 0; k < 3; k++) {
		foreign_add(a, 9, second_tid, first_seq + 2 * k, true, jump_ms + 10 * k, 0);
		foreign_add(a, 9, second_tid, first_seq + 2 * k, false, jump_ms + 10 * k + 1, 0x8);
	}
	CHECK_EQ(analysis_finish(a, NULL), 0);
	nr = a->runs.nr;
	analysis_free(a);
	return nr;
}

static void without_a_jump_or_with_a_known_thread_it_is_one_run(void)
{
	CHECK_EQ(runs_of(8, 5000, 2), 1);
	CHECK_EQ(runs_of(7, 5000, 2), 0);        /* the thread of before */
	CHECK_EQ(runs_of(8, 500, 2), 0);         /* no jump */
	CHECK_EQ(runs_of(8, 21.5 + 1000, 2), 0); /* a second is not more than a second */
	CHECK_EQ(runs_of(8, 5000, 4), 0);        /* in the middle of a coroutine */
}

/* A thread of the first run comes back: it was a pause. */
static void a_thread_that_comes_back_joins_the_runs(void)
{
	struct analysis *a = analysis_new(NULL);

	foreign_run(a, 7, 0, 2, 3);
	foreign_add(a, 9, 8, 2, true, 5000, 0);
	foreign_add(a, 9, 8, 2, false, 5001, 0x9000);
	foreign_add(a, 1, 7, 8, true, 5002, 0);
	foreign_add(a, 1, 7, 8, false, 5003, 0x7000);
	CHECK_EQ(analysis_finish(a, NULL), 0);
	CHECK_EQ(a->runs.nr, 0);
	CHECK_EQ(a->model.events, 2 * 2 * 3 + 4);
	analysis_free(a);
}

/* The later half of the slots of a station comes before the earlier one. */
static void transitions_are_put_in_order(void)
{
	struct analysis *a = analysis_new(NULL);
	unsigned i;

	for (i = 0; i < 4; i++) {
		foreign_add(a, 1, 7, 6 + 2 * i, true, 100 + 10 * i, 0);
		foreign_add(a, 1, 7, 6 + 2 * i, false, 105 + 10 * i, 0x7000);
	}
	foreign_add(a, 1, 7, 2, true, 80, 0);
	foreign_add(a, 1, 7, 2, false, 85, 0x7000);
	for (i = 0; i < 30; i++) {
		foreign_add(a, 1, 7, 20 + 2 * i, true, 200 + 10 * i, 0);
		foreign_add(a, 1, 7, 20 + 2 * i, false, 205 + 10 * i, 0x7000);
	}
	foreign_add(a, 1, 7, 18, true, 201, 0); /* far too late */
	CHECK_EQ(analysis_finish(a, NULL), 0);
	CHECK_EQ(a->model.first_ts, BED_MS(80));
	CHECK_EQ(model_find(&a->model, 1)->double_resume.nr, 0);
	CHECK_EQ(model_find(&a->model, 1)->resumes, 35);
	CHECK_EQ(a->model.late, 1);
	caveat_is(a, "1 transitions came too late to be put in order, and were left out.");
	caveat_is(a, "addresses belong each to one coroutine and to no code");
	analysis_free(a);
}

/* An address where two coroutines wait at once is a place; one of a single coroutine is not. */
static void addresses_of_frames_are_no_places(void)
{
	struct analysis *a = analysis_new(NULL);
	unsigned i;

	for (i = 1; i <= 4; i++) {
		foreign_add(a, i, 7, 2, true, 10 * i, 0);
		foreign_add(a, i, 7, 2, false, 10 * i + 1, i <= 2 ? 0x7000 : 0x8000 + i);
	}
	CHECK_EQ(analysis_finish(a, NULL), 0);
	CHECK_EQ(a->model.own_addresses, 2);
	CHECK(model_find(&a->model, 1)->place != 0);
	CHECK_EQ(model_find(&a->model, 1)->place, model_find(&a->model, 2)->place);
	CHECK_EQ(model_find(&a->model, 3)->place, 0);
	CHECK_EQ(model_find(&a->model, 4)->place, 0);
	analysis_free(a);
}

/* Of one kind, all addresses of frames are one place. */
static void addresses_of_a_kind_are_one_place(void)
{
	struct analysis *a = analysis_new(NULL);
	struct trace_item item;
	unsigned i;

	for (i = 1; i <= 5; i++) {
		trace_item_init(&item, TRACE_ITEM_EVENT);
		trace_event_init(&item.event);
		item.event.kind = TRACE_BIRTH;
		item.event.probe_id = i;
		item.event.tid = 7;
		item.event.ts = BED_MS(10 * i - 1);
		item.event.site = i <= 3 ? 5 : 6;
		item.event.station = TRACE_NO_STATION;
		CHECK_EQ(analysis_add(a, &item), 0);
		foreign_add(a, i, 7, 2, true, 10 * i, 0);
		foreign_add(a, i, 7, 2, false, 10 * i + 1, 0x8000 + i);
	}
	CHECK_EQ(analysis_finish(a, NULL), 0);
	CHECK(model_find(&a->model, 1)->place != 0);
	CHECK_EQ(model_find(&a->model, 1)->place, model_find(&a->model, 3)->place);
	CHECK_EQ(model_find(&a->model, 4)->place, model_find(&a->model, 5)->place);
	CHECK(model_find(&a->model, 1)->place != model_find(&a->model, 4)->place);
	CHECK_EQ(a->model.places[model_find(&a->model, 1)->place].addr, 0);
	analysis_free(a);
}

static void what_is_missing_is_a_caveat(void)
{
	struct analysis *a = bed_begin(NULL);
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_TOTALS);
	item.totals.lost = 1200;
	item.totals.others_lost = 34;
	item.totals.forgotten = 5;
	item.totals.others_forgotten = 6;
	CHECK_EQ(analysis_add(a, &item), 0);
	trace_item_init(&item, TRACE_ITEM_WAITING);
	item.waiting.missing = "could not look";
	CHECK_EQ(analysis_add(a, &item), 0);
	CHECK_EQ(analysis_finish(a, NULL), 0);
	a->options.chosen_text = "Only some.";
	a->options.nr_parts = 3;
	a->findings.beyond = 7;
	caveat_is(a, "1,234 events were lost: findings that they could explain are marked");
	caveat_is(a, "A flight recorder kept the newest events; 11 older ones are not here.");
	caveat_is(a, "The collector could not look.");
	caveat_is(a, "Only some.");
	caveat_is(a, "The trace is a merge of 3 traces, which are judged as one program here");
	caveat_is(a, "7 findings are at more places than fit in here.");
	analysis_free(a);
	a = bed_begin(NULL);
	CHECK_EQ(analysis_finish(a, NULL), 0);
	caveat_is(a, "The collector did not come to its end (killed, or still at it)");
	analysis_free(a);
}

/* ---- foreign threads ----------------------------------------------------------------------------
 */

/*
 * Coroutine 1 is woken by thread 9 and runs on thread 7, @home times; then @away times on thread 9,
 * which woke it, or (@moves) on thread 8.  @others of its kind stay on thread 7.
 */
static struct analysis *with_strays(unsigned home, unsigned away, bool moves, unsigned others,
				    unsigned resumes)
{
	struct analysis *a = bed_begin(NULL);
	double ms = 1;
	unsigned i, k;

	for (k = 0; k <= others; k++) {
		BED_ADD(a, BIRTH, ms, .probe_id = 1 + k, .site = 1);
		BED_ADD(a, RESUME, ms + 0.1, .probe_id = 1 + k);
		BED_ADD(a, SUSPEND, ms + 0.2, .probe_id = 1 + k, .site = 2 + k);
		for (i = 0; k && i < resumes; i++, ms++) {
			BED_ADD(a, RESUME, ms + 0.5, .probe_id = 1 + k);
			BED_ADD(a, SUSPEND, ms + 0.6, .probe_id = 1 + k, .site = 2 + k);
		}
		ms++;
	}
	for (i = 0; i < home + away; i++, ms++) {
		uint64_t tid = i < home ? 7 : moves ? 8 : 9;

		BED_ADD(a, WAKE, ms, .probe_id = 1, .tid = 9);
		BED_ADD(a, RESUME, ms + 0.1, .probe_id = 1, .tid = tid);
		BED_ADD(a, SUSPEND, ms + 0.2, .probe_id = 1, .tid = tid, .site = 2);
	}
	bed_end(a, ms, 0);
	return a;
}

static void wakes_that_are_not_handed_over_run_on_the_wrong_thread(void)
{
	struct analysis *a = with_strays(20, 1, false, 0, 0);

	CHECK_STR(bed_group(a, "wrong-thread")->finding.evidence[0].text,
		  "20 wakes by other threads were handed to its own thread, and these were not");
	bed_found(a, "wrong-thread", CONFIDENCE_SUSPECT,
		  "1 of 22 resumes were on another thread than its own, first on thread 9");
	bed_found(with_strays(40, 2, false, 0, 0), "wrong-thread", CONFIDENCE_SUSPECT, "2 of 43");
	bed_found_none(with_strays(19, 1, false, 0, 0), "wrong-thread"); /* more than one in 20 */
	bed_found_none(with_strays(20, 0, false, 0, 0), "wrong-thread");
	bed_found_none(with_strays(20, 1, true, 0, 0), "wrong-thread"); /* it moves */
}

static void one_that_leaves_a_thread_where_its_kind_stays_is_wrong(void)
{
	struct analysis *a = with_strays(20, 2, true, 5, 20);

	CHECK_STR(bed_group(a, "wrong-thread")->finding.evidence[0].text,
		  "5 others of its kind never left their thread");
	bed_found(a, "wrong-thread", CONFIDENCE_SUSPECT,
		  "2 of 23 resumes were on another thread than its own, first on thread 8");
	bed_found_none(with_strays(20, 2, true, 4, 20), "wrong-thread"); /* too few of its kind */
	bed_found_none(with_strays(20, 2, true, 5, 18), "wrong-thread"); /* too few resumes */
	bed_found_none(with_strays(20, 3, true, 5, 20), "wrong-thread"); /* too often */
}

/* ---- samples of the processor
 * ----------------------------------------------------------------------- */

static void sample(struct cpu_samples *s, uint64_t tid, uint64_t from, uint64_t to, uint64_t cpu,
		   uint64_t queued, const char *state, const char *call)
{
	const struct trace_cpu item = { 50, tid, from, to, cpu, queued, state, call };

	CHECK_EQ(cpu_samples_add(s, &item), 0);
}

static void samples_add_up_between_any_two_times(void)
{
	struct cpu_samples s = { 0 };
	struct cpu_use use;

	sample(&s, 7, 100, 200, 60, 20, TRACE_CPU_BLOCKED, "read");
	sample(&s, 7, 200, 300, 0, 0, TRACE_CPU_BLOCKED, "write");
	sample(&s, 7, 300, 400, 50, 0, TRACE_CPU_PAGE, NULL);
	sample(&s, 7, 400, 500, 90, 0, TRACE_CPU_RUNNING, NULL);
	sample(&s, 7, 500, 600, 0, 0, TRACE_CPU_TRACER, NULL);
	sample(&s, 7, 700, 700, 5, 0, TRACE_CPU_RUNNING, NULL); /* no time */
	CHECK_EQ(s.nr, 5);
	use = cpu_samples_thread(&s, 50, 7, 100, 600);
	CHECK_EQ(use.measured_ns, 500);
	CHECK_EQ(use.cpu_ns, 60 + 50 + 90);
	CHECK_EQ(use.queued_ns, 20);
	CHECK_EQ(use.blocked_ns, 20 + 100 - 100); /* the tracer's waits are sleeps, too */
	CHECK_EQ(use.page_ns, 50);
	CHECK_EQ(use.tracer_ns, 100);
	CHECK_EQ(use.stopped_ns, 0);
	CHECK_STR(use.call, "write"); /* the longest */
	CHECK(use.has_calls && !use.is_exact);
	use = cpu_samples_thread(&s, 50, 7, 150, 250); /* halves */
	CHECK_EQ(use.measured_ns, 100);
	CHECK_EQ(use.cpu_ns, 30);
	CHECK_EQ(use.queued_ns, 10);
	CHECK_EQ(use.blocked_ns, 10 + 50);
	use = cpu_samples_thread(&s, 50, 7, 100, 200);
	CHECK_STR(use.call, "read");
	CHECK(!use.has_calls);
	CHECK_EQ(cpu_samples_thread(&s, 50, 8, 100, 600).measured_ns, 0);
	CHECK_EQ(cpu_samples_thread(&s, 50, 7, 600, 700).measured_ns, 0);
	cpu_samples_release(&s);
}

static void the_longest_call_is_named_whatever_the_order(void)
{
	struct cpu_samples s = { 0 };
	struct cpu_use use;

	sample(&s, 7, 0, 100, 0, 0, TRACE_CPU_BLOCKED, "read");
	sample(&s, 7, 100, 150, 0, 0, TRACE_CPU_BLOCKED, "write");
	sample(&s, 7, 150, 160, 0, 0, TRACE_CPU_BLOCKED, "fsync");
	use = cpu_samples_thread(&s, 50, 7, 0, 160);
	CHECK_STR(use.call, "read");
	CHECK(use.has_calls);
	cpu_samples_release(&s);
}

static void stops_are_of_a_process(void)
{
	struct cpu_samples s = { 0 };
	struct cpu_use use;

	sample(&s, 0, 100, 200, 0, 0, TRACE_CPU_STOPPED, NULL); /* of process 50 */
	sample(&s, 0, 300, 350, 0, 0, TRACE_CPU_STOPPED, NULL);
	sample(&s, 7, 100, 400, 0, 0, TRACE_CPU_BLOCKED, "read");
	CHECK_EQ(cpu_samples_stopped(&s, 50, 0, 1000), 150);
	CHECK_EQ(cpu_samples_stopped(&s, 0, 0, 1000), 150);
	CHECK_EQ(cpu_samples_stopped(&s, 51, 0, 1000), 0);
	CHECK_EQ(cpu_samples_stopped(&s, 50, 150, 320), 50 + 20);
	CHECK_EQ(cpu_samples_stopped(&s, 50, 200, 300), 0);
	use = cpu_samples_thread(&s, 50, 7, 100, 400);
	CHECK_EQ(use.stopped_ns, 150);
	CHECK_EQ(use.blocked_ns, 150);
	cpu_samples_release(&s);
}

int main(void)
{
	RUN(coroutines_that_mostly_change_their_thread_migrate);
	RUN(workers_are_uneven_from_three_to_one_on);
	RUN(a_thread_that_hardly_runs_coroutines_is_no_worker);
	RUN(a_coroutine_that_never_ran_for_a_tenth_of_a_second_is_reported);
	RUN(a_coroutine_that_is_destroyed_before_it_ran_is_reported);
	RUN(a_frame_destroyed_while_it_waits_is_reported);
	RUN(an_ended_frame_that_stays_is_reported_if_others_are_destroyed);
	RUN(what_waits_when_the_program_ends_fails_only_tests);
	RUN(a_resume_of_a_running_coroutine_is_proven_if_nothing_is_lost);
	RUN(a_coroutine_does_not_run_after_its_end);
	RUN(an_address_that_cannot_be_code_is_suspicious);
	RUN(a_thousand_empty_yields_a_second_are_polling);
	RUN(a_ready_coroutine_that_ten_others_overtake_is_starved);
	RUN(five_starved_at_one_place_are_strong);
	RUN(a_choice_is_among_those_that_are_ready_and_not_running);
	RUN(a_thread_that_takes_the_newest_first_is_unfair);
	RUN(waking_all_for_what_one_gets_is_a_herd);
	RUN(a_wait_far_longer_than_others_at_its_place_is_long);
	RUN(a_jump_of_time_with_other_threads_is_another_run);
	RUN(without_a_jump_or_with_a_known_thread_it_is_one_run);
	RUN(a_thread_that_comes_back_joins_the_runs);
	RUN(transitions_are_put_in_order);
	RUN(addresses_of_frames_are_no_places);
	RUN(addresses_of_a_kind_are_one_place);
	RUN(what_is_missing_is_a_caveat);
	RUN(wakes_that_are_not_handed_over_run_on_the_wrong_thread);
	RUN(one_that_leaves_a_thread_where_its_kind_stays_is_wrong);
	RUN(samples_add_up_between_any_two_times);
	RUN(the_longest_call_is_named_whatever_the_order);
	RUN(stops_are_of_a_process);
	return 0;
}
