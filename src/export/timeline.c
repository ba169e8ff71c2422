/* SPDX-License-Identifier: MIT */
/*
 * timeline.c - convert the items of a trace to the elements of a timeline viewer.
 *
 * The slices of a coroutine nest: its lifetime, in it the state, in a suspension the ready
 * state.  On a thread turns nest as in the program (a coroutine that resumes another continues
 * afterwards).  Turns that overlap without nesting are cut in two, so that a slice never ends
 * another one.
 */
#include "export/timeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/timeline_frames.h"
#include "export/timeline_marks.h"
#include "export/timeline_switches.h"
#include "export/timeline_tracks.h"

/* ---- onto a track --------------------------------------------------------- */

/*
 * Time increases on each track.  An element that is earlier (a loss or an end that is reported
 * late) gets the time of the last element on the track.
 */
static uint64_t time_on(struct timeline_track *t, uint64_t ts)
{
	if (ts > t->last_ts)
		t->last_ts = ts;
	return t->last_ts;
}

static void timeline_begin(struct timeline *tl, struct timeline_track *t, uint64_t ts,
			   const struct timeline_mark *m)
{
	tl->view->begin(tl->view, t, time_on(t, ts), m);
}

static void timeline_end(struct timeline *tl, struct timeline_track *t, uint64_t ts,
			 const struct timeline_name *name)
{
	tl->view->end(tl->view, t, time_on(t, ts), name);
}

static void timeline_instant(struct timeline *tl, struct timeline_track *t, uint64_t ts,
			     const struct timeline_mark *m)
{
	tl->view->instant(tl->view, t, time_on(t, ts), m);
}

/* The coroutine in a slot that is in use. */
static struct timeline_coro *timeline_coro_at(const struct timeline *tl, uint32_t slot)
{
	return coro_table_at(&tl->coros, slot);
}

/* ---- turns on a thread ---------------------------------------------------- */

static void begin_turn(struct timeline *tl, struct timeline_thread *t, struct timeline_coro *co,
		       uint64_t ts, uint64_t flow)
{
	struct timeline_mark m;

	mark_init(tl, &m, WORD_RUNNING, CATEGORY_RUNNING);
	m.name = &co->name;
	m.flow = flow;
	m.flow_ends = true;
	arg_number(&m, KEY_COROUTINE, co->life.probe_id);
	timeline_begin(tl, &t->track, ts, &m);
}

static void enter_thread(struct timeline *tl, struct timeline_coro *co, uint64_t ts, uint64_t flow)
{
	struct timeline_thread *t = &tl->threads[co->thread];

	if (t->nr_turns == TIMELINE_DEPTH) {
		tl->too_deep++;
		return;
	}
	t->turns[t->nr_turns++] = (uint32_t)coro_table_slot(&tl->coros, co);
	co->has_turn = true;
	tl->flows += flow != 0;
	begin_turn(tl, t, co, ts, flow);
}

/*
 * The turns nested in it are cut in two.  If there are more than TIMELINE_CUTS, they do not
 * nest in the program: they end here as well, otherwise each event would draw all of them
 * again.
 */
static void timeline_leave_thread(struct timeline *tl, struct timeline_coro *co, uint64_t ts)
{
	struct timeline_thread *t = &tl->threads[co->thread];
	uint32_t number = (uint32_t)coro_table_slot(&tl->coros, co);
	unsigned at = t->nr_turns, i, above;

	if (!co->has_turn)
		return;
	co->has_turn = false;
	while (at && t->turns[at - 1] != number)
		at--;
	if (!at)
		return;
	for (i = t->nr_turns; i >= at; i--)
		timeline_end(tl, &t->track, ts, &timeline_coro_at(tl, t->turns[i - 1])->name);
	above = t->nr_turns - at;
	t->nr_turns = at - 1;
	for (i = at; i < at + above; i++) {
		struct timeline_coro *other = timeline_coro_at(tl, t->turns[i]);

		if (above > TIMELINE_CUTS) {
			other->has_turn = false;
			tl->too_deep++;
			continue;
		}
		t->turns[t->nr_turns++] = t->turns[i];
		begin_turn(tl, t, other, ts, 0);
	}
}

/* ---- states -------------------------------------------------------------- */

