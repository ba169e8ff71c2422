/* SPDX-License-Identifier: MIT */
/* test_coro_table.c - the entries of live coroutines, and what each event means for their state. */
#include "trace/coro_table.h"

#include "check.h"

struct entry {
	struct coro_state life;
	int value;
};

static struct trace_event event_of(enum trace_kind kind, uint64_t ts)
{
	struct trace_event ev;

	trace_event_init(&ev);
	ev.kind = (uint8_t)kind;
	ev.is_active = kind == TRACE_RESUME;
	ev.ts = ts;
	return ev;
}

/* Returns what the event means, and applies it if it counts. */
static enum coro_step step_at(struct coro_state *s, enum trace_kind kind, uint64_t ts)
{
	struct trace_event ev = event_of(kind, ts);
	enum coro_step step = coro_step_of(s, &ev);

	if (coro_step_counts(step))
		coro_step_apply(s, &ev);
	return step;
}

static void states_follow_each_other(void)
{
	struct coro_state s = { 0 };

	CHECK_EQ(step_at(&s, TRACE_BIRTH, 10), CORO_STEP_EXPECTED);
	CHECK_EQ(s.state, TRACE_STATE_NEW);
	CHECK_EQ(step_at(&s, TRACE_RESUME, 20), CORO_STEP_EXPECTED);
	CHECK_EQ(step_at(&s, TRACE_RESUME, 30), CORO_STEP_RESUMED_TWICE);
	CHECK_EQ(step_at(&s, TRACE_WAKE, 35), CORO_STEP_EXPECTED);
	CHECK_EQ(s.since_ts, 30);
	CHECK_EQ(step_at(&s, TRACE_SUSPEND, 40), CORO_STEP_EXPECTED);
	CHECK_EQ(step_at(&s, TRACE_SUSPEND, 50), CORO_STEP_SUSPENDED_TWICE);
	CHECK_EQ(step_at(&s, TRACE_RESUME, 45), CORO_STEP_LATE);
	CHECK_EQ(s.state, TRACE_STATE_SUSPENDED);
	CHECK_EQ(s.since_ts, 50);
	CHECK_EQ(step_at(&s, TRACE_END, 60), CORO_STEP_EXPECTED);
	CHECK_EQ(step_at(&s, TRACE_RESUME, 70), CORO_STEP_AFTER_END);
	CHECK_EQ(s.state, TRACE_STATE_ENDED);
	CHECK_EQ(step_at(&s, TRACE_BIRTH, 80), CORO_STEP_BORN_AGAIN);
}

static void a_birth_may_be_read_after_the_first_transition(void)
{
	struct coro_state s = { 0 };

	CHECK_EQ(step_at(&s, TRACE_RESUME, 20), CORO_STEP_EXPECTED);
	CHECK_EQ(step_at(&s, TRACE_BIRTH, 10), CORO_STEP_EXPECTED);
	CHECK_EQ(s.state, TRACE_STATE_RUNNING);
	CHECK_EQ(s.since_ts, 20);
	CHECK(s.is_born);
}

static void destroying_events_are_told_from_an_end(void)
{
	struct trace_event end = event_of(TRACE_END, 1), destroy = event_of(TRACE_DESTROY, 1);

	CHECK(!coro_event_destroys(&end));
	CHECK(coro_event_destroys(&destroy));
	end.flags = TRACE_DESTROYED;
	CHECK(coro_event_destroys(&end));
}

static void slots_are_found_reused_and_all_zero_when_new(void)
{
	struct coro_table t = { .entry_size = sizeof(struct entry) };
	struct entry *e;
	uint64_t id;

	CHECK(!coro_table_find(&t, 1, TRACE_NO_STATION));
	for (id = 0; id < 1000; id++) {
		e = coro_table_enter(&t, id, TRACE_NO_STATION);
		CHECK(e && !e->value);
		e->value = (int)id + 1;
	}
	e = coro_table_find(&t, 500, TRACE_NO_STATION);
	CHECK_EQ(e->value, 501);
	CHECK(coro_table_at(&t, coro_table_slot(&t, e)) == e);
	coro_table_remove(&t, e);
	CHECK(!coro_table_find(&t, 500, TRACE_NO_STATION));
	CHECK(!coro_table_find(&t, 7, 3));
	e = coro_table_enter(&t, 7, 3);
	CHECK(e && !e->value && e->life.probe_id == 7 && e->life.station == 3);
	CHECK_EQ(t.room, 1024);
	CHECK(!coro_table_at(&t, 1024));
	coro_table_release(&t);
	CHECK(!coro_table_find(&t, 1, TRACE_NO_STATION));
}

int main(void)
{
	RUN(states_follow_each_other);
	RUN(a_birth_may_be_read_after_the_first_transition);
	RUN(destroying_events_are_told_from_an_end);
	RUN(slots_are_found_reused_and_all_zero_when_new);
	return 0;
}
