/* SPDX-License-Identifier: MIT */
/* model.c - the state of the traced program, updated event by event. */
#include "analyze/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model_tables.h"
#include "trace/coro_table.h"
#include "analyze/model_waits.h"

/* Shorter slices do no useful work before a yield. */
#define QUICK_YIELD_NS 1000
#define SHORT_YIELD_NS 5000
/* Shorter waits need not be looked at when the program ends. */
#define LONG_WAIT_NS (300 * MODEL_MS)

/* ---- coroutines ---------------------------------------------------------- */

static int make_room_for(struct model *m, size_t number)
{
	size_t room = m->nr_coros ? m->nr_coros : 64;
	struct coro *coros;

	if (number < m->nr_coros)
		return 0;
	while (room <= number)
		room *= 2;
	coros = realloc(m->coros, room * sizeof(*coros));
	if (!coros)
		return -ENOMEM;
	memset(coros + m->nr_coros, 0, (room - m->nr_coros) * sizeof(*coros));
	m->coros = coros;
	m->nr_coros = room;
	return 0;
}

static struct coro *model_coro_of(struct model *m, uint64_t probe_id, uint32_t station)
{
	int64_t number = coro_ids_enter(&m->ids, probe_id, station);
	struct coro *co;

	if (number < 0 || make_room_for(m, (size_t)number) < 0)
		return NULL;
	co = &m->coros[number];
	if (!co->in_use) {
		co->in_use = true;
		co->probe_id = probe_id;
		co->station = station;
		m->spawns[0].alive++;
		m->spawns[0].born++;
	}
	if (probe_id > m->max_id)
		m->max_id = probe_id;
	return co;
}

struct coro *model_find(const struct model *m, uint64_t probe_id)
{
	int64_t number = coro_ids_find(&m->ids, probe_id, TRACE_NO_STATION);

	return number < 0 || (size_t)number >= m->nr_coros ? NULL : &m->coros[number];
}

const char *model_name(const struct model *m, const struct coro *co)
{
	return co->name ? strtab_text(&m->names, co->name - 1) : NULL;
}

static void model_remember(struct coro *co, const struct trace_event *ev)
{
	co->steps[co->next_step] = (struct step){
		.ts = ev->ts,
		.tid = ev->tid,
		.addr = ev->kind == TRACE_WAKE ? ev->peer : ev->addr,
		.site = ev->site,
		.kind = ev->kind,
		.reason = ev->reason,
	};
	co->next_step = (uint8_t)((co->next_step + 1) % MODEL_STEPS);
	if (co->nr_steps < MODEL_STEPS)
		co->nr_steps++;
}

static void model_count_misstep(struct misstep *s, const struct trace_event *ev, uint64_t other_tid)
{
	if (s->nr++)
		return;
	s->ts = ev->ts;
	s->tid = ev->tid;
	s->other_tid = other_tid;
}

static int model_report(const struct model *m, const struct coro *co, const struct trace_event *ev,
			bool taken)
{
	return m->observer.told ? m->observer.told(m->observer.arg, co, ev, taken) : 0;
}

/* ---- loss ---------------------------------------------------------------- */

/*
 * Lower bound of the number of transitions before this one, from its seq.  An odd seq counts
 * transitions from 1 (cTP 0.x writer), an even seq counts laps of the ring of eight slots.
 */
static uint64_t number_by_seq(const struct coro *co, uint64_t seq)
{
	if (seq & 1)
		return seq - 1;
	/* After an odd counter, the next even value is still the counter, not a lap. */
	if (co->next_seq && seq == co->next_seq + 1)
		return co->next_seq;
	return seq > 2 ? (seq / 2 - 1) * 8 : 0;
}

static void follow_seq(struct model *m, struct coro *co, uint64_t seq)
{
	uint64_t least = number_by_seq(co, seq);

	if (least > co->next_seq) {
		if (!co->loss_known)
			co->lost += least - co->next_seq;
		m->skipped += least - co->next_seq;
		co->next_seq = least;
	}
	co->next_seq++;
}

/* ---- transitions --------------------------------------------------------- */

