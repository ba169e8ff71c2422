/* SPDX-License-Identifier: MIT */
/* switch_times.c - when threads had no processor, by the context switches of a trace. */
#include "analyze/switch_times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPAN_SIZE sizeof(struct switch_span)

/* Length of the first joined spans. */
#define JOINED_NS UINT64_C(125000)

/* A time must be longer than the joined spans at its borders by this factor. */
#define JOINED_PART 8u

/* The counters of a sample are read a little before or after its time. */
#define COUNTERS_NS UINT64_C(1000000)

/* ---- add ------------------------------------------------------------------ */

static struct switch_span *switch_span_at(const struct time_list *t, size_t i)
{
	return time_list_at(t, SPAN_SIZE, i);
}

static uint64_t switch_span_ns(const struct switch_span *s)
{
	return s->span.to_ts - s->span.from_ts;
}

/* True if the thread did one thing in all of it. */
static bool switch_span_is_one(const struct switch_span *s)
{
	uint64_t ns = switch_span_ns(s);

	return s->queued_ns == ns || s->blocked_ns == ns;
}

static void switch_span_join(struct switch_span *a, const struct switch_span *b)
{
	a->span.to_ts = b->span.to_ts;
	a->queued_ns += b->queued_ns;
	a->blocked_ns += b->blocked_ns;
}

/* True if @b may be added to @a, so that both are one span. */
static bool switch_spans_fit(const struct switch_span *a, const struct switch_span *b,
			     uint64_t span_ns)
{
	return b->span.to_ts - a->span.from_ts <= span_ns;
}

static size_t switch_list_thin(struct time_list *t, uint64_t span_ns)
{
	size_t i, kept = t->nr > 0;

	for (i = 1; i < t->nr; i++) {
		const struct switch_span *next = switch_span_at(t, i);
		struct switch_span *last = switch_span_at(t, kept - 1);

		if (switch_spans_fit(last, next, span_ns))
			switch_span_join(last, next);
		else
			*switch_span_at(t, kept++) = *next;
	}
	return t->nr = kept;
}

/* Join waits until there is room for more. */
static void switch_times_thin(struct switch_times *s)
{
	size_t i;

	while (s->nr > SWITCH_SPANS - SWITCH_SPANS / 4 && s->span_ns < UINT64_MAX / 2) {
		s->span_ns = s->span_ns ? 2 * s->span_ns : JOINED_NS;
		s->nr = 0;
		for (i = 0; i < s->threads.nr; i++)
			s->nr += switch_list_thin(&s->threads.threads[i], s->span_ns);
		/* Every thread has one at least. */
		if (s->nr == s->threads.nr)
			break;
	}
}

static int switch_span_add(struct switch_times *s, uint64_t tid, const struct switch_span *span)
{
	struct time_list *t = thread_lists_enter(&s->threads, tid);
	struct switch_span *last;

	if (!t)
		return -ENOMEM;
	last = t->nr ? switch_span_at(t, t->nr - 1) : NULL;
	if (last && span->span.from_ts < last->span.to_ts)
		return 0; /* not in order: another tool wrote it */
	if (last && switch_spans_fit(last, span, s->span_ns)) {
		switch_span_join(last, span);
		return 0;
	}
	if (s->nr >= SWITCH_SPANS)
		switch_times_thin(s);
	s->nr++;
	return time_list_insert(t, SPAN_SIZE, span);
}

/* Losses of several processors may overlap: they are kept apart, and in order. */
static int switch_loss_add(struct switch_times *s, const struct trace_switch *item)
{
	struct time_span span = { item->from_ts, item->to_ts };
	struct time_span *last;

	s->nr_lost += item->lost;
	last = s->lost.nr ? time_list_at(&s->lost, sizeof(span), s->lost.nr - 1) : NULL;
	if (last && span.from_ts >= last->from_ts && span.from_ts <= last->to_ts) {
		last->to_ts = span.to_ts > last->to_ts ? span.to_ts : last->to_ts;
		return 0;
	}
	return s->lost.nr < SWITCH_LOSSES ? time_list_insert(&s->lost, sizeof(span), &span) : 0;
}

int switch_times_add(struct switch_times *s, const struct trace_switch *item)
{
	struct switch_span span = { .span = { item->from_ts, item->to_ts } };
	const char *state = item->state ? item->state : "";

	if (!strcmp(state, TRACE_SWITCH_RECORDED)) {
		if (!s->is_recorded || item->to_ts < s->since_ts)
			s->since_ts = item->to_ts;
		s->is_recorded = true;
		return 0;
	}
	if (!strcmp(state, TRACE_SWITCH_WAKES)) {
		s->has_wakes = true;
		return 0;
	}
	if (!strcmp(state, TRACE_SWITCH_LOST))
		return switch_loss_add(s, item);
	if (item->to_ts <= item->from_ts || !item->tid)
		return 0;
	s->nr_switches++;
	if (item->to_ts > s->known_ts)
		s->known_ts = item->to_ts;
	if (!strcmp(state, TRACE_SWITCH_BLOCKED))
		span.blocked_ns = switch_span_ns(&span);
	else
		span.queued_ns = switch_span_ns(&span);
	return switch_span_add(s, item->tid, &span);
}

