/* SPDX-License-Identifier: MIT */
/* test_frame_owners.c - which coroutine ran on a thread at a given time. */
#include "check.h"
#include "collect/frame_owners.h"

static struct frame_owners owners;

/* An event of coroutine @id, in @lane. */
static void happens(uint32_t lane, enum trace_kind kind, uint64_t id, uint64_t ts)
{
	struct trace_event ev = { .kind = kind, .probe_id = id, .ts = ts };

	frame_owners_event(&owners, lane, &ev);
}

static void resume(uint32_t lane, uint64_t id, uint64_t ts)
{
	happens(lane, TRACE_RESUME, id, ts);
}

static void suspend(uint32_t lane, uint64_t id, uint64_t ts)
{
	happens(lane, TRACE_SUSPEND, id, ts);
}

static uint64_t who(uint64_t tid, uint64_t ts)
{
	return frame_owners_find(&owners, tid, ts, 0);
}

static size_t turns_of(size_t thread)
{
	CHECK(thread < owners.nr);
	return owners.threads[thread].nr;
}

/* From its resume to its suspend, the first time included and the last one not. */
static void a_coroutine_owns_its_thread_while_it_runs(void)
{
	frame_owners_open(&owners);
	frame_owners_lane(&owners, 0, 7);
	CHECK_EQ(who(7, 50), 0);
	resume(0, 3, 10);
	suspend(0, 3, 20);
	CHECK_EQ(who(7, 9), 0);
	CHECK_EQ(who(7, 10), 3);
	CHECK_EQ(who(7, 19), 3);
	CHECK_EQ(who(7, 20), 0);
	CHECK_EQ(who(8, 15), 0); /* a thread without a lane */
	CHECK_EQ(who(0, 15), 0); /* a frame without a thread */
	frame_owners_close(&owners);
	CHECK(!owners.is_on);
	CHECK_EQ(who(7, 15), 0);
}

static void the_one_that_resumed_it_runs_again_after_it(void)
{
	frame_owners_open(&owners);
	frame_owners_lane(&owners, 0, 7);
	resume(0, 1, 10);
	resume(0, 2, 20);
	resume(0, 3, 30);
	suspend(0, 3, 40);
	happens(0, TRACE_END, 2, 50);
	happens(0, TRACE_DESTROY, 1, 60);
	CHECK_EQ(who(7, 35), 3);
	CHECK_EQ(who(7, 45), 2);
	CHECK_EQ(who(7, 55), 1);
	CHECK_EQ(who(7, 65), 0);
	/* Without the end of an inner one: that of the outer one ends both. */
	resume(0, 1, 70);
	resume(0, 2, 80);
	suspend(0, 1, 90);
	CHECK_EQ(who(7, 95), 0);
	/* A second resume without a suspend: it is not twice on the stack. */
	resume(0, 1, 100);
	resume(0, 1, 110);
	suspend(0, 1, 120);
	CHECK_EQ(who(7, 115), 1);
	CHECK_EQ(who(7, 125), 0);
	CHECK_EQ(turns_of(0), 12);
	frame_owners_close(&owners);
}

static void other_events_change_nothing(void)
{
	static const enum trace_kind others[] = { TRACE_BIRTH,   TRACE_WAKE,    TRACE_CLOSE,
						  TRACE_ACQUIRE, TRACE_RELEASE, TRACE_CONTEXT };
	size_t i;

	frame_owners_open(&owners);
	frame_owners_lane(&owners, 0, 7);
	resume(0, 1, 10);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		happens(0, others[i], 1, 20 + i);
	suspend(0, 9, 30);  /* runs elsewhere */
	resume(5, 4, 30);   /* a lane without a thread */
	resume(500, 4, 30); /* a lane that was never seen */
	frame_owners_gap(&owners, 5, 30);
	CHECK_EQ(who(7, 40), 1);
	CHECK_EQ(turns_of(0), 1);
	CHECK_EQ(owners.nr, 1);
	frame_owners_close(&owners);
}

