/* SPDX-License-Identifier: MIT */
/* server_pace.c - how far a reader is behind a growing trace, and what it leaves out to keep up. */
#include "serve/server_pace.h"

#include <string.h>

#include "base/monotonic.h"

#define HURRY_NS (2 * NS_PER_SEC)
#define CALM_NS  (500 * NS_PER_MS)

static bool pace_may_leave_out(const struct trace_event *ev)
{
	return trace_is_transition(ev) || ev->kind == TRACE_WAKE;
}

static void pace_leave_out(struct feed_pace *p, const struct trace_event *ev)
{
	if (!p->gap.from_ts || ev->ts < p->gap.from_ts)
		p->gap.from_ts = ev->ts;
	if (ev->ts > p->gap.to_ts)
		p->gap.to_ts = ev->ts;
	if (trace_is_transition(ev))
		p->gap.transitions++;
	else
		p->gap.others++;
}

bool pace_takes(struct feed_pace *p, const struct trace_item *item)
{
	if (item->type != TRACE_ITEM_EVENT)
		return true;
	if (item->event.ts > p->last_ts)
		p->last_ts = item->event.ts;
	if (!p->hurries || !pace_may_leave_out(&item->event))
		return true;
	pace_leave_out(p, &item->event);
	return false;
}

void pace_set(struct feed_pace *p, uint64_t now_ns, bool has_more)
{
	uint64_t behind = has_more && p->last_ts && now_ns > p->last_ts ? now_ns - p->last_ts : 0;

	if (behind > HURRY_NS)
		p->hurries = true;
	else if (behind < CALM_NS)
		p->hurries = false;
}

bool pace_take_gap(struct feed_pace *p, struct trace_gap *gap)
{
	if (!p->gap.transitions && !p->gap.others)
		return false;
	*gap = p->gap;
	p->transitions += gap->transitions;
	p->wakes += gap->others;
	p->left_ns += gap->to_ts - gap->from_ts;
	memset(&p->gap, 0, sizeof(p->gap));
	return true;
}
