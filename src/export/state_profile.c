/* SPDX-License-Identifier: MIT */
/* state_profile.c - where the coroutines of a trace spend their time. */
#include "export/state_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/timeline_tracks.h"

struct profiled_coro {
	struct coro_state life;
	uint64_t woken_ts; /* of the first wake of this wait; 0: none */
	uint64_t addr, tid;
	uint32_t level; /* of the coroutine in the tree; 0: not known yet */
	uint32_t site;
	uint8_t reason;
};

const char *profiled_state_name(unsigned state)
{
	static const char *const names[NR_PROFILED_STATES] = {
		[PROFILED_NEW] = "new",
		[PROFILED_RUNNING] = "running",
		[PROFILED_READY] = "ready",
		[PROFILED_WAITING] = "waiting",
	};

	return state < NR_PROFILED_STATES ? names[state] : NULL;
}

/* ---- stacks -------------------------------------------------------------- */

/* The kind of its name, or the function that creates it, at the site of its creation. */
static int64_t profiled_place(struct state_profile *p, const struct trace_event *birth)
{
	size_t size = birth->name ? tracks_kind_size(birth->name, birth->name_size) : 0;
	const struct time_place *site = NULL;
	char kind[TIMELINE_NAME_MAX + 1];
	uint64_t known;

	if (birth->site && u64map_get(&p->sites, birth->site, &known))
		site = &p->tree.places[known - 1];
	if (!size || memchr(birth->name, 0, size))
		return site ? (int64_t)known - 1 : time_tree_place(&p->tree, "coroutine", NULL, 0);
	snprintf(kind, sizeof(kind), "%.*s", (int)size, birth->name);
	return time_tree_place(&p->tree, kind, site ? site->file : NULL, site ? site->line : 0);
}

/* The level of the coroutine above its parent's; a coroutine that creates its own kind is one. */
static int64_t profiled_level(struct state_profile *p, const struct trace_event *birth)
{
	const struct profiled_coro *parent = birth->peer ? coro_table_find(&p->coros, birth->peer,
									   TRACE_NO_STATION)
							 : NULL;
	uint32_t below = parent ? parent->level : 0;
	int64_t place = profiled_place(p, birth);

	if (place < 0)
		return -ENOMEM;
	if (below && p->tree.levels[below].place == place)
		return below;
	return time_tree_child(&p->tree, below, (uint32_t)place);
}

/* The place of an await: its site, or its address. */
static int64_t profiled_await(struct state_profile *p, const struct profiled_coro *co)
{
	char text[32];
	uint64_t known;

	if (co->site && u64map_get(&p->sites, co->site, &known))
		return (int64_t)known - 1;
	if (!co->addr)
		return -ENOENT;
	snprintf(text, sizeof(text), "0x%" PRIx64, co->addr);
	return time_tree_place(&p->tree, text, NULL, 0);
}

static int64_t profiled_stack(struct state_profile *p, const struct profiled_coro *co,
			      enum profiled_state state)
{
	const char *reason = state == PROFILED_WAITING ? trace_reason_name(co->reason) : NULL;
	int64_t level = co->level, place;
	char text[64];

	if (state == PROFILED_WAITING || state == PROFILED_READY) {
		place = profiled_await(p, co);
		if (place >= 0)
			level = time_tree_child(&p->tree, (uint32_t)level, (uint32_t)place);
		if (place == -ENOMEM || level < 0)
			return -ENOMEM;
	}
	snprintf(text, sizeof(text), "[%s%s%s]", profiled_state_name(state),
		 reason && co->reason ? " " : "", reason && co->reason ? reason : "");
	place = time_tree_place(&p->tree, text, NULL, 0);
	if (place >= 0)
		level = time_tree_child(&p->tree, (uint32_t)level, (uint32_t)place);
	if (place < 0 || level < 0)
		return -ENOMEM;
	p->tree.levels[level].state = state;
	return level;
}

/* ---- states -------------------------------------------------------------- */

static bool profiled_passes(const struct state_profile *p, const struct profiled_coro *co,
			    enum profiled_state state)
{
	static const uint8_t begins_with[NR_PROFILED_STATES] = {
		[PROFILED_NEW] = TRACE_BIRTH,
		[PROFILED_RUNNING] = TRACE_RESUME,
		[PROFILED_READY] = TRACE_WAKE,
		[PROFILED_WAITING] = TRACE_SUSPEND,
	};
	const struct trace_filter *f = &p->filter;
	bool is_wait = state == PROFILED_READY || state == PROFILED_WAITING;
	uint64_t unused;

	return (!f->has_coroutine || f->coroutine == co->life.probe_id) &&
	       (!f->chosen || u64map_get(f->chosen, co->life.probe_id, &unused)) &&
	       (!f->kinds || f->kinds >> begins_with[state] & 1) &&
	       (!f->site || (is_wait && trace_filter_has_site(f, co->site)));
}

