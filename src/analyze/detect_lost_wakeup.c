/* SPDX-License-Identifier: MIT */
/*
 * detect_lost_wakeup.c - a coroutine is suspended at the end of the trace, and there is evidence
 * that it should have been woken.
 *
 * Evidence, in this order: it was woken and never ran; its deadline has passed; the child it waits
 * for has ended; nine of ten coroutines of its kind have ended; later waiters of the same lock or
 * channel were served; other coroutines continued from the same place.  Without such evidence a
 * long wait is not reported here.
 */
#include <inttypes.h>

#include "analyze/detector.h"
#include "analyze/model_tables.h"

#define DISPATCH_NS (5 * MODEL_MS)

/* Other coroutines ran after @ts, so the program as a whole did not stop. */
static bool was_busy_since(const struct model *m, uint64_t ts)
{
	return m->last_ts > ts;
}

static bool woken_never_run(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);
	uint64_t waited;

	if (!co->woken_since)
		return false;
	waited = m->end_ts - co->woken_ts;
	if (waited < DISPATCH_NS || m->resumes - co->resumes_then < 10)
		return false;
	f->confidence = waited >= MODEL_S ? CONFIDENCE_STRONG : CONFIDENCE_SUSPECT;
	f->size_ns = waited;
	finding_say(f, "it was woken and never run, while others were resumed %" PRIu64 " times",
		    m->resumes - co->resumes_then);
	finding_doubt(a, f, NEED_TRANSITIONS);
	return true;
}

static bool deadline_passed(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);

	if (co->reason != TRACE_REASON_TIMER || !co->has_resource || co->resource < co->since_ts)
		return false;
	if (m->end_ts < co->resource + MODEL_S / 2 ||
	    !was_busy_since(m, co->resource + DISPATCH_NS))
		return false;
	f->confidence = CONFIDENCE_STRONG;
	finding_say(f, "its timer ran out %.3f ms before the end of the trace",
		    (double)(m->end_ts - co->resource) / 1e6);
	finding_doubt(a, f, NEED_TRANSITIONS | NEED_WAKES);
	return true;
}

static bool child_has_ended(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);
	const struct coro *child;

	if (co->reason != TRACE_REASON_JOIN || !co->has_resource || !m->is_ours || !co->resource ||
	    co->resource > m->max_id)
		return false;
	child = model_find(m, co->resource);
	if (child && child->state != TRACE_STATE_ENDED)
		return false;
	if (model_age(m, co) < 100 * MODEL_MS ||
	    (child && m->end_ts - child->since_ts < 100 * MODEL_MS))
		return false;
	f->confidence = CONFIDENCE_STRONG;
	finding_say(f, "it waits for coroutine %" PRIu64 ", which has ended%s", co->resource,
		    child ? "" : " and is gone");
	finding_doubt(a, f, NEED_TRANSITIONS | NEED_WAKES | NEED_LIVES);
	return true;
}

static bool was_overtaken(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);
	const struct resource *r = tables_resource(m, co);
	unsigned i, nr = 0;

	if (!r || reason_is_external(co->reason))
		return false;
	for (i = 0; i < MODEL_OVERTAKES; i++)
		nr += r->begun[i] > co->since_ts;
	if (nr < 3 || !wait_is_unusual(a, co, 100 * MODEL_MS))
		return false;
	/* LIFO worker pools starve old waiters by design: only a suspicion there. */
	f->confidence = co->reason == TRACE_REASON_MUTEX || co->reason == TRACE_REASON_SEMAPHORE
				? CONFIDENCE_STRONG
				: CONFIDENCE_SUSPECT;
	finding_say(f, "%s%u that came later to the same %s were served",
		    nr == MODEL_OVERTAKES ? "at least " : "", nr, trace_reason_name(co->reason));
	finding_doubt(a, f, NEED_TRANSITIONS);
	return true;
}

/* For a program that ended by itself: a coroutine that is left never wakes. */
static bool others_came_to_their_end(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);
	const struct spawn *s = &m->spawns[co->spawn];

	if (!co->spawn || s->ended < 20 || s->ended < 9 * s->alive ||
	    !wait_is_unusual(a, co, 100 * MODEL_MS))
		return false;
	if (reason_is_external(co->reason) || !m->has_totals || m->totals.signal)
		return false;
	f->confidence = CONFIDENCE_STRONG;
	finding_say(f, "%" PRIu64 " others of its kind came to their end, %" PRIu64 " did not",
		    s->ended, s->alive);
	finding_doubt(a, f, NEED_TRANSITIONS | NEED_WAKES);
	return true;
}

/*
 * The rule of the existing coroTracer, with the distribution at the site in place of one second for
 * all.
 */
static bool others_went_on(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct wait_place *p = waits_to_compare(a, co);

	if (!p || p->waits.nr < 20 || p->last_resumed_ts <= co->since_ts ||
	    !wait_is_unusual(a, co, analysis_min_age(a)))
		return false;
	f->confidence = CONFIDENCE_SUSPECT;
	finding_say(f,
		    co->place
			    ? "others went on from the same place; 99 of 100 waits there took "
			      "less than %.3f ms"
			    : "it stopped, others went on; 99 of 100 waits of all coroutines took "
			      "less than %.3f ms",
		    (double)histogram_quantile(&p->waits, 990) / 1e6);
	finding_doubt(a, f, NEED_TRANSITIONS);
	return true;
}

static void on_stuck(struct analysis *a, struct coro *co)
{
	const struct model *m = analysis_model(a);
	struct finding f = FINDING_OF(&detector_lost_wakeup, co);

	f.size_ns = model_age(m, co);
	if (!woken_never_run(a, co, &f)) {
		if (co->woken_since || wait_may_be_long(a, co))
			return;
		if (!deadline_passed(a, co, &f) && !child_has_ended(a, co, &f) &&
		    !others_came_to_their_end(a, co, &f) && !was_overtaken(a, co, &f) &&
		    !others_went_on(a, co, &f))
			return;
	}
	co->explained = true;
	finding_report(a, &f);
}

const struct detector detector_lost_wakeup = {
	.name = "lost-wakeup",
	.code = "L5, L7",
	.title = "Lost wakeup",
	.meaning = "The coroutine was suspended when the trace ended, and something says that it "
		   "should have been resumed.",
	.advice = "Look at who should have resumed it: does every way out of that code, errors "
		  "included, wake the waiter?",
	.is_fault = true,
	.on_stuck = on_stuck,
};
