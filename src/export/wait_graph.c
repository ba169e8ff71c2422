/* SPDX-License-Identifier: MIT */
/* wait_graph.c - the waits, joins and locks of a trace, up to the time of the graph. */
#include "export/wait_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/timeline_tracks.h"

/* ---- locks ------------------------------------------------------------------ */

static uint64_t graph_lock_key(uint32_t pid, uint64_t resource)
{
	return resource * UINT64_C(0x9e3779b97f4a7c15) ^ (uint64_t)pid;
}

static struct graph_lock *graph_lock_find(const struct wait_graph *g, uint32_t pid,
					  uint64_t resource)
{
	uint64_t number;

	if (!u64map_get(&g->lock_numbers, graph_lock_key(pid, resource), &number))
		return NULL;
	return &g->locks[number - 1];
}

static struct graph_lock *graph_lock_enter(struct wait_graph *g, uint32_t pid, uint64_t resource)
{
	struct graph_lock *lock = graph_lock_find(g, pid, resource);
	size_t room = g->locks_room ? g->locks_room * 2 : 64;

	if (lock)
		return lock;
	if (g->nr_locks == g->locks_room) {
		lock = reallocarray(g->locks, room, sizeof(*lock));
		if (!lock)
			return NULL;
		g->locks = lock;
		g->locks_room = room;
	}
	if (u64map_put(&g->lock_numbers, graph_lock_key(pid, resource), g->nr_locks + 1) < 0)
		return NULL;
	lock = &g->locks[g->nr_locks++];
	*lock = (struct graph_lock){ .pid = pid, .resource = resource };
	return lock;
}

/* The process of a coroutine; events of a resource do not have it. */
static uint32_t graph_pid_of(const struct wait_graph *g, uint64_t id)
{
	const struct graph_coro *co = id ? wait_graph_find(g, id) : NULL;

	return co ? co->pid : 0;
}

static int graph_lock_event(struct wait_graph *g, const struct trace_event *ev)
{
	uint32_t pid = ev->pid ? ev->pid : graph_pid_of(g, ev->probe_id), i;
	struct graph_lock *lock = graph_lock_enter(g, pid, ev->resource);

	if (!lock)
		return -ENOMEM;
	if (ev->kind == TRACE_ACQUIRE) {
		if (lock->nr_holders < WAIT_GRAPH_HOLDERS && ev->probe_id)
			lock->holders[lock->nr_holders++] = ev->probe_id;
		return 0;
	}
	for (i = lock->nr_holders; i && lock->holders[i - 1] != ev->probe_id;)
		i--;
	/* A permit may be given back by another coroutine: the oldest goes. */
	if (!i && lock->nr_holders)
		i = 1;
	if (i)
		memmove(&lock->holders[i - 1], &lock->holders[i],
			(--lock->nr_holders - (i - 1)) * sizeof(lock->holders[0]));
	return 0;
}

const struct graph_lock *wait_graph_lock(const struct wait_graph *g, const struct graph_coro *co)
{
	const struct graph_lock *lock;

	if (!co->has_resource ||
	    (co->reason != TRACE_REASON_MUTEX && co->reason != TRACE_REASON_SEMAPHORE))
		return NULL;
	lock = graph_lock_find(g, co->pid, co->resource);
	return lock && lock->nr_holders ? lock : NULL;
}

struct graph_coro *wait_graph_child(const struct wait_graph *g, const struct graph_coro *co)
{
	return co->reason == TRACE_REASON_JOIN && co->has_resource && co->resource
		       ? wait_graph_find(g, co->resource)
		       : NULL;
}

/* ---- events ------------------------------------------------------------------ */

static void graph_forget(struct wait_graph *g, struct graph_coro *co)
{
	free(co->name);
	coro_table_remove(&g->coros, co);
}

static int graph_birth(struct wait_graph *g, const struct trace_event *ev)
{
	struct graph_coro *co = coro_table_find(&g->coros, ev->probe_id, ev->station);

	if (co && coro_step_of(&co->life, ev) == CORO_STEP_BORN_AGAIN)
		graph_forget(g, co);
	co = coro_table_enter(&g->coros, ev->probe_id, ev->station);
	if (!co)
		return -ENOMEM;
	coro_step_apply(&co->life, ev);
	co->pid = ev->pid;
	co->birth_site = ev->site;
	if (!ev->name || co->name)
		return 0;
	co->name = strndup(ev->name, ev->name_size);
	return co->name ? 0 : -ENOMEM;
}

static int graph_transition(struct wait_graph *g, const struct trace_event *ev)
{
	struct graph_coro *co = coro_table_enter(&g->coros, ev->probe_id, ev->station);

	if (!co)
		return -ENOMEM;
	if (!coro_step_counts(coro_step_of(&co->life, ev)))
		return 0;
	coro_step_apply(&co->life, ev);
	co->is_woken = false;
	if (ev->is_active)
		return 0;
	co->site = ev->site;
	co->reason = ev->reason;
	co->addr = ev->addr;
	co->resource = ev->resource;
	co->has_resource = ev->flags & TRACE_HAS_RESOURCE || ev->resource;
	return 0;
}