static void count_state(struct timeline *tl, const struct timeline_coro *co, int change,
			uint64_t ts)
{
	if (co->life.state == TRACE_STATE_RUNNING)
		tracks_count(tl, co->process, COUNT_RUNNING, change, ts);
	else if (co->life.state == TRACE_STATE_SUSPENDED)
		tracks_count(tl, co->process, COUNT_SUSPENDED, change, ts);
}

/* Ends the slice of its state: none is open in its lifetime. */
static void end_state(struct timeline *tl, struct timeline_coro *co, uint64_t ts)
{
	if (co->life.state == TRACE_STATE_UNKNOWN)
		return;
	if (co->life.state == TRACE_STATE_RUNNING)
		timeline_leave_thread(tl, co, ts);
	if (co->is_ready)
		timeline_end(tl, &co->track, ts, &tl->words[WORD_READY]);
	co->is_ready = false;
	timeline_end(tl, &co->track, ts, &tl->words[co->word]);
	count_state(tl, co, -1, ts);
	co->life.state = TRACE_STATE_UNKNOWN;
	co->life.since_ts = ts;
}

static void begin_state(struct timeline *tl, struct timeline_coro *co, enum trace_state state,
			uint64_t ts, const struct timeline_mark *m)
{
	co->life.state = (uint8_t)state;
	co->word = (uint8_t)(m->name - tl->words);
	co->life.since_ts = ts;
	timeline_begin(tl, &co->track, ts, m);
	count_state(tl, co, 1, ts);
}

/* ---- coroutines ---------------------------------------------------------- */

/* Begins its lifetime, at the first event in the trace. */
static int timeline_enter(struct timeline *tl, struct timeline_coro *co,
			  const struct trace_event *ev)
{
	bool is_birth = ev->kind == TRACE_BIRTH;
	struct timeline_mark m;
	int64_t process = tracks_process(tl, is_birth ? ev->pid : 0);

	if (process < 0)
		return -ENOMEM;
	co->process = (uint32_t)process;
	co->life.is_born = is_birth;
	if (tracks_coroutine(tl, co, is_birth ? ev->site : 0, is_birth ? ev->name : NULL,
			     ev->name_size) < 0)
		return -ENOMEM;
	co->life.since_ts = ev->ts;
	mark_init(tl, &m, WORD_NEW, CATEGORY_LIFE);
	m.name = &co->name;
	arg_number(&m, KEY_COROUTINE, ev->probe_id);
	if (ev->station != TRACE_NO_STATION)
		arg_number(&m, KEY_STATION, ev->station);
	if (is_birth) {
		arg_if(&m, KEY_PARENT, ev->peer);
		arg_true(&m, KEY_NAME_CUT, ev->flags & TRACE_NAME_CUT);
		mark_site(tl, &m, ev->site);
	} else {
		arg_true(&m, KEY_NO_BIRTH, true);
	}
	timeline_begin(tl, &co->track, ev->ts, &m);
	tracks_count(tl, co->process, COUNT_ALIVE, 1, ev->ts);
	return 0;
}

/* Ends its track: the number will be reused by another coroutine. */
static void timeline_remove(struct timeline *tl, struct timeline_coro *co, uint64_t ts)
{
	timeline_end(tl, &co->track, ts, &co->name);
	if (!co->track.name) { /* no name was set */
		co->track.name = co->text;
		tl->view->track(tl->view, &co->track);
	}
	free(co->text);
	free(co->label);
	coro_table_remove(&tl->coros, co);
}

/* It has ended, or another coroutine with the same id has begun. */
static void timeline_end_life(struct timeline *tl, struct timeline_coro *co, uint64_t ts)
{
	bool was_alive = co->life.state != TRACE_STATE_ENDED;

	end_state(tl, co, ts);
	if (was_alive)
		tracks_count(tl, co->process, COUNT_ALIVE, -1, ts);
}

/* Finds a coroutine by its id, as in a wake; NULL: there is none. */
static struct timeline_coro *timeline_find(const struct timeline *tl, uint64_t probe_id,
					   uint32_t station)
{
	return coro_table_find(&tl->coros, probe_id, station);
}

/* Creates the coroutine if it is new; NULL: no memory. */
static struct timeline_coro *timeline_coro_of(struct timeline *tl, const struct trace_event *ev)
{
	struct timeline_coro *co;