static int profiled_count(struct state_profile *p, const struct profiled_coro *co,
			  enum profiled_state state, uint64_t from, uint64_t to)
{
	uint64_t first = trace_filter_from(&p->filter), last = trace_filter_to(&p->filter);
	int64_t level;

	from = from > first ? from : first;
	to = to < last ? to : last;
	if (to < from || !profiled_passes(p, co, state))
		return 0;
	level = profiled_stack(p, co, state);
	if (level < 0)
		return -ENOMEM;
	time_tree_add(&p->tree, (uint32_t)level, to - from);
	return 0;
}

/* Ends its state. */
static int profiled_close(struct state_profile *p, struct profiled_coro *co, uint64_t ts)
{
	uint64_t since = co->life.since_ts, woken = co->woken_ts;
	int rc;

	co->woken_ts = 0;
	ts = ts > since ? ts : since;
	switch (co->life.state) {
	case TRACE_STATE_NEW:
		return profiled_count(p, co, PROFILED_NEW, since, ts);
	case TRACE_STATE_RUNNING:
		return profiled_count(p, co, PROFILED_RUNNING, since, ts);
	case TRACE_STATE_SUSPENDED:
		if (woken < since || woken > ts)
			return profiled_count(p, co, PROFILED_WAITING, since, ts);
		rc = profiled_count(p, co, PROFILED_WAITING, since, woken);
		return rc < 0 ? rc : profiled_count(p, co, PROFILED_READY, woken, ts);
	default:
		return 0;
	}
}

/* ---- events -------------------------------------------------------------- */

/* @ev is a birth, or the first event of a coroutine whose birth is not in the trace. */
static struct profiled_coro *profiled_enter(struct state_profile *p, const struct trace_event *ev)
{
	struct profiled_coro *co = coro_table_find(&p->coros, ev->probe_id, ev->station);
	struct trace_event birth;
	int64_t level;

	if (co)
		return co;
	trace_event_init(&birth);
	level = profiled_level(p, ev->kind == TRACE_BIRTH ? ev : &birth);
	co = level < 0 ? NULL : coro_table_enter(&p->coros, ev->probe_id, ev->station);
	if (co)
		co->level = (uint32_t)level;
	return co;
}

static int profiled_transition(struct state_profile *p, struct profiled_coro *co,
			       const struct trace_event *ev)
{
	enum coro_step step = coro_step_of(&co->life, ev);
	int rc = 0;

	if (!coro_step_counts(step))
		return 0;
	if (step == CORO_STEP_EXPECTED)
		rc = profiled_close(p, co, ev->ts);
	else
		p->unknown++; /* an event between the two is missing */
	co->woken_ts = 0;
	coro_step_apply(&co->life, ev);
	co->tid = ev->tid;
	if (!ev->is_active) {
		co->site = ev->site;
		co->reason = ev->reason;
		co->addr = ev->addr;
	}
	return rc;
}

static int profiled_birth(struct state_profile *p, const struct trace_event *ev)
{
	struct profiled_coro *co = coro_table_find(&p->coros, ev->probe_id, ev->station);
	int64_t level;
	int rc = 0;

	if (co && coro_step_of(&co->life, ev) == CORO_STEP_BORN_AGAIN) {
		rc = profiled_close(p, co, ev->ts);
		coro_table_remove(&p->coros, co);
	}
	level = profiled_level(p, ev);
	co = rc < 0 || level < 0 ? NULL : coro_table_enter(&p->coros, ev->probe_id, ev->station);
	if (!co)
		return -ENOMEM;
	co->level = (uint32_t)level;
	coro_step_apply(&co->life, ev);
	return 0;
}

static int profiled_event(void *arg, const struct trace_event *ev)
{
	struct state_profile *p = arg;
	struct profiled_coro *co;
	int rc;

	if (!p->first_ts)
		p->first_ts = ev->ts;
	p->last_ts = ev->ts;
	switch ((enum trace_kind)ev->kind) {
	case TRACE_SUSPEND:
	case TRACE_RESUME:
		co = profiled_enter(p, ev);
		return co ? profiled_transition(p, co, ev) : -ENOMEM;
	case TRACE_BIRTH:
		return profiled_birth(p, ev);
	case TRACE_WAKE:
		co = coro_table_find(&p->coros, ev->probe_id, ev->station);
		if (co && co->life.state == TRACE_STATE_SUSPENDED && !co->woken_ts)
			co->woken_ts = ev->ts;
		return 0;
	case TRACE_END:
	case TRACE_DESTROY:
		co = coro_table_find(&p->coros, ev->probe_id, ev->station);
		rc = co ? profiled_close(p, co, ev->ts) : 0;
		if (co)
			coro_step_apply(&co->life, ev);
		if (co && coro_event_destroys(ev))
			coro_table_remove(&p->coros, co);
		return rc;
	default:
		return 0;
	}
}

/* ---- facts --------------------------------------------------------------- */

