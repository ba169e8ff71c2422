/* SPDX-License-Identifier: MIT */
/* coro_table.c - the live coroutines of a trace, and the states that they pass through. */
#include "trace/coro_table.h"

#include <stdlib.h>
#include <string.h>

/* ---- states -------------------------------------------------------------- */

static enum coro_step coro_step_of_transition(const struct coro_state *s,
					      const struct trace_event *ev)
{
	/* A birth that arrives after the first transition does not make that one late. */
	if (ev->ts < s->since_ts && s->state != TRACE_STATE_UNKNOWN && s->state != TRACE_STATE_NEW)
		return CORO_STEP_LATE;
	if (s->state == TRACE_STATE_ENDED)
		return CORO_STEP_AFTER_END;
	if (ev->is_active)
		return s->state == TRACE_STATE_RUNNING ? CORO_STEP_RESUMED_TWICE
						       : CORO_STEP_EXPECTED;
	return s->state == TRACE_STATE_SUSPENDED ? CORO_STEP_SUSPENDED_TWICE : CORO_STEP_EXPECTED;
}

enum coro_step coro_step_of(const struct coro_state *s, const struct trace_event *ev)
{
	if (trace_is_transition(ev))
		return coro_step_of_transition(s, ev);
	if (ev->kind == TRACE_BIRTH && s->is_born)
		return CORO_STEP_BORN_AGAIN;
	return CORO_STEP_EXPECTED;
}

void coro_step_apply(struct coro_state *s, const struct trace_event *ev)
{
	switch ((enum trace_kind)ev->kind) {
	case TRACE_SUSPEND:
	case TRACE_RESUME:
		s->state = ev->is_active ? TRACE_STATE_RUNNING : TRACE_STATE_SUSPENDED;
		break;
	case TRACE_BIRTH:
		s->is_born = true;
		if (s->state != TRACE_STATE_UNKNOWN)
			return; /* it ran before its birth event was read */
		s->state = TRACE_STATE_NEW;
		break;
	case TRACE_END:
	case TRACE_DESTROY:
		s->state = TRACE_STATE_ENDED;
		break;
	default:
		return;
	}
	s->since_ts = ev->ts;
}

/* ---- entries ------------------------------------------------------------- */

static struct coro_state *coro_table_slot_at(const struct coro_table *t, size_t i)
{
	return (struct coro_state *)(void *)(t->entries + i * t->entry_size);
}

static bool coro_table_reserve(struct coro_table *t, size_t slot)
{
	size_t room = t->room ? t->room : 64;
	char *entries;

	if (slot < t->room)
		return true;
	while (room <= slot)
		room *= 2;
	entries = reallocarray(t->entries, room, t->entry_size);
	if (!entries)
		return false;
	memset(entries + t->room * t->entry_size, 0, (room - t->room) * t->entry_size);
	t->entries = entries;
	t->room = room;
	return true;
}

void *coro_table_enter(struct coro_table *t, uint64_t probe_id, uint32_t station)
{
	int64_t slot = coro_ids_enter(&t->ids, probe_id, station);
	struct coro_state *s;

	if (slot < 0 || !coro_table_reserve(t, (size_t)slot))
		return NULL;
	s = coro_table_slot_at(t, (size_t)slot);
	if (!s->in_use) {
		s->in_use = true;
		s->probe_id = probe_id;
		s->station = station;
	}
	return s;
}

void *coro_table_find(const struct coro_table *t, uint64_t probe_id, uint32_t station)
{
	int64_t slot = coro_ids_find(&t->ids, probe_id, station);

	return slot < 0 ? NULL : coro_table_at(t, (size_t)slot);
}

void *coro_table_at(const struct coro_table *t, size_t i)
{
	return i < t->room && coro_table_slot_at(t, i)->in_use ? coro_table_slot_at(t, i) : NULL;
}

size_t coro_table_slot(const struct coro_table *t, const void *entry)
{
	return (size_t)((const char *)entry - t->entries) / t->entry_size;
}

void coro_table_remove(struct coro_table *t, void *entry)
{
	struct coro_state *s = entry;

	coro_ids_leave(&t->ids, s->probe_id, s->station);
	memset(entry, 0, t->entry_size);
}

void coro_table_release(struct coro_table *t)
{
	coro_ids_release(&t->ids);
	free(t->entries);
	*t = (struct coro_table){ .entry_size = t->entry_size };
}
