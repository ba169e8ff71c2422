/* SPDX-License-Identifier: MIT */
/* detector.c - the table of detectors, and the queries they use. */
#include "analyze/detector.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/model_tables.h"

const struct detector *const detectors[] = {
	&detector_deadlock,
	&detector_abandoned_lock,
	&detector_closed,
	&detector_address,
	&detector_never_run,
	&detector_wake_race,
	&detector_unfair_order,
	&detector_starvation,
	&detector_stalled,
	&detector_leak,
	&detector_lost_wakeup,
	&detector_double_resume,
	&detector_after_end,
	&detector_never_yielded,
	&detector_blocking,
	&detector_never_destroyed,
	&detector_herd,
	&detector_wrong_thread,
	&detector_busy_yield,
	&detector_long_suspended,
	&detector_at_exit,
	&detector_destroyed_suspended,
	&detector_imbalance,
	&detector_migration,
	NULL,
};

const struct detector *detector_find(const char *name)
{
	const struct detector *const *d;

	for (d = detectors; *d; d++) {
		if (!strcmp((*d)->name, name))
			return *d;
	}
	return NULL;
}

unsigned detector_number(const struct detector *d)
{
	unsigned i = 0;

	while (detectors[i] && detectors[i] != d)
		i++;
	return i;
}

void finding_say(struct finding *f, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(f->detail, sizeof(f->detail), fmt, args);
	va_end(args);
}

static const char *why_unsure(const struct model *m, const struct coro *co, unsigned needs)
{
	uint64_t since = co ? co->since_ts : 0;

	if (needs & NEED_TRANSITIONS) {
		if (co && co->loss_known && co->lost)
			return "transitions of this coroutine were lost";
		if (co && !co->loss_known && (co->lost || m->gap_to >= since) &&
		    (co->lost || m->nr_gaps))
			return "transitions are missing in the trace, maybe one of this coroutine";
	}
	if (needs & NEED_WAKES && m->gap_wakes_to && m->gap_wakes_to >= since)
		return "wake-ups are missing in the trace, maybe one of this coroutine";
	if (needs & NEED_LIVES && m->gap_wakes_to)
		return "births or ends are missing in the trace";
	return NULL;
}

void finding_doubt(const struct analysis *a, struct finding *f, unsigned needs)
{
	const char *why = why_unsure(&a->model, f->co, needs);

	f->needs |= needs;
	if (!why)
		return;
	f->doubt = why;
	if (f->confidence > CONFIDENCE_SUSPECT)
		f->confidence = CONFIDENCE_SUSPECT;
}

const struct wait_place *waits_to_compare(const struct analysis *a, const struct coro *co)
{
	const struct model *m = &a->model;

	/*
	 * Place 0 collects all unknown places; it is comparable only if no suspend in the trace has
	 * a site.
	 */
	if (!co->place && !(m->own_addresses && !m->told_suspends))
		return NULL;
	return co->place < m->nr_settled ? &m->settled[co->place] : &m->places[co->place];
}

uint64_t wait_usual_ns(const struct wait_place *p)
{
	return histogram_quantile(&p->waits, 950);
}

bool wait_is_unusual(const struct analysis *a, const struct coro *co, uint64_t floor_ns)
{
	const struct wait_place *p = waits_to_compare(a, co);
	uint64_t limit = 10 * MODEL_S, age = model_waited(&a->model, co);

	if (p && p->waits.nr >= 20)
		limit = 10 * wait_usual_ns(p);
	if (limit < floor_ns)
		limit = floor_ns;
	return age > limit;
}

uint64_t wait_floor(const struct analysis *a, const struct coro *co)
{
	const struct model *m = &a->model;
	uint64_t third = model_time(m, 0, m->first_ts, m->end_ts) / 3;
	unsigned active = model_activity(m, co->since_ts);

	if (active < 3)
		return a->options.min_age_ns + a->options.min_age_ns / 10;
	if (active >= 20 && third < MODEL_S)
		third = 0;
	if (third < 300 * MODEL_MS)
		third = 300 * MODEL_MS;
	return third < a->options.min_age_ns ? third : a->options.min_age_ns;
}

