/* SPDX-License-Identifier: MIT */
/* test_jsonl_summary.c - coroutines are told apart, and sums are right. */
#include "trace/summary.h"

#include <errno.h>

#include "check.h"

static void numbers_coroutines_by_probe_and_station(void)
{
	struct coro_ids ids = { 0 };

	CHECK_EQ(coro_ids_find(&ids, 7, TRACE_NO_STATION), -ENOENT);
	CHECK_EQ(coro_ids_enter(&ids, 7, TRACE_NO_STATION), 0);
	CHECK_EQ(coro_ids_enter(&ids, 0, TRACE_NO_STATION), 1);
	CHECK_EQ(coro_ids_enter(&ids, 7, 0), 2);
	CHECK_EQ(coro_ids_enter(&ids, 7, 1), 3);
	CHECK_EQ(coro_ids_enter(&ids, 8, 1), 4);
	CHECK_EQ(coro_ids_enter(&ids, 7, TRACE_NO_STATION), 0);
	CHECK_EQ(coro_ids_enter(&ids, 7, 1), 3);
	CHECK_EQ(coro_ids_find(&ids, 7, 1), 3);
	CHECK_EQ(coro_ids_find(&ids, 8, 0), -ENOENT);
	CHECK_EQ(coro_ids_count(&ids), 5);
	coro_ids_release(&ids);
	CHECK_EQ(coro_ids_count(&ids), 0);
}

static void add_event(struct trace_summary *s, const struct trace_event *ev)
{
	struct trace_item item = { .type = TRACE_ITEM_EVENT, .event = *ev };

	CHECK_EQ(summary_add(s, &item), 0);
}

static void measures_from_the_first_to_the_last_in_any_order(void)
{
	static const uint64_t times[] = { 500, 100, 900, 400 };
	struct trace_summary s = { 0 };
	int i;

	CHECK_EQ(summary_duration_ns(&s), 0);
	for (i = 0; i < 4; i++) {
		struct trace_event ev = { .probe_id = (uint64_t)i % 2,
					  .tid = (uint64_t)i % 3,
					  .ts = times[i],
					  .station = TRACE_NO_STATION };

		add_event(&s, &ev);
	}
	CHECK_EQ(s.events, 4);
	CHECK_EQ(s.first_ts, 100);
	CHECK_EQ(summary_duration_ns(&s), 800);
	CHECK_EQ(coro_ids_count(&s.coroutines), 2);
	CHECK_EQ(u64map_count(&s.threads), 3);
	summary_release(&s);
}

static void add_coroutine(struct trace_summary *s, uint64_t station, uint64_t lost,
			  const char *name)
{
	struct trace_item rec = {
		.type = TRACE_ITEM_COROUTINE,
		.coroutine = { .station = station, .lost = lost, .name = name, .dead = lost % 2 },
	};

	CHECK_EQ(summary_add(s, &rec), 0);
}

static void keeps_the_ten_that_lost_most(void)
{
	struct trace_summary s = { 0 };
	uint64_t i;

	for (i = 0; i < 1000; i++)
		add_coroutine(&s, i, i * 7919 % 1000, "name");
	CHECK_EQ(s.nr_described, 1000);
	CHECK_EQ(s.nr_losers, 999);
	CHECK_EQ(s.nr_worst, SUMMARY_WORST);
	for (i = 0; i < SUMMARY_WORST; i++) {
		CHECK_EQ(s.worst[i].lost, 999 - i);
		CHECK_STR(s.worst[i].name, "name");
	}
	summary_release(&s);
}

static void counts_names_and_sorts_them(void)
{
	struct trace_summary s = { 0 };
	size_t top[SUMMARY_WORST], nr;
	char name[16];
	int i, k;

	/* Name k has k bearers; more names than are shown. */
	for (k = 1; k <= 30; k++) {
		snprintf(name, sizeof(name), "name %d", k);
		for (i = 0; i < k; i++)
			add_coroutine(&s, 0, 0, name);
	}
	add_coroutine(&s, 0, 0, NULL);
	add_coroutine(&s, 0, 0, "");
	nr = summary_top_names(&s, top, SUMMARY_WORST);
	CHECK_EQ(nr, SUMMARY_WORST);
	CHECK_STR(strtab_text(&s.names, top[0]), "name 30");
	CHECK_STR(strtab_text(&s.names, top[9]), "name 21");
	CHECK_EQ(s.nr_named, 30 * 31 / 2);
	CHECK_EQ(summary_top_names(&s, top, 3), 3);
	CHECK_STR(strtab_text(&s.names, top[2]), "name 28");
	summary_release(&s);
}

static void keeps_copies_of_what_the_reader_forgets(void)
{
	char word[] = "./app", tool[] = "tool";
	const char *const words[] = { word, "x" };
	struct trace_item rec = {
		.type = TRACE_ITEM_RUN,
		.run = { .command = words, .nr_command = 2, .tool = tool },
	};
	struct trace_summary s = { 0 };

	CHECK_EQ(summary_add(&s, &rec), 0);
	CHECK_EQ(summary_add(&s, &rec), 0);
	word[0] = tool[0] = '#';
	CHECK_STR(s.run.command[0], "./app");
	CHECK_STR(s.run.tool, "tool");
	CHECK(s.run.hostname == NULL);
	summary_release(&s);
	summary_release(&s);
}

int main(void)
{
	RUN(numbers_coroutines_by_probe_and_station);
	RUN(measures_from_the_first_to_the_last_in_any_order);
	RUN(keeps_the_ten_that_lost_most);
	RUN(counts_names_and_sorts_them);
	RUN(keeps_copies_of_what_the_reader_forgets);
	return 0;
}