/* ---- ask ------------------------------------------------------------------ */

static bool is_lost_between(const struct switch_times *s, uint64_t from_ts, uint64_t to_ts)
{
	const struct time_span *span;
	size_t i;

	if (s->lost.nr >= SWITCH_LOSSES)
		return true;
	/* One that ends exactly at the begin may have hidden a switch there. */
	i = time_list_first(&s->lost, sizeof(*span), from_ts ? from_ts - 1 : 0);
	span = i < s->lost.nr ? time_list_at(&s->lost, sizeof(*span), i) : NULL;
	return span && span->from_ts < to_ts;
}

static bool is_recorded_between(const struct switch_times *s, uint64_t from_ts, uint64_t to_ts)
{
	return s->is_recorded && from_ts >= s->since_ts && to_ts > from_ts &&
	       !is_lost_between(s, from_ts, to_ts);
}

/* Add the part of @span to @use; returns how much of that may be wrong. */
static uint64_t switch_use_add(struct cpu_use *use, const struct switch_span *span,
			       uint64_t from_ts, uint64_t to_ts)
{
	uint64_t part = time_span_overlap(&span->span, from_ts, to_ts),
		 whole = switch_span_ns(span);
	double share = (double)part / (double)whole;

	if (switch_span_is_one(span)) {
		use->queued_ns += span->queued_ns ? part : 0;
		use->blocked_ns += span->blocked_ns ? part : 0;
		return 0;
	}
	use->queued_ns += (uint64_t)((double)span->queued_ns * share);
	use->blocked_ns += (uint64_t)((double)span->blocked_ns * share);
	return part < whole ? part : 0;
}

struct cpu_use switch_times_thread(const struct switch_times *s, uint64_t tid, uint64_t from_ts,
				   uint64_t to_ts)
{
	const struct time_list *t = thread_lists_find(&s->threads, tid);
	struct cpu_use use = { 0 };
	uint64_t away, unsure = 0;
	size_t i;

	if (!is_recorded_between(s, from_ts, to_ts))
		return use;
	for (i = t ? time_list_first(t, SPAN_SIZE, from_ts) : 0; t && i < t->nr; i++) {
		if (switch_span_at(t, i)->span.from_ts >= to_ts)
			break;
		unsure += switch_use_add(&use, switch_span_at(t, i), from_ts, to_ts);
	}
	if (unsure > (to_ts - from_ts) / JOINED_PART)
		return (struct cpu_use){ 0 };
	use.measured_ns = to_ts - from_ts;
	away = use.queued_ns + use.blocked_ns;
	use.cpu_ns = away < use.measured_ns ? use.measured_ns - away : 0;
	return use;
}

uint64_t switch_times_late(const struct switch_times *s, uint64_t tid,
			   const struct cpu_interval *counted, uint64_t from_ts, uint64_t to_ts)
{
	const struct time_list *t = thread_lists_find(&s->threads, tid);
	uint64_t begin = counted->span.from_ts, known = 0, ended = 0, asked = 0, late;
	size_t i;

	begin = begin > COUNTERS_NS ? begin - COUNTERS_NS : 0;
	for (i = t ? time_list_first(t, SPAN_SIZE, begin) : 0; t && i < t->nr; i++) {
		const struct switch_span *span = switch_span_at(t, i);
		struct cpu_use part = { 0 };

		if (span->span.to_ts > counted->span.to_ts)
			break;
		switch_use_add(&part, span, from_ts, to_ts);
		known += span->queued_ns;
		ended += span->blocked_ns;
		asked += part.blocked_ns;
	}
	late = counted->queued_ns > known ? counted->queued_ns - known : 0;
	late = late < ended ? late : ended;
	return ended ? (uint64_t)((double)late * (double)asked / (double)ended) : 0;
}

void switch_times_each(const struct switch_times *s, uint64_t tid, uint64_t from_ts, uint64_t to_ts,
		       void (*take)(void *ctx, const struct time_span *span, bool is_blocked),
		       void *ctx)
{
	const struct time_list *t = thread_lists_find(&s->threads, tid);
	size_t i;

	for (i = t ? time_list_first(t, SPAN_SIZE, from_ts) : 0; t && i < t->nr; i++) {
		const struct switch_span *span = switch_span_at(t, i);
		struct time_span cut = span->span;

		if (cut.from_ts >= to_ts)
			break;
		if (!switch_span_is_one(span))
			continue;
		cut.from_ts = cut.from_ts > from_ts ? cut.from_ts : from_ts;
		cut.to_ts = cut.to_ts < to_ts ? cut.to_ts : to_ts;
		take(ctx, &cut, span->blocked_ns > 0);
	}
}

void switch_times_release(struct switch_times *s)
{
	thread_lists_release(&s->threads);
	free(s->lost.elements);
	*s = (struct switch_times){ 0 };
}
