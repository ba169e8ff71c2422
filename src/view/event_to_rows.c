/* SPDX-License-Identifier: MIT */
/*
 * event_to_rows.c - update records, slices, series and levels of detail from events.
 *
 * The model interprets an event; this file stores the result.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view/view_data.h"

/* Saturating increment. */
static void view_count(uint32_t *nr)
{
	*nr += *nr != UINT32_MAX;
}

static uint32_t view_clip(uint64_t nr)
{
	return nr < UINT32_MAX ? (uint32_t)nr : UINT32_MAX;
}

static uint64_t view_since(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

/* 1 + the number of the thread in the view. */
static uint32_t view_thread_of(const struct view *v, uint64_t tid)
{
	uint64_t number;

	if (!u64map_get(&view_model(v)->threads, tid, &number) || !number)
		return VIEW_OTHER_THREADS + 1;
	return number <= VIEW_OTHER_THREADS ? (uint32_t)number : VIEW_OTHER_THREADS + 1;
}

/* 1 + the number of the live coroutine with that id; 0: none. */
static uint32_t view_number_of(const struct view *v, uint64_t probe_id)
{
	const struct model *m = view_model(v);
	const struct coro *co = probe_id ? model_find(m, probe_id) : NULL;
	const struct view_record *rec = co ? records_of(&v->records, m, co) : NULL;

	return rec && !rec->gone ? rec->number + 1 : 0;
}

/* ---- states --------------------------------------------------------------- */

static void view_change(struct view *v, unsigned state, int by, uint64_t ts)
{
	if (state == TRACE_STATE_RUNNING)
		series_change(&v->series, SERIES_RUNNING, by, ts);
	else if (state == TRACE_STATE_SUSPENDED)
		series_change(&v->series, SERIES_SUSPENDED, by, ts);
	else if (state == TRACE_STATE_READY)
		series_change(&v->series, SERIES_READY, by, ts);
}

static void view_enter(struct view *v, struct view_record *rec, unsigned state, uint64_t ts)
{
	view_change(v, rec->state, -1, ts);
	view_change(v, state, 1, ts);
	rec->state = (uint8_t)state;
	rec->since = ts;
}

static bool is_waiting(const struct view_record *rec)
{
	return rec->state == TRACE_STATE_SUSPENDED || rec->state == TRACE_STATE_READY;
}

static void view_end_wait(struct view_record *rec, uint64_t ts)
{
	uint64_t waited = view_since(rec->suspended, ts);

	rec->waited += waited;
	if (rec->state == TRACE_STATE_READY)
		rec->ready += view_since(rec->woken, ts);
	if (waited > rec->longest) {
		rec->longest = waited;
		rec->longest_site = rec->site;
	}
}

/* ---- slices --------------------------------------------------------------- */

static int end_slice(struct view *v, struct view_record *rec, uint64_t ts, unsigned flags)
{
	struct slice *slice = &rec->slice;
	struct view_thread *t = &v->threads[slice->thread];
	int rc;

	slice->end = ts > slice->start ? ts : slice->start;
	slice->flags = (uint8_t)((slice->flags & ~(unsigned)SLICE_OPEN) | flags);
	rec->ran += slice->end - slice->start;
	t->busy += slice->end - slice->start;
	rc = spool_end(&v->spool, rec->slice_number - 1, slice, &v->err);
	rec->slice_number = 0;
	if (rc < 0)
		return rc;
	if (slice_cpu_end(v, slice) < 0)
		return -ENOMEM;
	return lod_add(&v->lod, slice->thread, slice->start, slice->end, rec->number);
}

static int begin_slice(struct view *v, struct view_record *rec, const struct trace_event *ev,
		       unsigned flags)
{
	uint64_t number;

	rec->slice = (struct slice){
		.start = ev->ts,
		.end = ev->ts,
		.coro = rec->number,
		.thread = rec->thread,
		.number = view_clip(rec->nr_slices),
		.flags = (uint8_t)flags,
	};
	if (rec->wake_is_new && !(flags & SLICE_NO_START)) {
		rec->slice.wake = rec->woken;
		rec->slice.waker = rec->waker;
		rec->slice.wake_thread = rec->wake_thread;
		rec->wake_is_new = false;
	}
	rec->nr_slices++;
	if (spool_add(&v->spool, &rec->slice, &number, &v->err) < 0)
		return v->err.code;
	rec->slice_number = number + 1;
	v->threads[rec->thread].slices += !(flags & SLICE_NO_START);
	return 0;
}

/* The site, reason and resource of a suspension are stored with the slice that it ends. */
static void tell_where(struct view_record *rec, const struct coro *co)
{
	rec->site = co->place;
	rec->reason = co->reason;
	rec->resource = co->has_resource ? co->resource : 0;
	rec->flags = (uint16_t)(rec->flags & ~(RECORD_HAS_RESOURCE | RECORD_WOKEN_SINCE));
	if (co->has_resource)
		rec->flags |= RECORD_HAS_RESOURCE;
	rec->slice.site = rec->site;
	rec->slice.reason = rec->reason;
	rec->slice.resource = rec->resource;
}

static int view_note_address(struct view *v, uint32_t place, uint64_t addr)
{
	size_t room = v->addresses_room ? v->addresses_room : 64;
	uint64_t *addresses;

	while (room <= place)
		room *= 2;
	if (room > v->addresses_room) {
		addresses = reallocarray(v->addresses, room, sizeof(*addresses));
		if (!addresses)
			return -ENOMEM;
		memset(addresses + v->addresses_room, 0,
		       (room - v->addresses_room) * sizeof(*addresses));
		v->addresses = addresses;
		v->addresses_room = room;
	}
	if (!v->addresses[place])
		v->addresses[place] = addr;
	return 0;
}

static int view_suspend(struct view *v, struct view_record *rec, const struct coro *co,
			const struct trace_event *ev)
{
	unsigned flags = co->has_resource ? SLICE_HAS_RESOURCE : 0;
	int rc;

	rec->thread = view_thread_of(v, ev->tid) - 1;
	if (!rec->slice_number && begin_slice(v, rec, ev, SLICE_NO_START) < 0)
		return v->err.code;
	tell_where(rec, co);
	if (co->place && !ev->site && view_note_address(v, co->place, ev->addr) < 0)
		return -ENOMEM;
	if (rec->slice.flags & SLICE_NO_START) {
		rec->slice.flags |= (uint8_t)flags;
		rc = spool_end(&v->spool, rec->slice_number - 1, &rec->slice, &v->err);
		rec->slice_number = 0;
	} else {
		rc = end_slice(v, rec, ev->ts, flags);
	}
	view_count(&rec->suspends);
	view_enter(v, rec, TRACE_STATE_SUSPENDED, ev->ts);
	rec->suspended = ev->ts;
	return rc;
}

static int view_resume(struct view *v, struct view_record *rec, const struct coro *co,
		       const struct trace_event *ev)
{
	uint32_t thread = view_thread_of(v, ev->tid) - 1;

	if (rec->slice_number && end_slice(v, rec, ev->ts, SLICE_CUT) < 0)
		return v->err.code ? v->err.code : -ENOMEM;
	if (is_waiting(rec))
		view_end_wait(rec, ev->ts);
	rec->thread = thread;
	rec->threads |= UINT64_C(1) << thread % 64;
	rec->migrations = view_clip(co->migrations);
	rec->flags = (uint16_t)(rec->flags & ~RECORD_WOKEN_SINCE);
	view_count(&rec->resumes);
	view_enter(v, rec, TRACE_STATE_RUNNING, ev->ts);
	return begin_slice(v, rec, ev, SLICE_OPEN);
}

/* ---- create, wake, end ---------------------------------------------------- */

static void view_wake(struct view *v, struct view_record *rec, const struct coro *co,
		      const struct trace_event *ev)
{
	rec->woken = ev->ts;
	rec->waker = view_number_of(v, ev->peer);
	rec->wake_thread = view_thread_of(v, ev->tid);
	rec->wake_is_new = true;
	view_count(&rec->wakes);
	if (!co->woken_since)
		return;
	rec->flags |= RECORD_WOKEN_SINCE;
	if (rec->state == TRACE_STATE_SUSPENDED)
		view_enter(v, rec, TRACE_STATE_READY, ev->ts);
}

static int view_end(struct view *v, struct view_record *rec, uint64_t ts)
{
	int rc = 0;

	if (rec->state == TRACE_STATE_ENDED)
		return 0;
	if (rec->slice_number)
		rc = end_slice(v, rec, ts, SLICE_LAST);
	if (is_waiting(rec)) {
		view_end_wait(rec, ts);
		rec->flags |= RECORD_ENDED_SUSPENDED;
	}
	rec->end = ts;
	series_change(&v->series, SERIES_ALIVE, -1, ts);
	series_count(&v->series, SERIES_ENDS, 1, ts);
	view_enter(v, rec, TRACE_STATE_ENDED, ts);
	return rc;
}

static int end_by_event(struct view *v, struct view_record *rec, const struct trace_event *ev)
{
	int rc = view_end(v, rec, ev->ts);

	if (ev->flags & TRACE_CANCELLED)
		rec->flags |= RECORD_CANCELLED;
	if (ev->kind == TRACE_DESTROY || ev->flags & TRACE_DESTROYED) {
		rec->flags |= RECORD_DESTROYED;
		rec->gone = true;
	}
	return rc;
}

/* Facts that the trace records once, or only at its end. */
static void tell_facts(struct view *v, struct view_record *rec, const struct coro *co)
{
	rec->pid = co->pid;
	rec->name = co->name;
	rec->kind = co->spawn;
	rec->birth = co->birth_ts;
	if (co->tells_life)
		rec->flags |= RECORD_BIRTH_TOLD;
	if (co->parent && !rec->parent)
		rec->parent = view_number_of(v, co->parent);
}

static int told_event(struct view *v, struct view_record *rec, const struct coro *co,
		      const struct trace_event *ev)
{
	rec->lost = view_clip(co->lost);
	switch (ev->kind) {
	case TRACE_SUSPEND:
		return view_suspend(v, rec, co, ev);
	case TRACE_RESUME:
		return view_resume(v, rec, co, ev);
	case TRACE_BIRTH:
		tell_facts(v, rec, co);
		if (rec->state == TRACE_STATE_UNKNOWN)
			view_enter(v, rec, TRACE_STATE_NEW, ev->ts);
		return 0;
	case TRACE_WAKE:
		view_wake(v, rec, co, ev);
		return 0;
	case TRACE_END:
	case TRACE_DESTROY:
		return end_by_event(v, rec, ev);
	default:
		return 0;
	}
}

/* A coroutine that was alive at the end of the trace is described there. */
static int told_fact(struct view *v, struct view_record *rec, const struct coro *co)
{
	tell_facts(v, rec, co);
	rec->lost = view_clip(co->lost);
	if (co->state != TRACE_STATE_ENDED)
		return 0;
	/* A timestamp of the sidecar must not extend the time axis. */
	return view_end(v, rec,
			co->since_ts < view_model(v)->last_ts ? co->since_ts
							      : view_model(v)->last_ts);
}

/* Holds of coroutines that the view does not show are not kept; any of them may end a hold. */
static int told_hold(struct view *v, const struct trace_event *ev)
{
	uint32_t number = view_number_of(v, ev->probe_id);
	const struct view_record *rec = number ? records_find(&v->records, number - 1) : NULL;
	struct lock_hold hold = {
		.resource = ev->resource,
		.from = ev->ts,
		.coro = rec ? rec->number : UINT32_MAX,
		.pid = ev->pid || !rec ? ev->pid : rec->pid,
	};

	if (ev->kind == TRACE_ACQUIRE)
		return rec ? hold_log_acquire(&v->holds, &hold) : 0;
	hold_log_release(&v->holds, &hold);
	return 0;
}

int view_told(void *arg, const struct coro *co, const struct trace_event *ev, bool taken)
{
	struct view *v = arg;
	struct view_record *rec;
	bool is_new;

	if (ev && (ev->kind == TRACE_ACQUIRE || ev->kind == TRACE_RELEASE))
		return told_hold(v, ev);
	if (v->options.chosen && !(co && analysis_chooses(v->analysis, co->probe_id)))
		return 0;
	if (ev && trace_is_transition(ev))
		series_count(&v->series, SERIES_EVENTS, 1, ev->ts);
	if (ev && ev->kind == TRACE_WAKE)
		series_count(&v->series, SERIES_WAKES, 1, ev->ts);
	if (!co)
		return 0;
	rec = records_enter(&v->records, view_model(v), co, &is_new);
	if (!rec)
		return -ENOMEM;
	if (is_new && ev) {
		rec->first = ev->ts;
		tell_facts(v, rec, co);
		series_change(&v->series, SERIES_ALIVE, 1, ev->ts);
		series_count(&v->series, SERIES_BIRTHS, 1, ev->ts);
	}
	rec->changed = v->tick + 1;
	if (!ev)
		return told_fact(v, rec, co);
	return taken ? told_event(v, rec, co, ev) : 0;
}

void view_gap(struct view *v, const struct trace_gap *gap)
{
	const struct model *m = view_model(v);
	uint64_t ts = gap->to_ts < m->last_ts ? gap->to_ts : m->last_ts;

	v->gap_lost += gap->transitions + gap->others;
	if (!m->first_ts)
		return; /* before the first event: the totals count it */
	series_count(&v->series, SERIES_LOST, gap->transitions + gap->others,
		     ts > m->first_ts ? ts : m->first_ts);
}