/* Track whether an address belongs to one coroutine (the address of its frame) or to several. */
static void note_owner(const struct model *m, struct wait_place *p, const struct coro *co,
		       const struct trace_event *ev)
{
	const struct coro *before = NULL;

	if (p->owner != co->probe_id && p->owner && !p->is_shared)
		before = model_find(m, p->owner);
	if (before && before->state == TRACE_STATE_SUSPENDED && before->addr == ev->addr)
		p->is_shared = true;
	p->is_mixed |= p->owner && p->spawn != co->spawn;
	p->owner = co->probe_id;
	p->pid = co->pid;
	p->spawn = co->spawn;
}

static int add_suspend(struct model *m, struct coro *co, const struct trace_event *ev)
{
	int64_t place = tables_place(m, ev->site, ev->addr);
	struct wait_place *p;
	int rc = 0;

	if (place < 0)
		return -ENOMEM;
	p = &m->places[place];
	if (!ev->site && place)
		note_owner(m, p, co, ev);
	if (co->state == TRACE_STATE_RUNNING && co->resumed_ts && ev->ts >= co->resumed_ts) {
		uint64_t slice = model_time(m, co->pid, co->resumed_ts, ev->ts);

		rc = histogram_add(&p->slices, slice);
		co->quick_yields += ev->reason == TRACE_REASON_YIELD && slice < QUICK_YIELD_NS;
		co->short_yields += ev->reason == TRACE_REASON_YIELD && slice < SHORT_YIELD_NS;
	}
	if (co->state == TRACE_STATE_RUNNING)
		waits_run_ends(m, ev->ts);
	/* A wake that caused the last resume may have the same time: it did not come early. */
	co->woken_early = co->woken_ts > co->resumed_ts && co->woken_ts <= ev->ts &&
			  co->state == TRACE_STATE_RUNNING && co->waker != co->probe_id;
	co->suspends++;
	co->place = (uint32_t)place;
	co->await_place = 0;
	co->state = TRACE_STATE_SUSPENDED;
	co->since_ts = ev->ts;
	co->site = ev->site;
	co->addr = ev->addr;
	co->reason = ev->reason;
	co->has_resource = ev->flags & TRACE_HAS_RESOURCE;
	co->resource = ev->resource;
	co->woken_since = co->woken_ts > ev->ts; /* the wake was read first */
	co->rival = 0;
	m->told_suspends += ev->site != 0;
	m->bare_suspends += !ev->site;
	m->addresses += !ev->site && ev->addr >= 65536;
	if (!rc && co->has_resource)
		rc = tables_wait_begins(m, co);
	return rc;
}

/* Record a finished wait: its length, and the part of it spent ready to run. */
static int end_wait(struct model *m, struct coro *co, const struct trace_event *ev)
{
	struct wait_place *p = &m->places[co->place];
	uint64_t ns = model_time(m, co->pid, co->since_ts, ev->ts);
	int rc;

	if (ev->ts < co->since_ts)
		return 0;
	if (ns >= LONG_WAIT_NS && ns / 20 >= co->second_wait_ns &&
	    waits_cancelled(m, co, ev->ts) < 0)
		return -ENOMEM;
	waits_ended(co, ns);
	if (co->woken_early && co->woken_since)
		m->early_unused++;
	else if (co->woken_early)
		m->early_used++;
	rc = histogram_add(&p->waits, ns);
	if (ev->ts > p->last_resumed_ts)
		p->last_resumed_ts = ev->ts;
	if (!rc && co->woken_since && ev->ts >= co->woken_ts)
		rc = histogram_add(&p->ready, model_time(m, co->pid, co->woken_ts, ev->ts));
	if (co->has_resource)
		tables_wait_ends(m, co);
	return rc;
}

/* What the event means for the state, by the rules that all readers of a trace share. */
static enum coro_step model_step_of(const struct coro *co, const struct trace_event *ev)
{
	struct coro_state state = { .state = co->state, .since_ts = co->since_ts };

	return coro_step_of(&state, ev);
}

static int add_resume(struct model *m, struct coro *co, const struct trace_event *ev)
{
	bool is_second = model_step_of(co, ev) == CORO_STEP_RESUMED_TWICE;
	int rc = 0;

	/*
	 * The existing coroTracer writes a resume for each await that does not suspend, without a
	 * suspend before it: the slice continues.
	 */
	if (is_second && co->tid == ev->tid && (!m->is_ours || co->station != TRACE_NO_STATION))
		return 0;
	if (is_second && co->resumed_ts)
		model_count_misstep(&co->double_resume, ev, co->tid);
	if (co->state == TRACE_STATE_SUSPENDED)
		rc = end_wait(m, co, ev);
	if (co->resumes && co->tid != ev->tid) {
		co->migrations++;
		m->spawns[co->spawn].migrations++;
	}
	if (!is_second)
		waits_run_begins(m, ev->ts);
	co->unreachable.ts = 0;
	m->resumes++;
	m->spawns[co->spawn].resumes++;
	co->resumes++;
	co->state = TRACE_STATE_RUNNING;
	co->since_ts = co->resumed_ts = ev->ts;
	co->woken_since = false;
	co->rival = 0;
	return rc;
}