	tl->coros.entry_size = sizeof(*co);
	co = coro_table_find(&tl->coros, ev->probe_id, ev->station);
	if (co)
		return co;
	co = coro_table_enter(&tl->coros, ev->probe_id, ev->station);
	return co && timeline_enter(tl, co, ev) == 0 ? co : NULL;
}

/* ---- transitions --------------------------------------------------------- */

static void timeline_count_misstep(struct timeline *tl, struct timeline_coro *co,
				   const struct trace_event *ev, enum timeline_word word)
{
	struct timeline_mark m;

	tl->missteps++;
	mark_init(tl, &m, word, CATEGORY_TRACE);
	arg_number(&m, KEY_THREAD, ev->tid);
	timeline_instant(tl, &co->track, ev->ts, &m);
}

static int timeline_resume(struct timeline *tl, struct timeline_coro *co,
			   const struct trace_event *ev)
{
	uint64_t flow = co->woken ? co->woken : co->early;
	struct timeline_mark m;
	int64_t thread;

	if (coro_step_of(&co->life, ev) == CORO_STEP_RESUMED_TWICE)
		timeline_count_misstep(tl, co, ev, WORD_TWICE);
	end_state(tl, co, ev->ts);
	thread = tracks_thread(tl, ev->tid, co->process);
	if (thread < 0)
		return -ENOMEM;
	co->thread = (uint64_t)thread;
	co->woken = co->early = 0;
	enter_thread(tl, co, ev->ts, flow);
	mark_init(tl, &m, WORD_RUNNING, CATEGORY_RUNNING);
	arg_number(&m, KEY_THREAD, ev->tid);
	begin_state(tl, co, TRACE_STATE_RUNNING, ev->ts, &m);
	return 0;
}

static void mark_suspension(struct timeline *tl, struct timeline_mark *m,
			    const struct trace_event *ev)
{
	unsigned reason = ev->reason < NR_TRACE_REASONS ? ev->reason : TRACE_REASON_UNKNOWN;

	mark_init(tl, m, WORD_SUSPENDED + reason, CATEGORY_SUSPENDED);
	mark_site(tl, m, ev->site);
	if (reason != ev->reason)
		arg_number(m, KEY_REASON, ev->reason);
	arg_resource(m, ev);
	if (!m->site)
		arg_pointer(m, KEY_ADDRESS, ev->addr);
}

static void timeline_suspend(struct timeline *tl, struct timeline_coro *co,
			     const struct trace_event *ev)
{
	struct timeline_mark m;

	tl->missteps += coro_step_of(&co->life, ev) == CORO_STEP_SUSPENDED_TWICE;
	end_state(tl, co, ev->ts);
	mark_suspension(tl, &m, ev);
	co->woken = 0;
	begin_state(tl, co, TRACE_STATE_SUSPENDED, ev->ts, &m);
}

static int timeline_add_transition(struct timeline *tl, const struct trace_event *ev)
{
	struct timeline_coro *co = timeline_coro_of(tl, ev);

	if (!co)
		return -ENOMEM;
	if (coro_step_of(&co->life, ev) == CORO_STEP_AFTER_END) {
		timeline_count_misstep(tl, co, ev, WORD_AFTER_END);
		return 0;
	}
	if (ev->is_active)
		return timeline_resume(tl, co, ev);
	timeline_suspend(tl, co, ev);
	return 0;
}

/* ---- other events -------------------------------------------------------- */

static int timeline_add_birth(struct timeline *tl, const struct trace_event *ev)
{
	struct timeline_coro *co = timeline_find(tl, ev->probe_id, ev->station);
	struct timeline_mark m;

	if (co && coro_step_of(&co->life, ev) == CORO_STEP_BORN_AGAIN) {
		timeline_end_life(tl, co, ev->ts);
		timeline_remove(tl, co, ev->ts);
	}
	co = timeline_coro_of(tl, ev);
	if (!co)
		return -ENOMEM;
	if (!co->life.is_born) { /* it has events before its birth event */
		co->life.is_born = true;
		if (tracks_rename(tl, co, ev->name, ev->name_size) < 0)
			return -ENOMEM;
	}
	mark_init(tl, &m, WORD_BIRTH, CATEGORY_LIFE);
	arg_if(&m, KEY_PARENT, ev->peer);
	arg_number(&m, KEY_THREAD, ev->tid);
	mark_site(tl, &m, ev->site);
	timeline_instant(tl, &co->track, ev->ts, &m);
	if (co->life.state == TRACE_STATE_UNKNOWN && co->life.since_ts == ev->ts) {
		mark_init(tl, &m, WORD_NEW, CATEGORY_LIFE);
		begin_state(tl, co, TRACE_STATE_NEW, ev->ts, &m);
	}
	return 0;
}

