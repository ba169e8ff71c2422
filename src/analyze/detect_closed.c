/* SPDX-License-Identifier: MIT */
/*
 * detect_closed.c - the descriptor or channel that a coroutine waits for was closed.
 *
 * Proven if the program recorded the close and went on afterwards: a program that closes everything
 * and exits is correct.  Without that record, another coroutine that began to wait for the same
 * number and was served shows that the number is used again, or that the descriptor has two
 * readers, which is correct: a suspicion, and only if the first one waits for unusually long.
 */
#include <inttypes.h>

#include "analyze/detector.h"
#include "analyze/model_tables.h"

static bool closed_is_descriptor(const struct coro *co)
{
	return co->has_resource &&
	       (co->reason == TRACE_REASON_IO_READ || co->reason == TRACE_REASON_IO_WRITE ||
		co->reason == TRACE_REASON_ACCEPT || co->reason == TRACE_REASON_CONNECT);
}

static bool closed_is_channel(const struct coro *co)
{
	return co->has_resource &&
	       (co->reason == TRACE_REASON_CHANNEL_SEND || co->reason == TRACE_REASON_CHANNEL_RECV);
}

/* The coroutine that closed it began to use the number after @co did: it is used again. */
static bool closed_by_next_user(const struct model *m, const struct coro *co,
				const struct resource_use *use)
{
	const struct coro *closer = use->closed.id ? model_find(m, use->closed.id) : NULL;

	return closed_is_descriptor(co) && co->rival && co->rival == use->closed.id &&
	       (!closer || closer->birth_ts > co->since_ts);
}

/* The program recorded the close, by another coroutine than the waiter. */
static bool closed_is_recorded(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);
	const struct resource_use *use = tables_use(m, co);
	char who[EVIDENCE_WHO], what[EVIDENCE_WHAT];
	bool went_on;

	if (!use || use->closed.ts <= co->since_ts ||
	    (use->closed.id && use->closed.id == co->probe_id))
		return false;
	went_on = m->last_birth_ts > use->closed.ts || model_activity(m, use->closed.ts) >= 5 ||
		  model_time_since(m, co, use->closed.ts) >= 250 * MODEL_MS;
	f->confidence = went_on ? CONFIDENCE_PROVEN : CONFIDENCE_SUSPECT;
	finding_say(f, "it waits for %s; %s closed it %.3f ms after the wait began",
		    evidence_what(co, what), evidence_who(m, use->closed.id, use->closed.name, who),
		    (double)(use->closed.ts - co->since_ts) / 1e6);
	if (closed_by_next_user(m, co, use))
		finding_set_hint(f,
				 "The number is used again, by %s, created after the wait began: "
				 "look for an earlier close, which is not recorded. It must resume "
				 "or destroy the "
				 "waiter.",
				 evidence_who(m, use->closed.id, use->closed.name, who));
	return true;
}

static bool closed_is_reused(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);
	const struct coro *rival;
	char who[EVIDENCE_WHO];

	if (!co->rival || !closed_is_descriptor(co) || wait_may_be_long(a, co) ||
	    model_waited(m, co) < 100 * MODEL_MS)
		return false;
	rival = model_find(m, co->rival);
	/* One that existed before shares the descriptor; one that still waits was not served. */
	if (rival && (rival->birth_ts <= co->since_ts ||
		      (rival->state == TRACE_STATE_SUSPENDED && rival->has_resource &&
		       rival->resource == co->resource && rival->since_ts == co->rival_ts)))
		return false;
	finding_say(f,
		    "descriptor %" PRIu64
		    ": %s, created later, waited for it and was served; so it has two readers, or "
		    "it was closed and its number is used again",
		    co->resource, evidence_who(m, co->rival, 0, who));
	return true;
}

static void closed_on_stuck(struct analysis *a, struct coro *co)
{
	struct finding f = FINDING_OF(&detector_closed, co);

	if ((!closed_is_descriptor(co) && !closed_is_channel(co)) || co->woken_since)
		return;
	f.size_ns = model_age(analysis_model(a), co);
	if (!closed_is_recorded(a, co, &f) && !closed_is_reused(a, co, &f))
		return;
	finding_doubt(a, &f, NEED_TRANSITIONS | NEED_WAKES);
	co->explained = true;
	finding_report(a, &f);
}

const struct detector detector_closed = {
	.name = "closed-under-waiter",
	.code = "L2",
	.title = "Closed under a waiter",
	.meaning = "The descriptor or channel was closed while a coroutine waited for it. No event "
		   "will arrive: the coroutine is never resumed.",
	.advice = "The code that closes it (on EOF, on an error, on a time-out) must resume or "
		  "destroy the coroutine that waits for it.",
	.is_fault = true,
	.on_stuck = closed_on_stuck,
};
