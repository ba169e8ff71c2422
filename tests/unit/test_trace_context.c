/* SPDX-License-Identifier: MIT */
/* test_trace_context.c - the trace context of each coroutine: set, inherited, ended. */
#include "trace/trace_context.h"

#include "check.h"

static struct trace_event event_of(enum trace_kind kind, uint64_t id)
{
	struct trace_event ev;

	trace_event_init(&ev);
	ev.kind = (uint8_t)kind;
	ev.probe_id = id;
	return ev;
}

static void set_context(struct context_table *t, uint64_t id, uint64_t trace, uint64_t span)
{
	struct trace_event ev = event_of(TRACE_CONTEXT, id);

	ev.written = trace;
	ev.lost = trace + 1;
	ev.resource = span;
	ev.seen = 1;
	CHECK_EQ(context_table_event(t, &ev), 0);
}

static void create(struct context_table *t, uint64_t id, uint64_t parent)
{
	struct trace_event ev = event_of(TRACE_BIRTH, id);

	ev.peer = parent;
	CHECK_EQ(context_table_event(t, &ev), 0);
}

static uint64_t span_of(const struct context_table *t, uint64_t id)
{
	const struct trace_context *c = context_table_find(t, id);

	return c ? c->span : 0;
}

static void a_context_is_written_as_a_traceparent(void)
{
	struct trace_event ev = event_of(TRACE_CONTEXT, 1);
	struct trace_context c;
	char text[TRACE_CONTEXT_TEXT];

	ev.written = 0x0af7651916cd43dd;
	ev.lost = 0x8448eb211c80319c;
	ev.resource = 0x00ad6b7169203331;
	ev.seen = 1;
	CHECK(trace_context_of(&ev, &c));
	trace_context_format(&c, text);
	CHECK_STR(text, "00-0af7651916cd43dd8448eb211c80319c-00ad6b7169203331-01");
	ev.resource = 0;
	CHECK(!trace_context_of(&ev, &c));
}

static void children_have_the_context_that_the_parent_had_at_their_creation(void)
{
	struct context_table t = { 0 };

	create(&t, 1, 0);
	create(&t, 2, 1); /* before the parent has one */
	set_context(&t, 1, 10, 100);
	create(&t, 3, 1);
	create(&t, 4, 3);
	set_context(&t, 1, 20, 200);
	create(&t, 5, 1);
	set_context(&t, 3, 30, 300);
	CHECK_EQ(span_of(&t, 1), 200);
	CHECK_EQ(span_of(&t, 2), 0);
	CHECK_EQ(span_of(&t, 3), 300);
	CHECK_EQ(span_of(&t, 4), 100);
	CHECK_EQ(span_of(&t, 5), 200);
	context_table_release(&t);
}

static void a_context_ends_with_the_next_one_or_with_the_coroutine(void)
{
	struct trace_event end = event_of(TRACE_END, 1), destroy = event_of(TRACE_DESTROY, 1);
	struct trace_event dropped = event_of(TRACE_END, 2);
	struct context_table t = { 0 };
	uint64_t id;

	set_context(&t, 1, 10, 100);
	CHECK_EQ(context_table_event(&t, &end), 0);
	CHECK_EQ(span_of(&t, 1), 100); /* its frame still exists */
	CHECK_EQ(context_table_event(&t, &destroy), 0);
	CHECK_EQ(span_of(&t, 1), 0);
	set_context(&t, 2, 10, 100);
	dropped.flags = TRACE_DESTROYED;
	CHECK_EQ(context_table_event(&t, &dropped), 0);
	CHECK_EQ(span_of(&t, 2), 0);
	set_context(&t, 3, 10, 100);
	set_context(&t, 3, 0, 0);
	CHECK_EQ(span_of(&t, 3), 0);
	/* Memory does not grow with the coroutines that ended. */
	for (id = 10; id < 100010; id++) {
		set_context(&t, id, id, id);
		CHECK_EQ(span_of(&t, id), id);
		destroy.probe_id = id;
		CHECK_EQ(context_table_event(&t, &destroy), 0);
	}
	CHECK(t.room <= 64);
	for (id = 1; id <= 1000; id++)
		set_context(&t, id, id, id);
	for (id = 1; id <= 1000; id++)
		CHECK_EQ(span_of(&t, id), id);
	context_table_release(&t);
}

int main(void)
{
	RUN(a_context_is_written_as_a_traceparent);
	RUN(children_have_the_context_that_the_parent_had_at_their_creation);
	RUN(a_context_ends_with_the_next_one_or_with_the_coroutine);
	return 0;
}
