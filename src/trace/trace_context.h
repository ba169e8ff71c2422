/* SPDX-License-Identifier: MIT */
/*
 * trace_context.h - which span of the user's own traces each coroutine works for.
 *
 * A program that uses distributed tracing passes the W3C traceparent of a request to the SDK; the
 * trace has it as an event of kind TRACE_CONTEXT.  A coroutine without a context of its own has
 * that of its parent at the time of its creation.
 */
#ifndef TRACE_TRACE_CONTEXT_H
#define TRACE_TRACE_CONTEXT_H

#include "base/u64map.h"
#include "trace/event.h"

/* As numbers: the first byte of an id is the highest. */
struct trace_context {
	uint64_t trace_high, trace_low; /* both 0: none */
	uint64_t span;
	uint8_t flags; /* bit 0: the user's trace is sampled */
};

/* "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" */
#define TRACE_CONTEXT_TEXT 56

/* Of an event of kind TRACE_CONTEXT.  False: the coroutine has no context from then on. */
bool trace_context_of(const struct trace_event *ev, struct trace_context *out);

void trace_context_format(const struct trace_context *c, char text[TRACE_CONTEXT_TEXT]);

/* Contexts of the coroutines that exist.  All zero is empty. */
struct context_table {
	struct u64map numbers; /* probe_id to 1 + index */
	struct trace_context *contexts;
	uint32_t *unused; /* indexes */
	size_t nr, room, nr_unused;
};

/* For each event, in the order of time.  0 or -ENOMEM. */
int context_table_change(struct context_table *t, const struct trace_event *ev);

/* As long as a program sets no context, this is all that an event costs. */
static inline int context_table_event(struct context_table *t, const struct trace_event *ev)
{
	if (ev->kind != TRACE_CONTEXT &&
	    (!t->nr || ev->kind == TRACE_WAKE || trace_is_transition(ev)))
		return 0;
	return context_table_change(t, ev);
}

/* NULL: none.  Valid until the next event. */
const struct trace_context *context_table_find(const struct context_table *t, uint64_t probe_id);

void context_table_release(struct context_table *t);

#endif
