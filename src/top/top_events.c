/* SPDX-License-Identifier: MIT */
/* top_events.c - a picture as events in the order of time, for the detectors of `report`. */
#include "top/top_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"

/* Shorter ones cannot be part of a finding: most rows need not be looked at. */
#define EVENTS_RUNNING_NS UINT64_C(100000000)
#define EVENTS_READY_NS   UINT64_C(5000000)

/* By id, from the events of the threads: the time of the last one; 0: none. */
struct top_told {
	struct u64map births, transitions, wakes;
};

static struct trace_event *events_next(struct top_events *e)
{
	size_t room = e->room ? 2 * e->room : 256;
	struct trace_event *at;

	if (e->nr == e->room) {
		at = reallocarray(e->at, room, sizeof(struct trace_event));
		if (!at)
			return NULL;
		e->at = at;
		e->room = room;
	}
	trace_event_init(&e->at[e->nr]);
	return &e->at[e->nr++];
}

static int events_compare(const void *a, const void *b)
{
	const struct trace_event *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	/* At one time a coroutine is created before it does something. */
	return (y->kind == TRACE_BIRTH) - (x->kind == TRACE_BIRTH);
}

/* ---- events of the threads ------------------------------------------------------------ */

static int told_note(struct top_told *told, const struct trace_event *ev)
{
	struct u64map *map = ev->kind == TRACE_BIRTH  ? &told->births
			     : ev->kind == TRACE_WAKE ? &told->wakes
						      : &told->transitions;
	uint64_t *ts;

	if (trace_is_of_resource(ev))
		return 0;
	ts = u64map_at(map, ev->probe_id);
	if (!ts)
		return -ENOMEM;
	if (ev->ts > *ts)
		*ts = ev->ts;
	return 0;
}

static uint64_t told_ts(const struct u64map *map, uint64_t id)
{
	uint64_t ts;

	return u64map_get(map, id, &ts) ? ts : 0;
}

static int events_add_thread(struct top_events *e, struct top_told *told,
			     const struct recover_thread *t)
{
	uint32_t i;

	for (i = 0; i < t->nr_last; i++) {
		struct trace_event *ev = events_next(e);

		if (!ev)
			return -ENOMEM;
		*ev = t->last[i].ev;
		ev->name = t->last[i].name;
		ev->name_size = (uint32_t)strlen(t->last[i].name);
		if (told_note(told, ev) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- states --------------------------------------------------------------------------- */

/* These waits name who can end them. */
static bool row_names_cause(const struct top_row *row)
{
	const struct sidecar_coroutine *co = &row->c->co;

	return row->state == TRACE_STATE_SUSPENDED && co->has_resource &&
	       (co->reason == TRACE_REASON_JOIN || co->reason == TRACE_REASON_MUTEX ||
		co->reason == TRACE_REASON_SEMAPHORE);
}

static bool row_is_needed(const struct top_row *row, const struct top_picture *p,
			  const struct top_told *told)
{
	uint64_t age = top_row_age(row, p);

	return row_names_cause(row) ||
	       (row->state == TRACE_STATE_RUNNING && age >= EVENTS_RUNNING_NS) ||
	       (row->state == TRACE_STATE_READY && age >= EVENTS_READY_NS) ||
	       told_ts(&told->transitions, row->c->co.probe_id) ||
	       told_ts(&told->wakes, row->c->co.probe_id);
}

static int events_add_birth(struct top_events *e, const struct recover_coroutine *c)
{
	struct trace_event *ev = events_next(e);

	if (!ev)
		return -ENOMEM;
	ev->kind = TRACE_BIRTH;
	ev->flags = TRACE_ADOPTED;
	ev->probe_id = c->co.probe_id;
	ev->pid = (uint32_t)c->co.pid;
	ev->ts = c->co.birth_ts && c->co.birth_ts < c->co.since_ts ? c->co.birth_ts
								   : c->co.since_ts;
	ev->name = c->name;
	ev->name_size = (uint32_t)strlen(c->name);
	return 0;
}

static int events_add_state(struct top_events *e, const struct top_row *row)
{
	const struct recover_coroutine *c = row->c;
	struct trace_event *ev = events_next(e);

	if (!ev)
		return -ENOMEM;
	ev->kind = row->state == TRACE_STATE_RUNNING ? TRACE_RESUME : TRACE_SUSPEND;
	ev->is_active = row->state == TRACE_STATE_RUNNING;
	ev->probe_id = c->co.probe_id;
	ev->ts = c->co.since_ts;
	ev->tid = c->tid;
	ev->addr = c->co.addr;
	if (row->state == TRACE_STATE_RUNNING)
		return 0;
	ev->site = c->co.site;
	ev->reason = c->co.reason;
	ev->flags = c->co.has_resource ? TRACE_HAS_RESOURCE : 0;
	ev->resource = c->co.resource;
	return 0;
}

static int events_add_wake(struct top_events *e, const struct recover_coroutine *c)
{
	struct trace_event *ev = events_next(e);

	if (!ev)
		return -ENOMEM;
	ev->kind = TRACE_WAKE;
	ev->probe_id = c->co.probe_id;
	ev->ts = c->woken_ts;
	return 0;
}

/* What the events of the threads do not have. */
static int events_add_row(struct top_events *e, const struct top_row *row,
			  const struct top_told *told)
{
	const struct recover_coroutine *c = row->c;
	uint64_t id = c->co.probe_id;
	bool has_state = row->state == TRACE_STATE_RUNNING || row->state == TRACE_STATE_SUSPENDED ||
			 row->state == TRACE_STATE_READY;
	int rc = 0;

	/* Coroutines of stations have no life-cycle events in a trace either. */
	if (!told_ts(&told->births, id) && (c->co.birth_ts || row_names_cause(row)))
		rc = events_add_birth(e, c);
	if (rc >= 0 && has_state && told_ts(&told->transitions, id) < c->co.since_ts)
		rc = events_add_state(e, row);
	if (rc >= 0 && row->state == TRACE_STATE_READY && told_ts(&told->wakes, id) < c->woken_ts)
		rc = events_add_wake(e, c);
	return rc;
}

int top_events_make(struct top_events *e, const struct top_picture *p)
{
	struct top_told told = { 0 };
	size_t i;
	int rc = 0;

	/* Events of one coroutine alone say nothing about what its thread did meanwhile. */
	for (i = 0; i < p->r.nr_threads && rc >= 0 && !p->r.options.of; i++)
		rc = events_add_thread(e, &told, &p->r.threads[i]);
	for (i = 0; i < p->nr && rc >= 0; i++) {
		if (row_is_needed(&p->rows[i], p, &told))
			rc = events_add_row(e, &p->rows[i], &told);
	}
	if (e->nr)
		qsort(e->at, e->nr, sizeof(struct trace_event), events_compare);
	u64map_release(&told.births);
	u64map_release(&told.transitions);
	u64map_release(&told.wakes);
	return rc;
}

void top_events_release(struct top_events *e)
{
	free(e->at);
	memset(e, 0, sizeof(*e));
}
