/* SPDX-License-Identifier: MIT */
/* model_resources.c - the model's resources: waiters, holders, and who wakes the waiters. */
#include <errno.h>
#include <string.h>

#include "analyze/model_tables.h"

/* Reading and writing one descriptor are two resources; descriptors are per process. */
static uint64_t resource_key(uint32_t pid, uint64_t resource, bool is_writing)
{
	return (resource * UINT64_C(0x9e3779b97f4a7c15)) ^ (uint64_t)pid << 8 ^ is_writing;
}

static bool resource_is_written(const struct coro *co)
{
	return co->reason == TRACE_REASON_IO_WRITE || co->reason == TRACE_REASON_CHANNEL_SEND;
}

static uint64_t resource_key_of(const struct coro *co)
{
	return resource_key(co->pid, co->resource, resource_is_written(co));
}

static bool resource_is_shared(const struct coro *co)
{
	return co->has_resource && co->reason != TRACE_REASON_TIMER &&
	       co->reason != TRACE_REASON_JOIN && co->reason != TRACE_REASON_YIELD;
}

static struct resource *resource_find(const struct model *m, uint64_t key)
{
	uint64_t number;

	if (!u64map_get(&m->resource_numbers, key, &number) || !number)
		return NULL;
	return &m->resources[number - 1];
}

struct resource *tables_resource(const struct model *m, const struct coro *co)
{
	return resource_is_shared(co) ? resource_find(m, resource_key_of(co)) : NULL;
}

/* *@out is NULL if there are too many resources. */
static int resource_enter(struct model *m, uint64_t key, struct resource **out)
{
	uint64_t *number;

	*out = resource_find(m, key);
	if (*out || m->nr_resources >= MODEL_RESOURCES)
		return 0;
	number = u64map_at(&m->resource_numbers, key);
	if (!number || tables_room_for_one((void **)&m->resources, m->nr_resources,
					   &m->resources_room, sizeof(*m->resources)))
		return -ENOMEM;
	*number = ++m->nr_resources;
	*out = &m->resources[*number - 1];
	return 0;
}

/* ---- uses ---------------------------------------------------------------- */

static const struct resource_use *resource_use_of(const struct model *m, const struct resource *r)
{
	return r && r->use ? &m->uses[r->use - 1] : NULL;
}

const struct resource_use *tables_use(const struct model *m, const struct coro *co)
{
	if (!resource_is_shared(co))
		return NULL;
	/* A lock has one side; the close of a descriptor or a channel concerns both. */
	return resource_use_of(m, resource_find(m, resource_key(co->pid, co->resource, false)));
}

const struct resource_use *tables_holders(const struct model *m, const struct coro *co)
{
	const struct resource_use *use = NULL;

	if (co->reason == TRACE_REASON_MUTEX || co->reason == TRACE_REASON_SEMAPHORE)
		use = tables_use(m, co);
	return use && !use->is_passed_on ? use : NULL;
}

const struct resource_use *tables_partners(const struct model *m, const struct coro *co)
{
	const struct resource_use *use = resource_use_of(m, tables_resource(m, co));

	return use && use->nr_partners ? use : NULL;
}

bool tables_keeps(const struct model *m, const struct coro *co, uint64_t id)
{
	const struct coro *holder = id ? model_find(m, id) : NULL;

	if (!id)
		return false;
	if (!holder || holder->state == TRACE_STATE_ENDED)
		return true;
	return co->reason == TRACE_REASON_SEMAPHORE && holder->state == TRACE_STATE_SUSPENDED &&
	       !holder->woken_since && holder->reason == TRACE_REASON_SEMAPHORE &&
	       holder->has_resource && holder->resource == co->resource;
}

unsigned tables_kept(const struct model *m, const struct coro *co, const struct resource_use *use)
{
	unsigned nr = 0;
	uint32_t i;

	for (i = 0; i < use->nr_holders; i++)
		nr += tables_keeps(m, co, use->holders[i].id);
	return nr;
}

static struct resource_use *resource_use_enter(struct model *m, struct resource *r)
{
	if (!r->use) {
		if (tables_room_for_one((void **)&m->uses, m->nr_uses, &m->uses_room,
					sizeof(*m->uses)))
			return NULL;
		r->use = (uint32_t)++m->nr_uses;
	}
	return &m->uses[r->use - 1];
}

static void resource_hold(struct resource_use *use, const struct touch *by)
{
	uint32_t i;

	use->taken = *by;
	use->taken_nr++;
	for (i = 0; i < use->nr_holders; i++) {
		if (use->holders[i].id == by->id) {
			use->taken_again++;
			break;
		}
	}
	if (use->nr_holders < MODEL_HOLDERS)
		use->holders[use->nr_holders++] = *by;
	else
		use->more_holders++;
}