/* What ran on the thread of the gap is in no known state after it began. */
static int profiled_gap(struct state_profile *p, const struct trace_gap *gap)
{
	size_t i;
	int rc = window_until(&p->window, gap->to_ts, profiled_event, p);

	for (i = 0; rc == 0 && gap->transitions && i < p->coros.room; i++) {
		struct profiled_coro *co = coro_table_at(&p->coros, i);

		if (!co || co->life.state != TRACE_STATE_RUNNING || co->tid != gap->tid)
			continue;
		rc = profiled_close(p, co, gap->from_ts);
		co->life.state = TRACE_STATE_UNKNOWN;
		co->life.since_ts = gap->from_ts;
		p->unknown++;
	}
	return rc;
}

static int profiled_site(struct state_profile *p, const struct trace_site *site)
{
	const char *file = site->file ? site->file : "";
	const char *name = site->function && *site->function ? site->function : file;
	int64_t place = time_tree_place(&p->tree, *name ? name : "?", file, site->line);

	return place < 0 ? -ENOMEM : u64map_put(&p->sites, site->id, (uint64_t)place + 1);
}

/* A coroutine at the end of the run: it may have no event, or its end may only be known here. */
static int profiled_coroutine(struct state_profile *p, const struct sidecar_coroutine *c)
{
	uint32_t station = c->station < TRACE_NO_STATION ? (uint32_t)c->station : TRACE_NO_STATION;
	struct profiled_coro *co = coro_table_find(&p->coros, c->probe_id, station);
	struct trace_event ev;
	int rc = 0;

	if (!co)
		co = coro_table_find(&p->coros, c->probe_id, TRACE_NO_STATION);
	if (co && c->dead) {
		rc = profiled_close(p, co, c->death_ts ? c->death_ts : p->last_ts);
		coro_table_remove(&p->coros, co);
		return rc;
	}
	if (co || c->dead || c->state != TRACE_STATE_SUSPENDED || !p->first_ts)
		return 0;
	trace_event_init(&ev);
	ev.kind = TRACE_BIRTH;
	ev.probe_id = c->probe_id;
	ev.station = station;
	ev.site = c->birth_site;
	ev.name = c->name;
	ev.name_size = c->name ? (uint32_t)strlen(c->name) : 0;
	ev.ts = c->since_ts > p->first_ts ? c->since_ts : p->first_ts;
	ev.peer = c->parent;
	co = profiled_enter(p, &ev);
	if (!co)
		return -ENOMEM;
	co->life.state = TRACE_STATE_SUSPENDED;
	co->life.since_ts = ev.ts;
	co->site = c->site;
	co->reason = c->reason;
	co->addr = c->addr;
	return 0;
}

static int profiled_run(struct state_profile *p, const struct sidecar_run *run)
{
	const char *program = run->nr_command ? strrchr(run->command[0], '/') : NULL;

	if (p->program || !run->nr_command)
		return 0;
	p->start_ts = run->start_ts;
	p->start_realtime = run->start_realtime;
	p->program = strdup(program ? program + 1 : run->command[0]);
	return p->program ? 0 : -ENOMEM;
}

/* ---- all ----------------------------------------------------------------- */

void state_profile_init(struct state_profile *p, const struct trace_filter *filter)
{
	*p = (struct state_profile){ .filter = *filter };
	p->coros.entry_size = sizeof(struct profiled_coro);
}

int state_profile_add(struct state_profile *p, const struct trace_item *item)
{
	int rc;

	trace_filter_note(&p->filter, item);
	switch (item->type) {
	case TRACE_ITEM_RUN:
		return profiled_run(p, &item->run);
	case TRACE_ITEM_SITE:
		return profiled_site(p, &item->site);
	case TRACE_ITEM_EVENT:
		if (timeline_is_time(item->event.ts))
			return window_add(&p->window, &item->event, profiled_event, p);
		p->impossible++;
		return 0;
	case TRACE_ITEM_GAP:
		return profiled_gap(p, &item->gap);
	case TRACE_ITEM_COROUTINE:
		rc = window_finish(&p->window, profiled_event, p);
		return rc < 0 ? rc : profiled_coroutine(p, &item->coroutine);
	case TRACE_ITEM_TOTALS:
		p->end_ts = timeline_is_time(item->totals.end_ts) ? item->totals.end_ts : 0;
		return 0;
	default:
		return 0;
	}
}

int state_profile_finish(struct state_profile *p)
{
	int rc = window_finish(&p->window, profiled_event, p);
	uint64_t end = p->end_ts > p->last_ts ? p->end_ts : p->last_ts;
	size_t i;

	p->end_ts = end;
	for (i = 0; rc == 0 && i < p->coros.room; i++) {
		struct profiled_coro *co = coro_table_at(&p->coros, i);

		if (co)
			rc = profiled_close(p, co, end);
	}
	return rc < 0 || p->filter.no_memory ? -ENOMEM : 0;
}

void state_profile_release(struct state_profile *p)
{
	time_tree_release(&p->tree);
	window_release(&p->window);
	coro_table_release(&p->coros);
	u64map_release(&p->sites);
	trace_filter_release(&p->filter);
	free(p->program);
}