static void mark_wake(struct timeline *tl, struct timeline_mark *m, enum timeline_word word,
		      enum timeline_category category, const struct trace_event *ev)
{
	const struct timeline_coro *waker = ev->peer ? timeline_find(tl, ev->peer, TRACE_NO_STATION)
						     : NULL;

	mark_init(tl, m, word, category);
	arg_if(m, KEY_WAKER, ev->peer);
	arg_text(m, KEY_WAKER_NAME, waker ? waker->text : NULL);
	if (ev->reason)
		arg_text(m, KEY_SOURCE, trace_reason_name(ev->reason));
	mark_site(tl, m, ev->site);
}

static int timeline_add_wake(struct timeline *tl, const struct trace_event *ev)
{
	struct timeline_coro *co = timeline_find(tl, ev->probe_id, ev->station);
	int64_t process = co ? co->process : tracks_process(tl, 0);
	int64_t thread = process < 0 ? process : tracks_thread(tl, ev->tid, (uint32_t)process);
	struct timeline_mark m;

	if (thread < 0)
		return -ENOMEM;
	mark_wake(tl, &m, WORD_WAKE, CATEGORY_WAKE, ev);
	arg_number(&m, KEY_COROUTINE, ev->probe_id);
	if (co) {
		arg_text(&m, KEY_COROUTINE_NAME, co->text);
		m.flow = ++tl->next_flow;
	} else {
		tl->unknown_wakes++;
		arg_true(&m, KEY_NOT_IN_TRACE, true);
	}
	timeline_instant(tl, &tl->threads[thread].track, ev->ts, &m);
	if (!co)
		return 0;
	if (co->life.state != TRACE_STATE_SUSPENDED && co->life.state != TRACE_STATE_NEW) {
		co->early = m.flow;
		return 0;
	}
	if (co->woken)
		return 0; /* a second wake has no effect */
	co->woken = m.flow;
	co->is_ready = true;
	mark_wake(tl, &m, WORD_READY, CATEGORY_READY, ev);
	m.flow = co->woken;
	timeline_begin(tl, &co->track, ev->ts, &m);
	return 0;
}

static int timeline_add_end(struct timeline *tl, const struct trace_event *ev)
{
	struct timeline_coro *co = timeline_coro_of(tl, ev);
	struct timeline_mark m;

	if (!co)
		return -ENOMEM;
	timeline_end_life(tl, co, ev->ts);
	mark_init(tl, &m, ev->kind == TRACE_END ? WORD_END : WORD_DESTROY, CATEGORY_LIFE);
	arg_number(&m, KEY_THREAD, ev->tid);
	arg_if(&m, KEY_TRANSITIONS, ev->written);
	arg_if(&m, KEY_LOST, ev->lost);
	arg_true(&m, KEY_CANCELLED, ev->flags & TRACE_CANCELLED);
	arg_true(&m, KEY_WAS_SUSPENDED, ev->flags & TRACE_WAS_SUSPENDED);
	arg_true(&m, KEY_DESTROYED, ev->kind == TRACE_END && ev->flags & TRACE_DESTROYED);
	timeline_instant(tl, &co->track, ev->ts, &m);
	if (coro_event_destroys(ev)) {
		timeline_remove(tl, co, ev->ts);
	} else {
		mark_init(tl, &m, WORD_ENDED, CATEGORY_LIFE);
		begin_state(tl, co, TRACE_STATE_ENDED, ev->ts, &m);
	}
	return 0;
}

static int timeline_add_resource(struct timeline *tl, const struct trace_event *ev)
{
	int64_t process = tracks_process(tl, ev->pid);
	int64_t thread = process < 0 ? process : tracks_thread(tl, ev->tid, (uint32_t)process);
	struct timeline_mark m;

	if (thread < 0)
		return -ENOMEM;
	mark_init(tl, &m, WORD_CLOSE + (unsigned)ev->kind - TRACE_CLOSE, CATEGORY_RESOURCE);
	arg_number(&m, KEY_RESOURCE, ev->resource);
	arg_if(&m, KEY_COROUTINE, ev->probe_id);
	mark_site(tl, &m, ev->site);
	timeline_instant(tl, &tl->threads[thread].track, ev->ts, &m);
	return 0;
}

