/* SPDX-License-Identifier: MIT */
/* model_waits.c - what the model keeps about waits: rhythms, wakers, activity, ends. */
#include "analyze/model_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cpu_samples.h"

/* Keep the two largest values. */
static void waits_keep(uint64_t *longest, uint64_t *second, uint64_t ns)
{
	if (ns > *longest) {
		*second = *longest;
		*longest = ns;
	} else if (ns > *second) {
		*second = ns;
	}
}

/* ---- time without stops ---------------------------------------------------- */

uint64_t model_time(const struct model *m, uint32_t pid, uint64_t from_ts, uint64_t to_ts)
{
	if (to_ts <= from_ts)
		return 0;
	if (!m->cpu || !m->cpu->stops.nr)
		return to_ts - from_ts;
	return to_ts - from_ts - cpu_samples_stopped(m->cpu, pid, from_ts, to_ts);
}

uint64_t model_time_since(const struct model *m, const struct coro *co, uint64_t ts)
{
	return model_time(m, co->pid, ts, m->end_ts);
}

uint64_t model_waited(const struct model *m, const struct coro *co)
{
	return model_time_since(m, co, co->since_ts);
}

/* ---- the waits and wakes of one coroutine -------------------------------- */

void waits_ended(struct coro *co, uint64_t ns)
{
	struct rhythm *r = &co->rhythms[0];
	unsigned i;

	for (i = 0; i < MODEL_RHYTHMS; i++) {
		if (co->rhythms[i].nr && co->rhythms[i].place == co->place)
			break;
		if (co->rhythms[i].nr < r->nr)
			r = &co->rhythms[i];
	}
	if (i < MODEL_RHYTHMS)
		r = &co->rhythms[i];
	else
		*r = (struct rhythm){ .place = co->place };
	r->nr += r->nr < UINT32_MAX;
	waits_keep(&r->longest_ns, &r->second_ns, ns);
	waits_keep(&co->longest_wait_ns, &co->second_wait_ns, ns);
}

const struct rhythm *model_rhythm(const struct coro *co)
{
	unsigned i;

	for (i = 0; i < MODEL_RHYTHMS; i++) {
		if (co->rhythms[i].nr && co->rhythms[i].place == co->place)
			return &co->rhythms[i];
	}
	return NULL;
}

void waits_woken(struct coro *co, const struct coro *waker, const struct trace_event *ev)
{
	uint32_t spawn = waker ? waker->spawn : 0;
	struct wake_source *w = &co->wakers[0];
	unsigned i;

	for (i = 0; i < MODEL_WAKERS; i++) {
		struct wake_source *at = &co->wakers[i];

		if (at->nr && at->spawn == spawn && at->is_outside == !ev->peer)
			break;
		if (at->nr < w->nr)
			w = at;
	}
	if (i < MODEL_WAKERS)
		w = &co->wakers[i];
	else
		*w = (struct wake_source){ .spawn = spawn,
					   .is_outside = !ev->peer,
					   .is_least = w->nr > 0 };
	w->is_mixed |= w->nr && w->last_id != ev->peer;
	if (waker && w->nr && (uint32_t)waker->resumes - w->resumes_then > w->most_apart)
		w->most_apart = (uint32_t)waker->resumes - w->resumes_then;
	w->resumes_then = waker ? (uint32_t)waker->resumes : 0;
	w->last_id = ev->peer;
	w->last_ts = ev->ts;
	w->site = ev->site;
	w->nr += w->nr < UINT32_MAX;
}

const struct wake_source *model_waker(const struct coro *co)
{
	const struct wake_source *w = &co->wakers[0];
	unsigned i;

	for (i = 1; i < MODEL_WAKERS; i++) {
		if (co->wakers[i].nr > w->nr)
			w = &co->wakers[i];
	}
	return w->nr ? w : NULL;
}

bool model_is_unreachable(const struct coro *co)
{
	uint32_t transitions = (uint32_t)(co->suspends + co->resumes);

	/* The mark may have been written just before the suspension. */
	return co->unreachable.ts && co->state == TRACE_STATE_SUSPENDED && !co->lost &&
	       co->woken_ts <= co->resumed_ts &&
	       (co->unreachable.seen == transitions || co->unreachable.seen + 1 == transitions);
}

/* ---- activity ------------------------------------------------------------ */

void waits_run_begins(struct model *m, uint64_t ts)
{
	uint64_t last = m->nr_ticks ? m->ticks[(m->nr_ticks - 1) % MODEL_TICKS] : 0;
	uint64_t idle = m->idle_since ? model_time(m, 0, m->idle_since, ts) : 0;

	m->running++;
	m->idle_since = 0;
	if (idle > MODEL_IDLE)
		m->idle_ns += idle;
	waits_keep(&m->longest_idle, &m->second_idle, idle);
	if (ts >= last + MODEL_TICK)
		m->ticks[m->nr_ticks++ % MODEL_TICKS] = ts;
}

void waits_run_ends(struct model *m, uint64_t ts)
{
	m->running -= m->running > 0;
	if (!m->running)
		m->idle_since = ts;
}

unsigned model_activity(const struct model *m, uint64_t ts)
{
	unsigned i, nr = 0;

	for (i = 0; i < MODEL_TICKS; i++)
		nr += m->ticks[i] > ts;
	return nr;
}

uint64_t model_idle(const struct model *m)
{
	uint64_t last = m->idle_since ? model_time(m, 0, m->idle_since, m->end_ts) : 0;

	return m->idle_ns + (last > MODEL_IDLE ? last : 0);
}

/* ---- ends ---------------------------------------------------------------- */

int waits_cancelled(struct model *m, const struct coro *co, uint64_t ts)
{
	struct coro *copy;

	if (model_time(m, co->pid, co->since_ts, ts) < 100 * MODEL_MS)
		return 0;
	if (!m->cancelled) {
		m->cancelled = calloc(MODEL_CANCELLED, sizeof(*m->cancelled));
		if (!m->cancelled)
			return -ENOMEM;
	}
	copy = &m->cancelled[m->nr_cancelled++ % MODEL_CANCELLED];
	*copy = *co;
	copy->left_ts = ts;
	return 0;
}

void waits_depart(struct model *m, const struct coro *co, uint64_t ts)
{
	m->departed[m->nr_departed++ % MODEL_DEPARTED] = (struct touch){
		.id = co->probe_id,
		.ts = ts,
		.name = co->name,
		.site = co->site,
	};
}

const struct touch *model_departed(const struct model *m, uint64_t id)
{
	unsigned i;

	for (i = 0; i < MODEL_DEPARTED; i++) {
		if (m->departed[i].ts && m->departed[i].id == id)
			return &m->departed[i];
	}
	return NULL;
}

bool model_has_ended(const struct model *m, uint64_t id)
{
	const struct coro *co = model_find(m, id);

	return !co || co->state == TRACE_STATE_ENDED;
}

const struct coro *model_child(const struct model *m, const struct coro *co)
{
	const struct coro *child;

	if (co->state != TRACE_STATE_SUSPENDED || co->reason != TRACE_REASON_JOIN ||
	    !co->has_resource)
		return NULL;
	child = model_find(m, co->resource);
	return child && child->state != TRACE_STATE_ENDED ? child : NULL;
}
