/* SPDX-License-Identifier: MIT */
/* test_jsonl_summary.c - coroutines are distinguished, and sums are right. */
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

static void gives_the_number_of_who_left_to_another(void)
{
	struct coro_ids ids = { 0 };
	uint64_t i;

	CHECK_EQ(coro_ids_enter(&ids, 7, TRACE_NO_STATION), 0);
	CHECK_EQ(coro_ids_enter(&ids, 7, 3), 1);
	coro_ids_leave(&ids, 7, TRACE_NO_STATION);
	coro_ids_leave(&ids, 7, TRACE_NO_STATION);
	coro_ids_leave(&ids, 8, 3);
	CHECK_EQ(coro_ids_find(&ids, 7, TRACE_NO_STATION), -ENOENT);
	CHECK_EQ(coro_ids_find(&ids, 7, 3), 1);
	CHECK_EQ(coro_ids_enter(&ids, 9, TRACE_NO_STATION), 0);
	coro_ids_leave(&ids, 7, 3);
	CHECK_EQ(coro_ids_enter(&ids, 7, 3), 1);
	CHECK_EQ(coro_ids_count(&ids), 4);
	/* A million one after the other, a hundred at a time, need the memory of a hundred. */
	for (i = 100; i < 1000100; i++) {
		CHECK(coro_ids_enter(&ids, i, TRACE_NO_STATION) < 110);
		coro_ids_leave(&ids, i - 100, TRACE_NO_STATION);
	}
	CHECK(ids.probes.size <= 1024 && ids.pairs.size <= 1024);
	CHECK_EQ(coro_ids_count(&ids), 1000004);
	coro_ids_release(&ids);
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
	CHECK_EQ(coro_ids_count(&s.coroutines.ids), 2);
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

	/* k coroutines have name k; more names than are shown. */
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

static void add_life(struct trace_summary *s, uint64_t id, uint8_t kind, uint8_t flags,
		     const char *name)
{
	struct trace_event ev;

	trace_event_init(&ev);
	ev.probe_id = id;
	ev.kind = kind;
	ev.flags = flags;
	ev.is_active = kind == TRACE_RESUME;
	ev.ts = 1000 + id;
	ev.name = name;
	ev.name_size = name ? (uint32_t)strlen(name) : 0;
	if (kind == TRACE_END || kind == TRACE_DESTROY) {
		ev.written = 10;
		ev.lost = id % 2;
	}
	add_event(s, &ev);
}

static void counts_lives_by_their_events(void)
{
	struct trace_summary s = { 0 };
	struct trace_item alive = { .type = TRACE_ITEM_COROUTINE };
	uint64_t i;

	for (i = 1; i <= 1000; i++) {
		add_life(&s, i, TRACE_BIRTH, 0, "worker");
		add_life(&s, i, TRACE_RESUME, 0, NULL);
		if (i % 4 == 1) /* ends, and its frame is freed later */
			add_life(&s, i, TRACE_END, 0, NULL);
		if (i % 4 == 1 || i % 4 == 2) /* is destroyed, ended or not */
			add_life(&s, i, TRACE_DESTROY, 0, NULL);
		if (i % 4 == 3) /* both at once */
			add_life(&s, i, TRACE_END, TRACE_DESTROYED, NULL);
	}
	trace_item_init(&alive, TRACE_ITEM_COROUTINE);
	alive.coroutine.probe_id = 4;
	alive.coroutine.name = "worker";
	CHECK_EQ(summary_add(&s, &alive), 0);
	CHECK_EQ(summary_born(&s), 1000);
	CHECK_EQ(summary_ended(&s), 750);
	CHECK_EQ(coro_ids_count(&s.coroutines.ids), 1000);
	CHECK_EQ(s.nr_named, 1000);
	CHECK_EQ(s.kinds[TRACE_BIRTH], 1000);
	CHECK_EQ(s.events, 1000);
	CHECK_EQ(s.others, 1000 + 250 + 500 + 250);
	CHECK(s.nr_losers > 0 && s.worst[0].lost == 1 && s.worst[0].station == TRACE_NO_STATION);
	/* The last state of the remaining one is known, and the destroyed ones do not count. */
	CHECK_EQ(s.alive[0].last.state, TRACE_STATE_RUNNING);
	CHECK(s.coroutines.room <= 1024);
	summary_release(&s);
}

static void bounds_the_names_it_remembers(void)
{
	struct trace_summary s = { 0 };
	char name[32];
	uint64_t i;

	for (i = 0; i < SUMMARY_NAMES + 1000; i++) {
		snprintf(name, sizeof(name), "n%u", (unsigned)i);
		add_life(&s, i, TRACE_BIRTH, 0, name);
		add_life(&s, i, TRACE_END, TRACE_DESTROYED, NULL);
	}
	add_life(&s, i, TRACE_BIRTH, 0, "n5");
	CHECK_EQ(s.names.nr, SUMMARY_NAMES);
	CHECK_EQ(s.nr_unnamed, 1000);
	CHECK_EQ(s.nr_named, SUMMARY_NAMES + 1001);
	summary_release(&s);
}

static void adds_up_gaps_by_thread_and_knows_places(void)
{
	struct trace_item item = { .type = TRACE_ITEM_GAP };
	struct trace_summary s = { 0 };
	size_t top[3];
	uint64_t i;

	for (i = 0; i < 300; i++) {
		item.gap = (struct trace_gap){ .lane = (uint32_t)(i % 30),
					       .tid = 100 + i % 30,
					       .transitions = i % 30,
					       .others = 1 };
		CHECK_EQ(summary_add(&s, &item), 0);
	}
	CHECK_EQ(s.nr_gaps, 30);
	CHECK_EQ(summary_top_gaps(&s, top, 3), 3);
	CHECK(s.gaps[top[0]].tid == 129 && s.gaps[top[0]].transitions == 290);
	CHECK(s.gaps[top[0]].others == 10 && s.gaps[top[0]].gaps == 10);
	CHECK(s.gaps[top[2]].tid == 127);
	item = (struct trace_item){ .type = TRACE_ITEM_SITE, .site = { 5, 17, 1, "a.c", "main" } };
	CHECK_EQ(summary_add(&s, &item), 0);
	item.site = (struct trace_site){ 6, 18, 1, "", NULL };
	CHECK_EQ(summary_add(&s, &item), 0);
	CHECK_STR(summary_place(&s, 5), "a.c:17 main");
	CHECK_STR(summary_place(&s, 6), "(unknown file):18");
	CHECK(!summary_place(&s, 0) && !summary_place(&s, 7));
	summary_release(&s);
}

/* Of equal ones the first; never more than were asked for. */
static void lists_begin_with_the_largest(void)
{
	static const uint64_t lost[] = { 5, 9, 5, 0, 9, 7, 12, 1 };
	static const size_t order[] = { 6, 1, 4, 5, 0, 2, 7, 3 };
	struct summary_gaps gaps[8] = { { 0 } };
	struct trace_summary s = { .gaps = gaps, .nr_gaps = 8 };
	size_t numbers[SUMMARY_WORST + 4], max, nr, i;

	for (i = 0; i < 8; i++) {
		gaps[i].transitions = lost[i] / 2;
		gaps[i].others = lost[i] - lost[i] / 2;
	}
	for (max = 1; max < SUMMARY_WORST + 2; max++) {
		nr = summary_top_gaps(&s, numbers, max);
		CHECK_EQ(nr, max < 8 ? max : 8);
		for (i = 0; i < nr; i++)
			CHECK_EQ(numbers[i], order[i]);
	}
	for (i = 0; i < 14; i++)
		CHECK_EQ(u64map_put(&s.name_counts, 100 + i, 1 + i % 7), 0);
	for (max = 1; max < SUMMARY_WORST + 4; max++) {
		nr = summary_top_names(&s, numbers, max);
		CHECK_EQ(nr, max < SUMMARY_WORST ? max : SUMMARY_WORST);
		for (i = 0; i < nr; i++)
			CHECK_EQ(numbers[i], 106 - i / 2 + 7 * (i % 2));
	}
	u64map_release(&s.name_counts);
}

int main(void)
{
	RUN(gives_the_number_of_who_left_to_another);
	RUN(counts_lives_by_their_events);
	RUN(bounds_the_names_it_remembers);
	RUN(adds_up_gaps_by_thread_and_knows_places);
	RUN(numbers_coroutines_by_probe_and_station);
	RUN(measures_from_the_first_to_the_last_in_any_order);
	RUN(keeps_the_ten_that_lost_most);
	RUN(counts_names_and_sorts_them);
	RUN(keeps_copies_of_what_the_reader_forgets);
	RUN(lists_begin_with_the_largest);
	return 0;
}