static void threads_have_their_own_stacks(void)
{
	uint32_t i;

	frame_owners_open(&owners);
	/* More lanes and threads than there is room for at first, from the last one on. */
	for (i = 200; i-- > 0;) {
		frame_owners_lane(&owners, i, 1000 + i);
		resume(i, i + 1, 10 + i);
	}
	for (i = 0; i < 200; i++)
		CHECK_EQ(who(1000 + i, 500), i + 1);
	CHECK_EQ(owners.nr, 200);
	CHECK(owners.nr_lanes >= 200);
	/* Lanes 63 and 64 are at the first bound. */
	suspend(63, 64, 600);
	CHECK_EQ(who(1063, 600), 0);
	CHECK_EQ(who(1064, 600), 65);
	frame_owners_close(&owners);
}

static void a_lane_goes_to_another_thread(void)
{
	frame_owners_open(&owners);
	frame_owners_lane(&owners, 0, 7);
	resume(0, 1, 10);
	frame_owners_lane(&owners, 0, 8); /* thread 7 has ended */
	resume(0, 2, 20);
	CHECK_EQ(who(7, 30), 1);
	CHECK_EQ(who(8, 30), 2);
	suspend(0, 1, 40); /* is not of thread 8 */
	CHECK_EQ(who(7, 50), 1);
	CHECK_EQ(who(8, 50), 2);
	/* A new thread with the id of the first: nothing runs there. */
	frame_owners_lane(&owners, 3, 7);
	resume(3, 5, 60);
	suspend(3, 5, 70);
	CHECK_EQ(who(7, 65), 5);
	CHECK_EQ(who(7, 75), 0);
	CHECK_EQ(owners.nr, 2);
	frame_owners_close(&owners);
	/* Without frames nothing is kept. */
	frame_owners_lane(&owners, 0, 7);
	CHECK_EQ(owners.nr_lanes, 0);
}

static void after_lost_events_nothing_is_known_until_the_next_resume(void)
{
	frame_owners_open(&owners);
	frame_owners_lane(&owners, 0, 7);
	resume(0, 1, 10);
	resume(0, 2, 20);
	frame_owners_gap(&owners, 0, 30);
	CHECK_EQ(who(7, 29), 2);
	CHECK_EQ(who(7, 30), 0);
	resume(0, 3, 40);
	suspend(0, 3, 50);
	CHECK_EQ(who(7, 45), 3);
	CHECK_EQ(who(7, 55), 0); /* not 2, which may have ended meanwhile */
	frame_owners_close(&owners);
}

static void more_coroutines_inside_one_another_than_are_kept(void)
{
	uint64_t id;

	frame_owners_open(&owners);
	frame_owners_lane(&owners, 0, 7);
	for (id = 1; id <= OWNERS_DEPTH; id++)
		resume(0, id, 10 * id);
	suspend(0, OWNERS_DEPTH, 1000);
	CHECK_EQ(who(7, 1000), OWNERS_DEPTH - 1);
	resume(0, 50, 1010);
	resume(0, 51, 1020); /* one too many: those below are not known any more */
	CHECK_EQ(who(7, 1020), 51);
	suspend(0, 51, 1030);
	CHECK_EQ(who(7, 1030), 0);
	frame_owners_close(&owners);
}

/* A clock that steps back: the turns stay in the order of the lane. */
static void times_do_not_go_back(void)
{
	frame_owners_open(&owners);
	frame_owners_lane(&owners, 0, 7);
	resume(0, 1, 100);
	suspend(0, 1, 90);
	resume(0, 2, 95);
	CHECK_EQ(who(7, 99), 0);
	CHECK_EQ(who(7, 100), 2);
	CHECK_EQ(owners.threads[0].turns[1].ts, 100);
	frame_owners_close(&owners);
}