static int graph_event(void *arg, const struct trace_event *ev)
{
	struct wait_graph *g = arg;
	struct graph_coro *co;

	if (ev->ts > trace_filter_to(&g->filter))
		return 0;
	g->last_ts = ev->ts;
	switch ((enum trace_kind)ev->kind) {
	case TRACE_SUSPEND:
	case TRACE_RESUME:
		return graph_transition(g, ev);
	case TRACE_BIRTH:
		return graph_birth(g, ev);
	case TRACE_WAKE:
		co = coro_table_find(&g->coros, ev->probe_id, ev->station);
		if (co && co->life.state == TRACE_STATE_SUSPENDED)
			co->is_woken = true;
		return 0;
	case TRACE_END:
	case TRACE_DESTROY:
		co = coro_table_find(&g->coros, ev->probe_id, ev->station);
		if (co)
			coro_step_apply(&co->life, ev);
		if (co && coro_event_destroys(ev))
			graph_forget(g, co);
		return 0;
	case TRACE_ACQUIRE:
	case TRACE_RELEASE:
		return trace_is_wakers_dropped(ev) ? 0 : graph_lock_event(g, ev);
	default:
		return 0;
	}
}

/* ---- facts ------------------------------------------------------------------- */

static int graph_site(struct wait_graph *g, const struct trace_site *site)
{
	char text[SITE_NAME_SIZE * 2 + 16];
	int64_t number;

	site_text(text, sizeof(text), site->file, site->line, site->function);
	number = strtab_intern(&g->places, text);
	return number < 0 ? -ENOMEM : u64map_put(&g->sites, site->id, (uint64_t)number + 1);
}

/* A coroutine that has no event: it was suspended during the whole trace. */
static int graph_coroutine(struct wait_graph *g, const struct sidecar_coroutine *c)
{
	uint32_t station = c->station < TRACE_NO_STATION ? (uint32_t)c->station : TRACE_NO_STATION;
	struct graph_coro *co = coro_table_find(&g->coros, c->probe_id, station);

	if (co && c->dead) {
		graph_forget(g, co);
		return 0;
	}
	if (c->dead || (!co && (c->state != TRACE_STATE_SUSPENDED ||
				c->since_ts > trace_filter_to(&g->filter))))
		return 0;
	if (!co) {
		co = coro_table_enter(&g->coros, c->probe_id, station);
		if (!co)
			return -ENOMEM;
		co->life.state = TRACE_STATE_SUSPENDED;
		co->life.since_ts = c->since_ts;
		co->pid = (uint32_t)c->pid;
		co->site = c->site;
		co->birth_site = c->birth_site;
		co->reason = c->reason;
		co->resource = c->resource;
		co->has_resource = c->has_resource;
		co->addr = c->addr;
	}
	if (!co->name && c->name)
		co->name = strdup(c->name);
	return c->name && !co->name ? -ENOMEM : 0;
}

static int graph_run(struct wait_graph *g, const struct sidecar_run *run)
{
	const char *slash = run->nr_command ? strrchr(run->command[0], '/') : NULL;

	if (g->program || !run->nr_command)
		return 0;
	g->start_ts = run->start_ts;
	g->program = strdup(slash ? slash + 1 : run->command[0]);
	return g->program ? 0 : -ENOMEM;
}

/* ---- all --------------------------------------------------------------------- */

void wait_graph_init(struct wait_graph *g, const struct trace_filter *filter)
{
	*g = (struct wait_graph){ .filter = *filter };
	g->coros.entry_size = sizeof(struct graph_coro);
}

int wait_graph_add(struct wait_graph *g, const struct trace_item *item)
{
	uint64_t end_ts = item->type == TRACE_ITEM_TOTALS ? item->totals.end_ts : 0;
	int rc;

	trace_filter_note(&g->filter, item);
	switch (item->type) {
	case TRACE_ITEM_RUN:
		return graph_run(g, &item->run);
	case TRACE_ITEM_SITE:
		return graph_site(g, &item->site);
	case TRACE_ITEM_EVENT:
		if (timeline_is_time(item->event.ts))
			return window_add(&g->window, &item->event, graph_event, g);
		g->impossible++;
		return 0;
	case TRACE_ITEM_COROUTINE:
		rc = window_finish(&g->window, graph_event, g);
		return rc < 0 ? rc : graph_coroutine(g, &item->coroutine);
	case TRACE_ITEM_TOTALS:
		rc = window_finish(&g->window, graph_event, g);
		if (end_ts > trace_filter_to(&g->filter))
			end_ts = trace_filter_to(&g->filter);
		if (timeline_is_time(end_ts) && end_ts > g->last_ts)
			g->last_ts = end_ts;
		return rc;
	default:
		return 0;
	}
}

int wait_graph_finish(struct wait_graph *g)
{
	return window_finish(&g->window, graph_event, g);
}

void wait_graph_release(struct wait_graph *g)
{
	size_t i;

	for (i = 0; i < g->coros.room; i++) {
		struct graph_coro *co = coro_table_at(&g->coros, i);

		if (co)
			free(co->name);
	}
	coro_table_release(&g->coros);
	window_release(&g->window);
	u64map_release(&g->lock_numbers);
	u64map_release(&g->sites);
	strtab_release(&g->places);
	trace_filter_release(&g->filter);
	free(g->locks);
	free(g->program);
}
