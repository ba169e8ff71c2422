/* SPDX-License-Identifier: MIT */
/* trace_context.c - which span of the user's own traces each coroutine works for. */
#include "trace/trace_context.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool trace_context_of(const struct trace_event *ev, struct trace_context *out)
{
	*out = (struct trace_context){ .trace_high = ev->written,
				       .trace_low = ev->lost,
				       .span = ev->resource,
				       .flags = (uint8_t)ev->seen };
	return (out->trace_high | out->trace_low) && out->span;
}

void trace_context_format(const struct trace_context *c, char text[TRACE_CONTEXT_TEXT])
{
	snprintf(text, TRACE_CONTEXT_TEXT, "00-%016" PRIx64 "%016" PRIx64 "-%016" PRIx64 "-%02x",
		 c->trace_high, c->trace_low, c->span, c->flags);
}

/* ---- the table ----------------------------------------------------------- */

static bool context_table_make_room(struct context_table *t)
{
	size_t room = t->room ? 2 * t->room : 64;
	struct trace_context *contexts;
	uint32_t *unused;

	if (t->nr_unused || t->nr < t->room)
		return true;
	contexts = reallocarray(t->contexts, room, sizeof(*contexts));
	if (!contexts)
		return false;
	t->contexts = contexts;
	unused = reallocarray(t->unused, room, sizeof(*unused));
	if (!unused)
		return false;
	t->unused = unused;
	t->room = room;
	return true;
}

static int context_table_set(struct context_table *t, uint64_t probe_id, struct trace_context c)
{
	uint64_t *number;

	if (!context_table_make_room(t))
		return -ENOMEM;
	number = u64map_at(&t->numbers, probe_id);
	if (!number)
		return -ENOMEM;
	if (!*number)
		*number = 1 + (t->nr_unused ? t->unused[--t->nr_unused] : t->nr++);
	t->contexts[*number - 1] = c;
	return 0;
}

static void context_table_remove(struct context_table *t, uint64_t probe_id)
{
	uint64_t number;

	if (!u64map_get(&t->numbers, probe_id, &number))
		return;
	u64map_remove(&t->numbers, probe_id);
	t->unused[t->nr_unused++] = (uint32_t)(number - 1);
}

int context_table_change(struct context_table *t, const struct trace_event *ev)
{
	const struct trace_context *parents;
	struct trace_context c;

	if (ev->kind == TRACE_CONTEXT && trace_context_of(ev, &c))
		return context_table_set(t, ev->probe_id, c);
	if (ev->kind == TRACE_BIRTH) {
		parents = ev->peer ? context_table_find(t, ev->peer) : NULL;
		return parents ? context_table_set(t, ev->probe_id, *parents) : 0;
	}
	if (ev->kind == TRACE_CONTEXT || ev->kind == TRACE_DESTROY || ev->flags & TRACE_DESTROYED)
		context_table_remove(t, ev->probe_id);
	return 0;
}

const struct trace_context *context_table_find(const struct context_table *t, uint64_t probe_id)
{
	uint64_t number;

	return u64map_get(&t->numbers, probe_id, &number) ? &t->contexts[number - 1] : NULL;
}

void context_table_release(struct context_table *t)
{
	u64map_release(&t->numbers);
	free(t->contexts);
	free(t->unused);
	memset(t, 0, sizeof(*t));
}
