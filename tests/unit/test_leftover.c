/* SPDX-License-Identifier: MIT */
/* test_leftover.c - coroutines that had not ended, grouped by site, in bounded memory. */
#include <string.h>

#include "trace/item.h"
#include "trace/leftover.h"

#include "check.h"

static struct summary_last waits(uint8_t reason, uint64_t ts, uint64_t resource)
{
	return (struct summary_last){ .state = TRACE_STATE_SUSPENDED,
				      .reason = reason,
				      .ts = ts,
				      .has_resource = true,
				      .resource = resource };
}

static void add(struct leftovers *l, uint64_t id, const char *name, struct summary_last last,
		uint64_t place)
{
	CHECK_EQ(leftovers_add(l, id, name, &last, place), 0);
}

static const struct leftover_group *top(const struct leftovers *l, size_t rank)
{
	size_t numbers[8];

	CHECK(leftovers_top(l, numbers, 8) > rank);
	return &l->groups[numbers[rank]];
}

static void puts_those_at_one_place_together(void)
{
	struct leftovers l = { 0 };
	uint64_t i;

	add(&l, 100, "acceptor", waits(TRACE_REASON_ACCEPT, 5, 3), 1);
	for (i = 0; i < 47; i++)
		add(&l, i, i % 2 ? "odd" : NULL, waits(TRACE_REASON_IO_READ, 1000 - i, 40 - i % 20),
		    2);
	/* The same site for another reason, and without a site. */
	add(&l, 101, NULL, waits(TRACE_REASON_IO_WRITE, 7, 3), 2);
	add(&l, 102, NULL, waits(TRACE_REASON_IO_READ, 8, 3), 0);
	CHECK_EQ(l.nr, 4);
	CHECK_EQ(top(&l, 0)->nr, 47);
	CHECK_EQ(top(&l, 0)->place, 2);
	CHECK_EQ(top(&l, 0)->last.ts, 954);
	CHECK_EQ(top(&l, 0)->probe_id, 46);
	CHECK_EQ(top(&l, 0)->newest_ts, 1000);
	CHECK_EQ(top(&l, 0)->nr_resources, 20);
	CHECK_EQ(top(&l, 0)->resources[0], 21);
	CHECK_EQ(top(&l, 0)->resources[19], 40);
	CHECK(!top(&l, 0)->has_more_resources);
	CHECK_EQ(top(&l, 0)->nr_names, LEFTOVER_NAMES);
	CHECK_STR(top(&l, 0)->names[0], "odd");
	/* Of equal groups the one with the longest wait comes first. */
	CHECK_EQ(top(&l, 1)->last.ts, 5);
	CHECK_EQ(top(&l, 2)->last.ts, 7);
	CHECK_EQ(top(&l, 3)->last.ts, 8);
	leftovers_release(&l);
	CHECK_EQ(l.nr, 0);
}

/* Without a site the address identifies it; it is ignored for a coroutine that does not wait. */
static void goes_by_the_address_where_there_is_no_place(void)
{
	struct summary_last last = { .state = TRACE_STATE_SUSPENDED, .ts = 1 };
	struct leftovers l = { 0 };
	uint64_t i;

	for (i = 0; i < 30; i++) {
		last.addr = 0x1000 + i % 3;
		add(&l, i, NULL, last, 0);
	}
	CHECK_EQ(l.nr, 3);
	CHECK_EQ(top(&l, 2)->nr, 10);
	last.state = TRACE_STATE_RUNNING;
	for (i = 0; i < 30; i++) {
		last.addr = 0x2000 + i;
		add(&l, i, NULL, last, 0);
	}
	CHECK_EQ(l.nr, 4);
	CHECK_EQ(top(&l, 0)->nr, 30);
	leftovers_release(&l);
}

/* Keys that collide on purpose: the groups stay separate. */
static void is_not_confused_by_addresses_made_for_it(void)
{
	struct summary_last last = { .state = TRACE_STATE_SUSPENDED, .ts = 1 };
	struct leftovers l = { 0 };
	uint64_t i;

	for (i = 0; i < 200; i++) {
		/* Shifted by one, the top bit is lost: pairs share one key. */
		last.addr = (i % 100) | (i % 2 ? UINT64_C(1) << 63 : 0);
		add(&l, i, NULL, last, 0);
		add(&l, i, NULL, last, i % 100 + 1);
	}
	CHECK_EQ(l.nr, 200);
	for (i = 0; i < l.nr; i++)
		CHECK_EQ(l.groups[i].nr, 2);
	leftovers_release(&l);
}

static void keeps_no_more_than_it_has_room_for(void)
{
	struct leftovers l = { 0 };
	uint64_t i;

	for (i = 0; i < LEFTOVER_GROUPS + 100; i++)
		add(&l, i, "x", waits(TRACE_REASON_USER, i + 1, 0), i + 1);
	CHECK_EQ(l.nr, LEFTOVER_GROUPS);
	CHECK_EQ(l.nr_elsewhere, 100);
	/* The lowest are kept, in whichever order they come. */
	for (i = 0; i < 1000; i++)
		add(&l, i, "x", waits(TRACE_REASON_USER, 1, 1 + (i * 7 + 500) % 1000), 1);
	CHECK_EQ(l.nr_elsewhere, 100);
	CHECK_EQ(top(&l, 0)->nr, 1001);
	CHECK_EQ(top(&l, 0)->nr_resources, LEFTOVER_RESOURCES);
	CHECK(top(&l, 0)->has_more_resources);
	for (i = 0; i < LEFTOVER_RESOURCES; i++)
		CHECK_EQ(top(&l, 0)->resources[i], i);
	leftovers_release(&l);
}

int main(void)
{
	RUN(puts_those_at_one_place_together);
	RUN(goes_by_the_address_where_there_is_no_place);
	RUN(is_not_confused_by_addresses_made_for_it);
	RUN(keeps_no_more_than_it_has_room_for);
	return 0;
}