static int add_transition(struct model *m, struct coro *co, const struct trace_event *ev)
{
	enum coro_step step = model_step_of(co, ev);
	int rc;

	m->events++;
	follow_seq(m, co, ev->seq);
	if (step == CORO_STEP_LATE) {
		m->late++;
		return model_report(m, co, ev, false);
	}
	if (step == CORO_STEP_AFTER_END) {
		model_count_misstep(&co->after_end, ev, co->tid);
		model_remember(co, ev);
		return model_report(m, co, ev, false);
	}
	m->hooks.transition(m->hooks.arg, co, ev);
	rc = ev->is_active ? add_resume(m, co, ev) : add_suspend(m, co, ev);
	co->tid = ev->tid;
	model_remember(co, ev);
	return rc ? rc : model_report(m, co, ev, true);
}

/* ---- other events -------------------------------------------------------- */

static int set_kind(struct model *m, struct coro *co, uint32_t site, const char *name, size_t size)
{
	int64_t spawn;

	if (name && size) {
		int64_t number = tables_name(m, name, size);

		if (number < 0)
			return -ENOMEM;
		co->name = (uint32_t)number + 1;
	}
	co->birth_site = site;
	spawn = tables_spawn(m, site, name, size);
	if (spawn < 0)
		return -ENOMEM;
	if (!co->is_adopted) {
		m->spawns[co->spawn].alive--;
		m->spawns[co->spawn].born--;
		m->spawns[spawn].alive++;
		m->spawns[spawn].born++;
	}
	co->spawn = (uint32_t)spawn;
	return 0;
}

/*
 * The coroutine existed before the trace: its age is unknown, and that its first event comes now
 * does not mean that there is one more of its kind.
 */
static int add_adopted(struct model *m, struct coro *co, const struct trace_event *ev)
{
	if (!co->is_adopted) {
		m->spawns[co->spawn].alive--;
		m->spawns[co->spawn].born--;
	}
	co->is_adopted = true;
	co->tells_life = true;
	co->pid = ev->pid;
	return set_kind(m, co, ev->site, ev->name, ev->name_size);
}

static int add_birth(struct model *m, struct coro *co, const struct trace_event *ev)
{
	struct coro *parent = ev->peer ? model_find(m, ev->peer) : NULL;

	if (ev->flags & TRACE_ADOPTED)
		return add_adopted(m, co, ev);
	if (parent) {
		parent->has_acted = true;
		parent->children++;
	}
	if (ev->ts > m->last_birth_ts)
		m->last_birth_ts = ev->ts;
	co->birth_ts = ev->ts;
	co->tells_life = true;
	co->pid = ev->pid;
	co->parent = ev->peer;
	if (co->state == TRACE_STATE_UNKNOWN) {
		co->state = TRACE_STATE_NEW;
		co->since_ts = ev->ts;
	}
	return set_kind(m, co, ev->site, ev->name, ev->name_size);
}

static int add_wake(struct model *m, struct coro *co, const struct trace_event *ev)
{
	struct coro *waker = ev->peer ? model_find(m, ev->peer) : NULL;

	if (waker && waker != co)
		waker->has_acted = true;
	waits_woken(co, waker, ev);
	/* The suspend may arrive a moment later than the wake. */
	co->woken_ts = ev->ts;
	co->waker = ev->peer;
	co->woken_tid = ev->tid;
	co->woken_since = co->state == TRACE_STATE_SUSPENDED && ev->ts >= co->since_ts;
	co->unreachable.ts = 0;
	co->resumes_then = m->resumes;
	co->idle_then = m->idle_ns;
	co->wakes++;
	co->self_wakes += ev->peer == ev->probe_id;
	model_remember(co, ev);
	return co->woken_since && co->has_resource ? tables_wake(m, co, ev) : 0;
}

