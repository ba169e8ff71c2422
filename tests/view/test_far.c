/* SPDX-License-Identifier: MIT */
/* test_far.c - durations of more than 63 bits in a hostile trace are not negative. */
#include "check.h"
#include "view/view.h"

static void add(struct view *v, uint8_t kind, uint64_t ts)
{
	struct trace_item item;
	struct err err = { 0 };

	trace_item_init(&item, TRACE_ITEM_EVENT);
	trace_event_init(&item.event);
	item.event.kind = kind;
	item.event.is_active = kind == TRACE_RESUME;
	item.event.probe_id = 5;
	item.event.tid = 7;
	item.event.seq = 2;
	item.event.ts = ts;
	CHECK(view_add(v, &item, &err) == 0);
}

static void a_wait_of_64_bits_is_shown_as_one(void)
{
	struct view_options options = { .trace = "t" };
	struct view *v = view_new(&options);
	struct trace_stats stats = { 0 };
	struct bytes out = { 0 };
	struct err err = { 0 };

	CHECK(v != NULL);
	add(v, TRACE_RESUME, 1000);
	add(v, TRACE_SUSPEND, 2000);
	add(v, TRACE_RESUME, UINT64_MAX - 5000);
	CHECK(view_finish(v, &stats, &err) == 0);
	CHECK(view_delta(v, 0, &out, &err) == 0);
	/* The wait, rounded as a double is. */
	CHECK(memmem(out.data, out.size, ",184467440737095", 16) != NULL);
	CHECK(memmem(out.data, out.size, "-9223372036854775808", 20) == NULL);
	bytes_release(&out);
	view_free(v);
}

int main(void)
{
	RUN(a_wait_of_64_bits_is_shown_as_one);
	return 0;
}