static int draw_event(void *arg, const struct trace_event *ev)
{
	struct timeline *tl = arg;

	if (tl->frames && timeline_draw_frames(tl, ev->ts) < 0)
		return -ENOMEM;
	if (!tl->first_ts)
		tl->first_ts = ev->ts;
	tl->last_ts = ev->ts;
	tl->events++;
	switch ((enum trace_kind)ev->kind) {
	case TRACE_SUSPEND:
	case TRACE_RESUME:
		return timeline_add_transition(tl, ev);
	case TRACE_BIRTH:
		return timeline_add_birth(tl, ev);
	case TRACE_WAKE:
		return timeline_add_wake(tl, ev);
	case TRACE_END:
	case TRACE_DESTROY:
		return timeline_add_end(tl, ev);
	case TRACE_CLOSE:
	case TRACE_ACQUIRE:
	case TRACE_RELEASE:
		return trace_is_wakers_dropped(ev) ? 0 : timeline_add_resource(tl, ev);
	case TRACE_CONTEXT: /* of other tools: export otlp */
	case NR_TRACE_KINDS:
		break;
	}
	return 0;
}

static int timeline_add_event(struct timeline *tl, const struct trace_event *ev)
{
	if (!timeline_is_time(ev->ts)) {
		tl->impossible++;
		return 0;
	}
	return window_add(&tl->window, ev, draw_event, tl);
}

/* ---- what is missing ------------------------------------------------------ */

/* Ends the turns that were running when events were lost: their later states are not known. */
static void forget_turns(struct timeline *tl, struct timeline_thread *t, uint64_t ts)
{
	while (t->nr_turns)
		end_state(tl, timeline_coro_at(tl, t->turns[t->nr_turns - 1]), ts);
}

static void draw_gap(struct timeline *tl, struct timeline_thread *t, const struct trace_gap *gap)
{
	uint64_t from = gap->from_ts > t->lost_to ? gap->from_ts : t->lost_to;
	uint64_t to = gap->to_ts > from ? gap->to_ts : from;
	struct timeline_mark m;

	if (!t->lost.id) {
		snprintf(t->lost_name, sizeof(t->lost_name), "lost by %s", t->name);
		t->lost = (struct timeline_track){
			.type = TRACK_LOST,
			.id = ++tl->next_track,
			.parent = tl->processes[0].track.id,
			.pid = t->track.pid,
			.rank = NR_TIMELINE_COUNTERS,
			.name = t->lost_name,
		};
		tl->tracks++;
		tl->view->track(tl->view, &t->lost);
	}
	mark_init(tl, &m, WORD_LOST, CATEGORY_TRACE);
	arg_number(&m, KEY_TRANSITIONS, gap->transitions);
	arg_number(&m, KEY_OTHERS, gap->others);
	timeline_begin(tl, &t->lost, from, &m);
	timeline_end(tl, &t->lost, to, &tl->words[WORD_LOST]);
	t->lost_to = to;
}

/*
 * First draws the held events from before the end of the gap: no earlier event of its thread
 * may follow.
 */
static int timeline_add_gap(struct timeline *tl, const struct trace_gap *gap)
{
	int64_t process, thread;

	if (!timeline_is_time(gap->to_ts) || gap->from_ts > gap->to_ts) {
		tl->impossible++;
		return 0;
	}
	tl->lost += gap->transitions + gap->others;
	process = tracks_process(tl, gap->pid);
	thread = process < 0 ? process : tracks_thread(tl, gap->tid, (uint32_t)process);
	if (thread < 0 || window_until(&tl->window, gap->to_ts, draw_event, tl) < 0)
		return -ENOMEM;
	if (gap->transitions)
		forget_turns(tl, &tl->threads[thread], gap->from_ts);
	draw_gap(tl, &tl->threads[thread], gap);
	return 0;
}

/* ---- the last facts ------------------------------------------------------- */