bool wait_breaks_rhythm(const struct analysis *a, const struct coro *co, uint64_t floor_ns,
			struct rhythm *earlier)
{
	const struct rhythm *here = model_rhythm(co);
	struct rhythm r = here ? *here : (struct rhythm){ 0 };
	uint64_t age = model_waited(&a->model, co);
	/* The longest one may be a stop of the program; a wait of the same order is no change. */
	bool breaks = (r.nr >= 5 && age / 20 >= r.second_ns && age / 2 >= r.longest_ns) ||
		      (r.nr >= 2 && age / 50 >= r.longest_ns);

	if (!breaks && co->resumes >= 10 && age / 20 >= co->second_wait_ns &&
	    age / 2 >= co->longest_wait_ns) {
		r = (struct rhythm){ .nr = (uint32_t)co->resumes,
				     .longest_ns = co->longest_wait_ns,
				     .second_ns = co->second_wait_ns };
		breaks = true;
	}
	if (earlier)
		*earlier = r;
	return breaks && age >= floor_ns;
}

bool wait_is_consequence(const struct analysis *a, const struct coro *co)
{
	const struct model *m = &a->model;
	uint64_t last = m->nr_ticks ? m->ticks[(m->nr_ticks - 1) % MODEL_TICKS] : m->first_ts;
	uint64_t silence = model_time(m, 0, last, m->end_ts);

	return a->has_evidence && silence / 3 >= model_waited(m, co) / 4;
}

bool wait_is_in_a_pool(const struct analysis *a, const struct coro *co)
{
	const struct resource *r = tables_resource(&a->model, co);
	const struct spawn *s = &a->model.spawns[co->spawn];
	unsigned i;

	/* A pool lives on; where nine of ten of its kind have ended, this one was left behind. */
	if (co->spawn && s->ended >= 9 * s->alive)
		return false;
	for (i = 0; r && co->reason == TRACE_REASON_CHANNEL_RECV && i < MODEL_OVERTAKES; i++) {
		if (r->begun[i] > co->since_ts)
			return true;
	}
	return false;
}

bool wait_has_cause(const struct analysis *a, const struct coro *co)
{
	const struct resource_use *use;
	uint32_t i;

	if (model_child(&a->model, co))
		return true;
	if (co->children && !co->has_resource &&
	    (co->reason == TRACE_REASON_JOIN || co->reason == TRACE_REASON_UNKNOWN))
		return true;
	use = tables_holders(&a->model, co);
	for (i = 0; use && i < use->nr_holders; i++) {
		if (use->holders[i].id != co->probe_id &&
		    !model_has_ended(&a->model, use->holders[i].id))
			return true;
	}
	return false;
}

bool reason_is_external(unsigned reason)
{
	switch (reason) {
	case TRACE_REASON_IO_READ:
	case TRACE_REASON_IO_WRITE:
	case TRACE_REASON_ACCEPT:
	case TRACE_REASON_CONNECT:
	case TRACE_REASON_SIGNAL:
	case TRACE_REASON_UNKNOWN:
	case TRACE_REASON_USER:
		return true;
	default:
		return false;
	}
}

bool wait_may_be_long(const struct analysis *a, const struct coro *co)
{
	/* A deadline before the wait is unset, or uses another clock. */
	if (co->reason == TRACE_REASON_TIMER)
		return !co->has_resource || co->resource < co->since_ts ||
		       co->resource > a->model.end_ts;
	return co->reason == TRACE_REASON_ACCEPT || co->reason == TRACE_REASON_SIGNAL;
}

const struct model *analysis_model(const struct analysis *a)
{
	return &a->model;
}

bool analysis_of_a_test(const struct analysis *a)
{
	return a->options.of_a_test;
}

uint64_t analysis_min_age(const struct analysis *a)
{
	return a->options.min_age_ns;
}