/* A permit may be given back by another coroutine than the one that took it: the oldest goes. */
static void resource_let_go(struct resource_use *use, const struct touch *by)
{
	uint32_t i = use->nr_holders;

	use->released = *by;
	while (i && use->holders[i - 1].id != by->id)
		i--;
	if (!i && use->more_holders) {
		use->more_holders--;
		return;
	}
	if (!i)
		use->is_passed_on = true;
	if (!use->nr_holders)
		return;
	i -= i > 0;
	use->nr_holders--;
	memmove(&use->holders[i], &use->holders[i + 1],
		(use->nr_holders - i) * sizeof(*use->holders));
}

static void resource_add_partner(const struct model *m, struct resource_use *use,
				 const struct touch *by)
{
	unsigned i;

	for (i = 0; i < use->nr_partners; i++) {
		if (use->partners[i].id == by->id) {
			use->partners[i] = *by;
			return;
		}
	}
	for (i = 0; use->nr_partners == MODEL_PARTNERS && i < MODEL_PARTNERS; i++) {
		if (model_has_ended(m, use->partners[i].id)) {
			use->partners[i] = *by;
			return;
		}
	}
	if (use->nr_partners < MODEL_PARTNERS)
		use->partners[use->nr_partners++] = *by;
	else
		use->more_partners = true;
}

static struct touch resource_touch(const struct model *m, uint64_t id, uint64_t ts, uint32_t site)
{
	const struct coro *co = id ? model_find(m, id) : NULL;

	return (struct touch){ .id = id, .ts = ts, .name = co ? co->name : 0, .site = site };
}

int tables_resource_event(struct model *m, const struct trace_event *ev)
{
	struct touch by = resource_touch(m, ev->probe_id, ev->ts, ev->site);
	struct coro *co = ev->probe_id ? model_find(m, ev->probe_id) : NULL;
	struct resource_use *use;
	struct resource *r;

	if (co)
		co->has_acted = true;
	if (resource_enter(m, resource_key(ev->pid, ev->resource, false), &r) < 0)
		return -ENOMEM;
	use = r ? resource_use_enter(m, r) : NULL;
	if (!use)
		return r ? -ENOMEM : 0;
	if (ev->kind == TRACE_CLOSE)
		use->closed = by;
	else if (ev->kind == TRACE_ACQUIRE)
		resource_hold(use, &by);
	else
		resource_let_go(use, &by);
	return 0;
}

/* ---- waits --------------------------------------------------------------- */

/* The coroutine that waits for @r, if known and still waiting. */
static struct coro *resource_waiter(const struct model *m, const struct resource *r,
				    uint64_t resource)
{
	struct coro *co = r->waiter && r->waiter <= m->nr_coros ? &m->coros[r->waiter - 1] : NULL;

	if (!co || !co->in_use || co->state != TRACE_STATE_SUSPENDED || !co->has_resource ||
	    co->resource != resource)
		return NULL;
	return co;
}

/* @co uses one side of a channel: it is who will wake the waiters of the other side. */
static int resource_tell_other_side(struct model *m, const struct coro *co)
{
	uint64_t key = resource_key(co->pid, co->resource, !resource_is_written(co));
	struct touch by = { co->probe_id, co->since_ts, co->name, co->site };
	struct resource_use *use;
	struct resource *r;

	if (resource_enter(m, key, &r) < 0)
		return -ENOMEM;
	use = r ? resource_use_enter(m, r) : NULL;
	if (!use)
		return r ? -ENOMEM : 0;
	resource_add_partner(m, use, &by);
	return 0;
}

int tables_wait_begins(struct model *m, struct coro *co)
{
	bool is_new;
	struct resource *r;
	struct coro *before;

	if (!resource_is_shared(co))
		return 0;
	if (resource_enter(m, resource_key_of(co), &r) < 0)
		return -ENOMEM;
	if (!r)
		return 0;
	before = resource_waiter(m, r, co->resource);
	if (before && before != co) {
		before->rival = co->probe_id;
		before->rival_ts = co->since_ts;
	}
	r->waiter = (uint64_t)(co - m->coros) + 1;
	is_new = r->began != co->probe_id;
	r->began = co->probe_id;
	if (is_new &&
	    (co->reason == TRACE_REASON_CHANNEL_SEND || co->reason == TRACE_REASON_CHANNEL_RECV))
		return resource_tell_other_side(m, co);
	return 0;
}

void tables_wait_ends(struct model *m, struct coro *co)
{
	struct resource *r = tables_resource(m, co);

	if (!r)
		return;
	if (r->waiter == (uint64_t)(co - m->coros) + 1)
		r->waiter = 0;
	r->begun[r->next_begun++ % MODEL_OVERTAKES] = co->since_ts;
}

int tables_wake(struct model *m, const struct coro *co, const struct trace_event *ev)
{
	struct resource *r = tables_resource(m, co);
	struct resource_use *use;
	struct touch by;

	if (!r)
		return 0;
	if (!ev->peer || ev->peer == co->probe_id) {
		r->woken_outside |= !ev->peer;
		return 0;
	}
	by = resource_touch(m, ev->peer, ev->ts, ev->site);
	use = resource_use_enter(m, r);
	if (!use)
		return -ENOMEM;
	resource_add_partner(m, use, &by);
	return 0;
}
