/* SPDX-License-Identifier: MIT */
/* slice_switches.c - when threads had no processor, exactly: for the slices of a query. */
#include "query/slice_switches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool slice_thread_add(struct slice_thread *t, const struct trace_switch *item)
{
	if (t->nr == t->room) {
		size_t room = t->room ? 2 * t->room : 16;
		struct slice_switch *list = reallocarray(t->list, room, sizeof(*list));

		if (!list)
			return false;
		t->list = list;
		t->room = room;
	}
	t->list[t->nr++] = (struct slice_switch){
		.from_ts = item->from_ts,
		.to_ts = item->to_ts,
		.is_blocked = !strcmp(item->state, TRACE_SWITCH_BLOCKED),
	};
	t->is_sorted = false;
	return true;
}

/* The list of thread @tid, created if @create; NULL: none, or no memory. */
static struct slice_thread *slice_thread_of(struct slice_switches *s, uint64_t tid, bool create)
{
	uint64_t number = 0;

	if (u64map_get(&s->numbers, tid, &number))
		return &s->threads[number - 1];
	if (!create)
		return NULL;
	if (s->nr == s->room) {
		size_t room = s->room ? 2 * s->room : 16;
		struct slice_thread *threads = reallocarray(s->threads, room, sizeof(*threads));

		if (!threads)
			return NULL;
		s->threads = threads;
		s->room = room;
	}
	if (u64map_put(&s->numbers, tid, s->nr + 1) < 0)
		return NULL;
	s->threads[s->nr] = (struct slice_thread){ 0 };
	return &s->threads[s->nr++];
}

int slice_switches_add(struct slice_switches *s, const struct trace_switch *item)
{
	struct slice_thread *t;

	if (!item->state || item->to_ts < item->from_ts)
		return 0; /* of a damaged trace */
	if (!strcmp(item->state, TRACE_SWITCH_RECORDED)) {
		if (!s->is_recorded || item->to_ts < s->since_ts)
			s->since_ts = item->to_ts;
		s->is_recorded = true;
		return 0;
	}
	t = strcmp(item->state, TRACE_SWITCH_LOST) != 0 ? slice_thread_of(s, item->tid, true)
							: &s->lost;
	return t && slice_thread_add(t, item) ? 0 : -ENOMEM;
}

static int slice_switch_compare(const void *a, const void *b)
{
	const struct slice_switch *x = a, *y = b;

	return x->to_ts < y->to_ts ? -1 : x->to_ts > y->to_ts;
}

/* The first one that ends after @ts; t->nr: none. */
static size_t slice_thread_find(struct slice_thread *t, uint64_t ts)
{
	size_t low = 0, high = t->nr;

	if (!t->is_sorted && t->nr)
		qsort(t->list, t->nr, sizeof(*t->list), slice_switch_compare);
	t->is_sorted = true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->list[middle].to_ts <= ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool slice_switches_split(struct slice_switches *s, uint64_t tid, uint64_t from_ts, uint64_t to_ts,
			  struct slice_shares *parts)
{
	struct slice_thread *t = slice_thread_of(s, tid, false);
	size_t i = slice_thread_find(&s->lost, from_ts);

	*parts = (struct slice_shares){ 0 };
	if (!s->is_recorded || from_ts < s->since_ts || to_ts < from_ts ||
	    (i < s->lost.nr && s->lost.list[i].from_ts < to_ts))
		return false;
	/* Times of one thread do not overlap: by their ends they are in the order of time. */
	for (i = t ? slice_thread_find(t, from_ts) : 0;
	     t && i < t->nr && t->list[i].from_ts < to_ts; i++) {
		uint64_t from = t->list[i].from_ts > from_ts ? t->list[i].from_ts : from_ts;
		uint64_t to = t->list[i].to_ts < to_ts ? t->list[i].to_ts : to_ts;

		if (t->list[i].is_blocked)
			parts->blocked_ns += to - from;
		else
			parts->queued_ns += to - from; /* preempted, or woken */
	}
	if (parts->queued_ns + parts->blocked_ns > to_ts - from_ts)
		return false; /* of a damaged trace: they overlap */
	parts->cpu_ns = to_ts - from_ts - parts->queued_ns - parts->blocked_ns;
	return true;
}

void slice_switches_release(struct slice_switches *s)
{
	size_t i;

	for (i = 0; i < s->nr; i++)
		free(s->threads[i].list);
	free(s->threads);
	free(s->lost.list);
	u64map_release(&s->numbers);
	*s = (struct slice_switches){ 0 };
}