/* A coroutine that was suspended during the whole trace: the trace has no event of it. */
static int add_bystander(struct timeline *tl, const struct sidecar_coroutine *c)
{
	struct trace_event ev;
	struct timeline_coro *co;
	uint64_t ts = c->since_ts > tl->first_ts ? c->since_ts : tl->first_ts;
	struct timeline_mark m;

	if (c->dead || c->state != TRACE_STATE_SUSPENDED || !timeline_is_time(ts) ||
	    (tl->last_ts && ts > tl->last_ts))
		return 0;
	trace_event_init(&ev);
	ev.kind = TRACE_SUSPEND;
	ev.probe_id = c->probe_id;
	ev.ts = ts;
	ev.station = c->station < TRACE_NO_STATION ? (uint32_t)c->station : TRACE_NO_STATION;
	ev.site = c->site;
	ev.reason = c->reason;
	ev.addr = c->addr;
	ev.resource = c->resource;
	ev.flags = c->has_resource ? TRACE_HAS_RESOURCE : 0;
	co = timeline_coro_of(tl, &ev);
	if (!co)
		return -ENOMEM;
	mark_suspension(tl, &m, &ev);
	arg_if(&m, KEY_SINCE, c->since_ts);
	begin_state(tl, co, TRACE_STATE_SUSPENDED, ts, &m);
	return c->name ? tracks_rename(tl, co, c->name, strlen(c->name)) : 0;
}

static int timeline_add_coroutine(struct timeline *tl, const struct sidecar_coroutine *c)
{
	uint32_t station = c->station < TRACE_NO_STATION ? (uint32_t)c->station : TRACE_NO_STATION;
	struct timeline_coro *co = timeline_find(tl, c->probe_id, station);
	uint64_t ts = tl->last_ts;
	struct timeline_mark m;

	if (!co)
		co = timeline_find(tl, c->probe_id, TRACE_NO_STATION);
	if (!co)
		return add_bystander(tl, c);
	if (!co->track.name && tracks_rename(tl, co, c->name, c->name ? strlen(c->name) : 0) < 0)
		return -ENOMEM;
	/*
	 * The time of its end; if it has not ended or the time is not known, the end of the
	 * trace.
	 */
	if (c->dead && c->death_ts > co->life.since_ts && timeline_is_time(c->death_ts))
		ts = c->death_ts;
	if (c->lost) {
		mark_init(tl, &m, WORD_LOST, CATEGORY_TRACE);
		arg_number(&m, KEY_LOST, c->lost);
		arg_number(&m, KEY_TRANSITIONS, c->written);
		timeline_instant(tl, &co->track, ts, &m);
	}
	if (c->dead) {
		timeline_end_life(tl, co, ts);
		mark_init(tl, &m, WORD_END, CATEGORY_LIFE);
		arg_true(&m, KEY_TIME_UNKNOWN, !c->death_ts);
		timeline_instant(tl, &co->track, ts, &m);
		timeline_remove(tl, co, ts);
	}
	return 0;
}

static void arg_totals(struct timeline_mark *m, const struct sidecar_totals *t)
{
	arg_number(m, KEY_TRANSITIONS, t->written);
	arg_number(m, KEY_COLLECTED, t->collected);
	arg_number(m, KEY_LOST, t->lost);
	arg_number(m, KEY_GARBAGE, t->garbage);
	arg_number(m, KEY_OTHERS, t->others_written);
	arg_number(m, KEY_OTHERS_LOST, t->others_lost);
	arg_if(m, KEY_FORGOTTEN, t->forgotten + t->others_forgotten);
	arg_number(m, KEY_COROUTINES, t->coroutines);
	arg_true(m, KEY_INCOMPLETE, !t->complete);
	if (t->signal)
		arg_number(m, KEY_SIGNAL, (uint64_t)t->signal);
	else
		add_arg(m, (struct timeline_arg){ .key = KEY_EXIT_STATUS,
						  .type = ARG_SIGNED,
						  .number = (uint64_t)(int64_t)t->exit_status });
}

/* On the first process: it exists even if there are no events. */
static int add_totals(struct timeline *tl, const struct sidecar_totals *t)
{
	uint64_t ts = t->end_ts > tl->last_ts && timeline_is_time(t->end_ts) ? t->end_ts
									     : tl->last_ts;
	struct timeline_mark m;

	tl->has_totals = true;
	if (tracks_process(tl, 0) < 0)
		return -ENOMEM;
	mark_init(tl, &m, WORD_RUN_ENDS, CATEGORY_TRACE);
	arg_totals(&m, t);
	if (ts)
		timeline_instant(tl, &tl->processes[0].track, ts, &m);
	if (t->lost + t->others_lost > tl->lost)
		tl->lost = t->lost + t->others_lost;
	tl->garbage += t->garbage;
	return 0;
}

