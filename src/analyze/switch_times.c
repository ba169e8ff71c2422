/* SPDX-License-Identifier: MIT */
/* switch_times.c - when threads had no processor, by the context switches of a trace. */
#include "analyze/switch_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPAN_NS UINT64_C(1000000)

/* ---- add ------------------------------------------------------------------ */

static struct switch_thread *switch_thread_enter(struct switch_times *s, uint64_t tid)
{
	uint64_t *number = u64map_at(&s->numbers, tid);

	if (!number)
		return NULL;
	if (!*number) {
		if (s->nr_threads == s->room) {
			size_t room = s->room ? s->room * 2 : 16;
			struct switch_thread *threads = realloc(s->threads,
								room * sizeof(*threads));

			if (!threads)
				return NULL;
			s->threads = threads;
			s->room = room;
		}
		s->threads[s->nr_threads++] = (struct switch_thread){ 0 };
		*number = s->nr_threads;
	}
	return &s->threads[*number - 1];
}

static int span_append(struct switch_thread *t, const struct switch_span *span)
{
	if (!t->list || t->nr == t->room) {
		size_t room = t->room ? t->room * 2 : 16;
		struct switch_span *list = realloc(t->list, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		t->list = list;
		t->room = room;
	}
	t->list[t->nr++] = *span;
	return 0;
}

/* True if @b may be added to @a, so that both are one span. */
static bool spans_fit(const struct switch_span *a, const struct switch_span *b, uint64_t span_ns)
{
	return b->to_ts - a->from_ts <= span_ns;
}

static void span_join(struct switch_span *a, const struct switch_span *b)
{
	a->to_ts = b->to_ts;
	a->queued_ns += b->queued_ns;
	a->blocked_ns += b->blocked_ns;
}

/* Longer spans, so that there is room for more. */
static void switch_times_thin(struct switch_times *s)
{
	size_t i, k, kept;

	s->span_ns *= 2;
	s->nr = 0;
	for (i = 0; i < s->nr_threads; i++) {
		struct switch_thread *t = &s->threads[i];

		for (k = 1, kept = t->nr > 0; k < t->nr; k++) {
			if (spans_fit(&t->list[kept - 1], &t->list[k], s->span_ns))
				span_join(&t->list[kept - 1], &t->list[k]);
			else
				t->list[kept++] = t->list[k];
		}
		t->nr = kept;
		s->nr += kept;
	}
}

static int span_add(struct switch_times *s, uint64_t tid, const struct switch_span *span)
{
	struct switch_thread *t = switch_thread_enter(s, tid);
	struct switch_span *last;

	if (!t)
		return -ENOMEM;
	last = t->nr ? &t->list[t->nr - 1] : NULL;
	if (last && span->from_ts < last->to_ts)
		return 0; /* not in order: another tool wrote it */
	if (last && spans_fit(last, span, s->span_ns)) {
		span_join(last, span);
		return 0;
	}
	if (s->nr >= SWITCH_SPANS)
		switch_times_thin(s);
	s->nr++;
	return span_append(t, span);
}

int switch_times_add(struct switch_times *s, const struct trace_switch *item)
{
	uint64_t ns = item->to_ts - item->from_ts;
	struct switch_span span = { .from_ts = item->from_ts, .to_ts = item->to_ts };
	const char *state = item->state ? item->state : "";

	if (!s->span_ns)
		s->span_ns = SPAN_NS;
	if (!strcmp(state, TRACE_SWITCH_RECORDED)) {
		if (!s->is_recorded || item->to_ts < s->since_ts)
			s->since_ts = item->to_ts;
		s->is_recorded = true;
		return 0;
	}
	if (!strcmp(state, TRACE_SWITCH_LOST)) {
		s->nr_lost += item->lost;
		return s->lost.nr < SWITCH_LOSSES ? span_append(&s->lost, &span) : 0;
	}
	if (item->to_ts <= item->from_ts || !item->tid)
		return 0;
	s->nr_switches++;
	if (!strcmp(state, TRACE_SWITCH_PREEMPTED))
		span.queued_ns = ns;
	else
		span.blocked_ns = ns;
	return span_add(s, item->tid, &span);
}

/* ---- ask ------------------------------------------------------------------ */

/* Index of the first span that ends after @ts. */
static size_t first_span(const struct switch_thread *t, uint64_t ts)
{
	size_t low = 0, high = t->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->list[mid].to_ts <= ts)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool is_lost_between(const struct switch_times *s, uint64_t from_ts, uint64_t to_ts)
{
	size_t i;

	if (s->lost.nr >= SWITCH_LOSSES)
		return true;
	for (i = 0; i < s->lost.nr; i++) {
		if (s->lost.list[i].from_ts < to_ts && s->lost.list[i].to_ts >= from_ts)
			return true;
	}
	return false;
}

static uint64_t span_part(const struct switch_span *span, uint64_t ns, uint64_t from_ts,
			  uint64_t to_ts)
{
	uint64_t from = span->from_ts > from_ts ? span->from_ts : from_ts;
	uint64_t to = span->to_ts < to_ts ? span->to_ts : to_ts;

	if (to <= from)
		return 0;
	return (uint64_t)((double)ns * (double)(to - from) / (double)(span->to_ts - span->from_ts));
}

struct cpu_use switch_times_thread(const struct switch_times *s, uint64_t tid, uint64_t from_ts,
				   uint64_t to_ts)
{
	const struct switch_thread *t;
	struct cpu_use use = { 0 };
	uint64_t number, away;
	size_t i;

	if (!s->is_recorded || from_ts < s->since_ts || to_ts <= from_ts ||
	    is_lost_between(s, from_ts, to_ts))
		return use;
	use.measured_ns = to_ts - from_ts;
	if (u64map_get(&s->numbers, tid, &number) && number) {
		t = &s->threads[number - 1];
		for (i = first_span(t, from_ts); i < t->nr && t->list[i].from_ts < to_ts; i++) {
			use.queued_ns += span_part(&t->list[i], t->list[i].queued_ns, from_ts,
						   to_ts);
			use.blocked_ns += span_part(&t->list[i], t->list[i].blocked_ns, from_ts,
						    to_ts);
		}
	}
	away = use.queued_ns + use.blocked_ns;
	use.cpu_ns = away < use.measured_ns ? use.measured_ns - away : 0;
	return use;
}

void switch_times_release(struct switch_times *s)
{
	size_t i;

	for (i = 0; i < s->nr_threads; i++)
		free(s->threads[i].list);
	free(s->threads);
	free(s->lost.list);
	u64map_release(&s->numbers);
	*s = (struct switch_times){ 0 };
}