static void model_remove(struct model *m, struct coro *co)
{
	struct spawn *s = &m->spawns[co->spawn];

	s->alive -= s->alive > 0 && !co->is_adopted;
	if (co->has_resource)
		tables_wait_ends(m, co);
	coro_ids_leave(&m->ids, co->probe_id, co->station);
	memset(co, 0, sizeof(*co));
}

/* @co, which has not ended before, ends at @ts.  0 or -ENOMEM. */
static int model_end_life(struct model *m, const struct coro *co, uint64_t ts)
{
	struct coro *parent = co->parent ? model_find(m, co->parent) : NULL;
	struct spawn *s = &m->spawns[co->spawn];

	s->ended++;
	s->emptied += s->ended == s->born;
	s->last_end_ts = ts;
	if (parent)
		parent->children -= parent->children > 0;
	if (!co->birth_ts || ts < co->birth_ts)
		return 0;
	return histogram_add(&s->lives, model_time(m, co->pid, co->birth_ts, ts));
}

static int add_end(struct model *m, struct coro *co, const struct trace_event *ev)
{
	int rc;

	if (co->state != TRACE_STATE_ENDED && model_end_life(m, co, ev->ts) < 0)
		return -ENOMEM;
	if (co->state == TRACE_STATE_SUSPENDED && waits_cancelled(m, co, ev->ts) < 0)
		return -ENOMEM;
	if (ev->written) {
		co->lost = ev->lost;
		co->loss_known = true;
	}
	if (co->state == TRACE_STATE_SUSPENDED && ev->flags & TRACE_WAS_SUSPENDED &&
	    !(ev->flags & TRACE_CANCELLED))
		co->cut_off = ev->ts > co->since_ts ? ev->ts - co->since_ts : 1;
	if (co->state == TRACE_STATE_RUNNING)
		waits_run_ends(m, ev->ts);
	co->was_cancelled |= (ev->flags & TRACE_CANCELLED) != 0;
	co->state = TRACE_STATE_ENDED;
	co->since_ts = ev->ts;
	model_remember(co, ev);
	rc = model_report(m, co, ev, true);
	if (!coro_event_destroys(ev))
		return rc;
	m->spawns[co->spawn].destroyed++;
	m->hooks.leaving(m->hooks.arg, co);
	waits_depart(m, co, ev->ts);
	co->has_resource = false;
	model_remove(m, co);
	return rc;
}

static int add_other(struct model *m, struct coro *co, const struct trace_event *ev)
{
	int rc = 0;

	m->others++;
	m->hooks.other(m->hooks.arg, co, ev);
	if (ev->kind == TRACE_END || ev->kind == TRACE_DESTROY)
		return add_end(m, co, ev);
	if (ev->kind == TRACE_BIRTH)
		rc = add_birth(m, co, ev);
	else if (ev->kind == TRACE_WAKE)
		rc = add_wake(m, co, ev);
	return rc ? rc : model_report(m, co, ev, true);
}

/* No waker of the coroutine exists any more.  It may not have suspended yet. */
static void add_unreachable(struct model *m, const struct trace_event *ev)
{
	struct coro *co = model_find(m, ev->probe_id);
	uint64_t number;

	m->others++;
	if (!co)
		return;
	co->unreachable = (struct unreachable){
		.ts = ev->ts,
		.tid = ev->tid,
		.seen = (uint32_t)ev->resource,
		.is_inner = ev->resource >> 32 == TRACE_WAKERS_DROPPED_INNER,
	};
	if (u64map_get(&m->threads, ev->tid, &number) && number)
		co->unreachable.by = m->thread_counts[number - 1].current;
}

int model_add_event(struct model *m, const struct trace_event *ev)
{
	struct coro *co;

	if (tables_init(m) < 0 || tables_thread(m, ev) < 0)
		return -ENOMEM;
	tables_windows(m, ev->ts);
	if (!m->first_ts || ev->ts < m->first_ts)
		m->first_ts = ev->ts;
	if (ev->ts > m->last_ts)
		m->last_ts = ev->ts;
	if (ev->kind < NR_TRACE_KINDS)
		m->kinds[ev->kind]++;
	if (context_table_event(&m->contexts, ev) < 0)
		return -ENOMEM;
	if (ev->kind == TRACE_CONTEXT) {
		m->others++;
		return 0;
	}
	if (trace_is_wakers_dropped(ev)) {
		add_unreachable(m, ev);
		return 0;
	}
	if (trace_is_of_resource(ev)) {
		m->others++;
		if (tables_resource_event(m, ev) < 0)
			return -ENOMEM;
		return model_report(m, NULL, ev, true);
	}
	/* A wake must not recreate a coroutine that was destroyed. */
	if (ev->kind == TRACE_WAKE)
		co = model_find(m, ev->probe_id);
	else
		co = model_coro_of(m, ev->probe_id, ev->station);
	if (!co && ev->kind == TRACE_WAKE) {
		m->others++;
		return model_report(m, NULL, ev, false);
	}
	if (!co)
		return -ENOMEM;
	return trace_is_transition(ev) ? add_transition(m, co, ev) : add_other(m, co, ev);
}

