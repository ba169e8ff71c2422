/* SPDX-License-Identifier: MIT */
/*
 * detect_stalled.c - every coroutine is asleep, and each waits for another coroutine.
 *
 * No coroutine runs or is ready, and none waits for a descriptor, a timer, a signal or anything
 * else from outside.  It is a suspicion: code outside of all coroutines may still wake one, and a
 * program that is about to exit looks the same.
 */
#include <inttypes.h>

#include "analyze/analysis.h"
#include "analyze/model_tables.h"

/* Only other coroutines can end this wait, as far as the trace shows. */
static bool stalled_wait_is_inner(const struct model *m, const struct coro *co)
{
	const struct resource *r;

	switch (co->reason) {
	case TRACE_REASON_JOIN:
	case TRACE_REASON_MUTEX:
		return true;
	case TRACE_REASON_SEMAPHORE:
	case TRACE_REASON_CHANNEL_SEND:
	case TRACE_REASON_CHANNEL_RECV:
		r = tables_resource(m, co);
		return !r || !r->woken_outside;
	case TRACE_REASON_USER:
		/* A condition of the program, if coroutines are known to signal it. */
		r = tables_resource(m, co);
		return r && !r->woken_outside && tables_partners(m, co);
	default:
		return false;
	}
}

static bool stalled_everybody(const struct analysis *a)
{
	const struct model *m = &a->model;
	size_t i, nr = 0;

	for (i = 0; i < m->nr_coros; i++) {
		const struct coro *co = &m->coros[i];

		if (!co->in_use || co->state == TRACE_STATE_ENDED)
			continue;
		if (co->state != TRACE_STATE_SUSPENDED || co->woken_since ||
		    !stalled_wait_is_inner(m, co))
			return false;
		nr++;
	}
	return nr > 0;
}

static void stalled_on_finish(struct analysis *a)
{
	const struct model *m = &a->model;
	uint64_t quiet = model_time(m, 0, m->last_ts, m->end_ts);

	a->is_asleep = m->is_ours && quiet >= 200 * MODEL_MS && quiet > m->second_idle &&
		       stalled_everybody(a);
}

static void stalled_on_stuck(struct analysis *a, struct coro *co)
{
	const struct model *m = &a->model;
	struct finding evident = FINDING_OF(&detector_lost_wakeup, co);
	struct finding f = FINDING_OF(&detector_stalled, co);

	if (!a->is_asleep || wait_has_cause(a, co) || lost_wakeup_is_evident(a, co, &evident))
		return;
	f.size_ns = model_age(m, co);
	finding_say(&f,
		    "all coroutines are asleep: none has run for the last %.3f ms, and each waits "
		    "for another one",
		    (double)(m->end_ts - m->last_ts) / 1e6);
	finding_doubt(a, &f, NEED_TRANSITIONS | NEED_WAKES | NEED_LIVES);
	co->explained = true;
	finding_report(a, &f);
}

const struct detector detector_stalled = {
	.name = "stalled",
	.code = "L10",
	.title = "Everything is asleep",
	.meaning = "No coroutine runs, and each waits for another one: none can wake the others.",
	.advice = "Look at the one that should have gone on first: a message, a release or a close "
		  "is missing on one of its ways out.",
	.is_fault = true,
	.is_suspicion = true,
	.on_stuck = stalled_on_stuck,
	.on_finish = stalled_on_finish,
};