static void a_stamp_that_is_inexact_has_no_owner_near_a_change(void)
{
	static const struct {
		uint64_t ts, slack, owner;
	} asked[] = {
		{ 100, 0, 1 },  { 99, 0, 0 },   /* the resume is at 100, the suspend at 200 */
		{ 109, 10, 0 }, { 110, 10, 1 }, /* the resume is within the slack, or just not */
		{ 189, 10, 1 }, { 190, 10, 0 }, /* the suspend */
		{ 5, 10, 0 },   { 150, 200, 0 }, { 150, 49, 1 }, { 150, 50, 0 },
	};
	size_t i;

	frame_owners_open(&owners);
	frame_owners_lane(&owners, 0, 7);
	resume(0, 1, 100);
	suspend(0, 1, 200);
	for (i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		CHECK_EQ(frame_owners_find(&owners, 7, asked[i].ts, asked[i].slack),
			 asked[i].owner);
	/* A change at time 0 is before every stamp, whatever the slack. */
	frame_owners_lane(&owners, 1, 8);
	resume(1, 4, 0);
	CHECK_EQ(frame_owners_find(&owners, 8, 5, 10), 4);
	CHECK_EQ(frame_owners_find(&owners, 8, 10, 10), 4);
	frame_owners_close(&owners);
}

static void old_turns_are_forgotten_and_the_current_one_stays(void)
{
	uint64_t i;

	frame_owners_open(&owners);
	frame_owners_lane(&owners, 0, 7);
	frame_owners_lane(&owners, 1, 8);
	resume(1, 9, 5);
	for (i = 1; i <= 100; i++) /* more than there is room for at first */
		resume(0, i, 10 * i);
	CHECK_EQ(turns_of(0), 100);
	frame_owners_forget(&owners, 9); /* nothing is older */
	CHECK_EQ(turns_of(0), 100);
	frame_owners_forget(&owners, 19); /* coroutine 1 may still be asked for */
	CHECK_EQ(turns_of(0), 100);
	frame_owners_forget(&owners, 20);
	CHECK_EQ(turns_of(0), 99);
	frame_owners_forget(&owners, 505);
	CHECK_EQ(turns_of(0), 51);
	CHECK_EQ(who(7, 505), 50);
	CHECK_EQ(who(7, 999), 99);
	CHECK_EQ(who(7, 1000), 100);
	frame_owners_forget(&owners, UINT64_MAX);
	CHECK_EQ(turns_of(0), 1);
	CHECK_EQ(turns_of(1), 1);
	CHECK_EQ(who(7, 2000), 100);
	CHECK_EQ(who(8, 2000), 9);
	frame_owners_close(&owners);
}

/* The limit is of memory: the newest turns are kept, and older times are not known. */
static void more_turns_than_are_kept(void)
{
	const uint64_t most = UINT64_C(1) << 20;
	uint64_t i;

	frame_owners_open(&owners);
	frame_owners_lane(&owners, 0, 7);
	for (i = 1; i <= most; i++)
		resume(0, 1 + i % 2, i);
	CHECK_EQ(turns_of(0), most);
	CHECK_EQ(who(7, 1), 2);
	resume(0, 5, most + 1);
	CHECK_EQ(turns_of(0), 1);
	CHECK_EQ(who(7, most), 0);
	CHECK_EQ(who(7, most + 1), 5);
	frame_owners_close(&owners);
}

int main(void)
{
	RUN(a_coroutine_owns_its_thread_while_it_runs);
	RUN(the_one_that_resumed_it_runs_again_after_it);
	RUN(other_events_change_nothing);
	RUN(threads_have_their_own_stacks);
	RUN(a_lane_goes_to_another_thread);
	RUN(after_lost_events_nothing_is_known_until_the_next_resume);
	RUN(more_coroutines_inside_one_another_than_are_kept);
	RUN(times_do_not_go_back);
	RUN(a_stamp_that_is_inexact_has_no_owner_near_a_change);
	RUN(old_turns_are_forgotten_and_the_current_one_stays);
	RUN(more_turns_than_are_kept);
	return 0;
}