/* ---- facts --------------------------------------------------------------- */

static void add_gap(struct model *m, const struct trace_gap *gap)
{
	m->nr_gaps++;
	if (gap->transitions && gap->to_ts > m->gap_to)
		m->gap_to = gap->to_ts;
	if (gap->others && gap->to_ts > m->gap_wakes_to)
		m->gap_wakes_to = gap->to_ts;
}

static struct coro *model_described(struct model *m, const struct sidecar_coroutine *c)
{
	struct coro *co = model_find(m, c->probe_id);
	int64_t number;

	if (co || c->station >= TRACE_NO_STATION)
		return co;
	number = coro_ids_find(&m->ids, c->probe_id, (uint32_t)c->station);
	return number < 0 || (size_t)number >= m->nr_coros ? NULL : &m->coros[number];
}

/*
 * The program did not say where the coroutine waits, and the collector found it in its memory.  The
 * waits at co->place stay what this one is compared with.
 */
static int learn_await(struct model *m, struct coro *co, const struct sidecar_coroutine *c)
{
	int64_t place;

	if (!c->site || co->site || c->state != TRACE_STATE_SUSPENDED ||
	    co->state != TRACE_STATE_SUSPENDED)
		return 0;
	place = tables_place(m, c->site, 0);
	if (place < 0)
		return -ENOMEM;
	co->await_place = (uint32_t)place;
	return 0;
}

static int add_coroutine(struct model *m, const struct sidecar_coroutine *c)
{
	struct coro *co = model_described(m, c);

	if (!co)
		return 0;
	if (c->written) {
		co->lost = c->lost;
		co->loss_known = true;
	}
	if (c->pid)
		co->pid = (uint32_t)c->pid;
	if (!co->birth_ts && !co->is_adopted)
		co->birth_ts = c->birth_ts;
	if (c->dead && co->state != TRACE_STATE_ENDED) {
		co->state = TRACE_STATE_ENDED;
		co->since_ts = c->death_ts ? c->death_ts : co->since_ts;
		m->spawns[co->spawn].ended++;
	}
	if (!co->name && c->name && set_kind(m, co, co->birth_site, c->name, strlen(c->name)) < 0)
		return -ENOMEM;
	if (learn_await(m, co, c) < 0)
		return -ENOMEM;
	return model_report(m, co, NULL, true);
}

int model_add(struct model *m, const struct trace_item *item)
{
	int rc = tables_init(m);

	if (rc < 0)
		return rc;
	switch (item->type) {
	case TRACE_ITEM_EVENT:
		return model_add_event(m, &item->event);
	case TRACE_ITEM_GAP:
		add_gap(m, &item->gap);
		return 0;
	case TRACE_ITEM_COROUTINE:
		return add_coroutine(m, &item->coroutine);
	case TRACE_ITEM_RUN:
		m->has_run = m->is_ours = true;
		return 0;
	case TRACE_ITEM_TOTALS:
		m->has_totals = true;
		m->has_ended = !totals_detached(&item->totals);
		m->totals = item->totals;
		return 0;
	default:
		return 0;
	}
}

void model_finish(struct model *m)
{
	if (!m->nr_places)
		return; /* no events */
	m->end_ts = m->last_ts;
	if (m->has_totals && m->totals.end_ts > m->end_ts)
		m->end_ts = m->totals.end_ts;
	tables_windows(m, m->end_ts);
}

void model_release(struct model *m)
{
	coro_ids_release(&m->ids);
	context_table_release(&m->contexts);
	free(m->coros);
	free(m->cancelled);
	tables_release(m);
	memset(m, 0, sizeof(*m));
}