/* ---- all ----------------------------------------------------------------- */

/* All events and frames so far: none before them follows. */
static int timeline_draw_all(struct timeline *tl)
{
	int rc = window_finish(&tl->window, draw_event, tl);

	return rc < 0 ? rc : timeline_draw_frames(tl, UINT64_MAX);
}

int timeline_add(struct timeline *tl, const struct trace_item *item)
{
	int rc = tracks_begin(tl);

	if (rc < 0)
		return rc;
	switch (item->type) {
	case TRACE_ITEM_RUN:
		return tracks_run(tl, &item->run);
	case TRACE_ITEM_PROCESS:
		return tracks_process(tl, item->process.pid) < 0 ? -ENOMEM : 0;
	case TRACE_ITEM_SITE:
		return tracks_site(tl, &item->site);
	case TRACE_ITEM_EVENT:
		return timeline_add_event(tl, &item->event);
	case TRACE_ITEM_GAP:
		return timeline_add_gap(tl, &item->gap);
	case TRACE_ITEM_COROUTINE:
		rc = timeline_draw_all(tl);
		return rc < 0 ? rc : timeline_add_coroutine(tl, &item->coroutine);
	case TRACE_ITEM_TOTALS:
		rc = timeline_draw_all(tl);
		return rc < 0 ? rc : add_totals(tl, &item->totals);
	case TRACE_ITEM_FRAME:
		return timeline_add_frame(tl, &item->frame);
	case TRACE_ITEM_SWITCH:
		return timeline_add_switch(tl, &item->switched);
	case TRACE_ITEM_MODULE:
	case TRACE_ITEM_CPU:
	case TRACE_ITEM_DESCRIPTOR:
	case TRACE_ITEM_WAITING:
	case TRACE_ITEM_PART:
	case TRACE_ITEM_MEMORY:
	case NR_TRACE_ITEM_TYPES:
		break;
	}
	return 0;
}

static void draw_damage(struct timeline *tl, const struct timeline_damage *damage)
{
	struct timeline_mark m;

	mark_init(tl, &m, WORD_GARBAGE, CATEGORY_TRACE);
	if (damage) {
		arg_if(&m, KEY_LINES, damage->lines);
		arg_if(&m, KEY_PACKETS, damage->packets);
		tl->garbage += damage->lines + damage->packets;
	}
	arg_if(&m, KEY_LATE, tl->window.late);
	arg_if(&m, KEY_IMPOSSIBLE, tl->impossible);
	arg_if(&m, KEY_TOO_DEEP, tl->too_deep);
	if (m.nr_args && tl->last_ts)
		timeline_instant(tl, &tl->processes[0].track, tl->last_ts, &m);
}

int timeline_finish(struct timeline *tl, const struct timeline_damage *damage)
{
	struct timeline_mark m;
	size_t i;
	int rc = tracks_begin(tl);

	if (rc == 0)
		rc = timeline_draw_all(tl);
	if (rc < 0 || tracks_process(tl, 0) < 0)
		return -ENOMEM;
	for (i = 0; i < tl->coros.room; i++) {
		struct timeline_coro *co = coro_table_at(&tl->coros, i);

		if (co && !co->track.name && tracks_rename(tl, co, NULL, 0) < 0)
			return -ENOMEM;
	}
	tracks_finish(tl);
	draw_damage(tl, damage);
	if (!tl->has_totals && tl->last_ts) {
		mark_init(tl, &m, WORD_TRACE_ENDS, CATEGORY_TRACE);
		timeline_instant(tl, &tl->processes[0].track, tl->last_ts, &m);
	}
	return 0;
}

void timeline_release(struct timeline *tl)
{
	struct timeline_view *view = tl->view;
	size_t i;

	for (i = 0; i < tl->coros.room; i++) {
		struct timeline_coro *co = coro_table_at(&tl->coros, i);

		if (!co)
			continue;
		free(co->text);
		free(co->label);
	}
	coro_table_release(&tl->coros);
	window_release(&tl->window);
	timeline_release_frames(tl);
	tracks_release(tl);
	*tl = (struct timeline){ .view = view };
}
