/* SPDX-License-Identifier: MIT */
/*
 * detect_lost_wakeup.c - a coroutine is suspended at the end of the trace, and there is evidence
 * that it should have been woken.
 *
 * Evidence that does not depend on the length of the wait, in this order: its last waker was
 * dropped (proven, where the program counts its wakers: the Rust SDK does); it was woken and never
 * ran although its threads had time; its descriptor is ready; its deadline has passed; the child it
 * waits for has ended; its lock is free; all coroutines that ever woke the waiters of its channel
 * have ended.
 *
 * Otherwise a suspicion: coroutines of its kind ended after a tenth of its life; later waiters of
 * the same lock were served; its own rhythm, or that of its place, has stopped; most of its kind
 * are in their first wait, and some went on.
 *
 * Strong needs a program that went on: a length of time alone may be a stopped or a loaded machine.
 */
#include <inttypes.h>

#include "analyze/analysis.h"
#include "analyze/model_tables.h"

#define LOST_NS     (50 * MODEL_MS)
#define LONG_NS     (300 * MODEL_MS)
#define LOST_ACTIVE 5 /* times of activity after which the program is known to have gone on */

/*
 * Woken and never run.  While the scheduler ran others all the time it is starvation; if there was
 * time when nothing ran, the scheduler does not know that it is ready.
 */
static bool lost_after_wake(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);
	const struct coro *parent = co->parent ? model_find(m, co->parent) : NULL;
	uint64_t others = m->resumes - co->resumes_then, idle = model_idle(m) - co->idle_then;
	uint64_t waited = model_time_since(m, co, co->woken_ts);
	uint64_t wall = m->end_ts > co->woken_ts ? m->end_ts - co->woken_ts : 0;
	char who[EVIDENCE_WHO];

	/* One time without a run that is longer than all others may be a stop of the program. */
	if (m->longest_idle / 5 > m->second_idle && idle >= m->longest_idle)
		idle -= m->longest_idle;
	/*
	 * If its own thread woke it and nothing ran since, that thread does something else: it is
	 * blocked, stopped or about to exit.  A coroutine that woke it has returned to the loop.
	 */
	if (!co->woken_since || waited < LOST_NS)
		return false;
	if (co->woken_tid == co->tid && !model_activity(m, co->woken_ts) &&
	    (!co->waker || waited < wait_floor(a, co)))
		return false;
	f->size_ns = wall;
	if (idle < waited / 10 && others >= 10) {
		f->detector = &detector_starvation;
		f->ts = co->woken_ts;
		finding_say(f,
			    "it was woken %.3f ms before the end and not run, while others were "
			    "resumed %" PRIu64 " times",
			    (double)wall / 1e6, others);
	} else {
		/* A future inside of another one runs only if that one polls it. */
		if (waited >= MODEL_S && model_activity(m, co->woken_ts) >= LOST_ACTIVE &&
		    !(parent && parent->resumed_ts > co->woken_ts))
			f->confidence = CONFIDENCE_STRONG;
		finding_say(f,
			    "%s woke it %.3f ms before the end; it was never run, although no "
			    "coroutine ran for %.3f ms of that time",
			    evidence_who(m, co->waker, 0, who), (double)wall / 1e6,
			    (double)idle / 1e6);
		finding_set_hint(f, "Look at the scheduler's queue: a wake from another thread or "
				    "from outside must also wake the loop that sleeps.");
	}
	if (others)
		finding_add_evidence(f, "since then others were resumed %" PRIu64 " times", others);
	finding_doubt(a, f, NEED_TRANSITIONS);
	return true;
}

static bool lost_timer(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);

	bool went_on = model_activity(m, co->resource) >= LOST_ACTIVE;

	if (co->reason != TRACE_REASON_TIMER || !co->has_resource || co->resource < co->since_ts ||
	    model_time_since(m, co, co->resource) < (went_on ? 200 * MODEL_MS : wait_floor(a, co)))
		return false;
	if (model_time_since(m, co, co->resource) >= MODEL_S / 2 && went_on)
		f->confidence = CONFIDENCE_STRONG;
	finding_say(f, "its timer expired %.3f ms before the end of the trace",
		    (double)(m->end_ts - co->resource) / 1e6);
	finding_doubt(a, f, NEED_TRANSITIONS | NEED_WAKES);
	return true;
}

static bool lost_join(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);
	const struct touch *gone;
	const struct coro *child;
	char who[EVIDENCE_WHO];
	uint64_t ended_ts;

	if (co->reason != TRACE_REASON_JOIN || !co->has_resource || !m->is_ours || !co->resource ||
	    co->resource > m->max_id || model_child(m, co))
		return false;
	child = model_find(m, co->resource);
	gone = model_departed(m, co->resource);
	ended_ts = child ? child->since_ts : gone ? gone->ts : 0;
	if (ended_ts < co->since_ts)
		ended_ts = co->since_ts;
	if (model_time_since(m, co, ended_ts) < 100 * MODEL_MS)
		return false;
	if (model_activity(m, ended_ts) >= LOST_ACTIVE)
		f->confidence = CONFIDENCE_STRONG;
	finding_say(f, "it waits for %s, which ended %.3f ms before the end of the trace",
		    evidence_who(m, co->resource, 0, who), (double)(m->end_ts - ended_ts) / 1e6);
	finding_doubt(a, f, NEED_TRANSITIONS | NEED_WAKES | NEED_LIVES);
	return true;
}

/* The lock was released and not taken again, and the waiter was not woken. */
static bool lost_lock(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);
	const struct resource_use *use;
	char who[EVIDENCE_WHO], what[EVIDENCE_WHAT];
	uint64_t free_ts;

	use = tables_holders(m, co);
	if (!use || co->reason != TRACE_REASON_MUTEX || use->nr_holders || use->more_holders ||
	    !use->released.ts)
		return false;
	free_ts = use->released.ts > co->since_ts ? use->released.ts : co->since_ts;
	if (model_time_since(m, co, free_ts) < 100 * MODEL_MS)
		return false;
	if (model_activity(m, free_ts) >= LOST_ACTIVE)
		f->confidence = CONFIDENCE_STRONG;
	finding_say(f, "it waits for %s, which is free: %s released it %.3f ms before the end",
		    evidence_what(co, what),
		    evidence_who(m, use->released.id, use->released.name, who),
		    (double)(m->end_ts - use->released.ts) / 1e6);
	finding_doubt(a, f, NEED_TRANSITIONS | NEED_WAKES);
	return true;
}

/* Every coroutine that is known to wake waiters of this channel has ended. */
static bool lost_partners(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);
	const struct resource *r = tables_resource(m, co);
	const struct resource_use *use = tables_partners(m, co);
	char who[EVIDENCE_WHO], what[EVIDENCE_WHAT];
	unsigned i;

	if (!use || r->woken_outside || use->more_partners ||
	    model_waited(m, co) < wait_floor(a, co) ||
	    (reason_is_external(co->reason) && co->reason != TRACE_REASON_USER))
		return false;
	for (i = 0; i < use->nr_partners; i++) {
		if (use->partners[i].id == co->probe_id || !model_has_ended(m, use->partners[i].id))
			return false;
	}
	finding_say(f,
		    "it waits for %s; %s%s ended, and no other coroutine ever woke a waiter of it",
		    evidence_what(co, what),
		    evidence_who(m, use->partners[0].id, use->partners[0].name, who),
		    use->nr_partners > 1 ? " and the others that used it" : "");
	finding_set_hint(f, "The last user of a channel must close it and wake its waiters; look "
			    "for a sender that is kept and never used.");
	finding_doubt(a, f, NEED_TRANSITIONS | NEED_WAKES | NEED_LIVES);
	return true;
}

/* The program counts its wakers, and the last one was dropped. */
static bool lost_wakers(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);
	const struct unreachable *u = &co->unreachable;
	char who[EVIDENCE_WHO];

	if (!model_is_unreachable(co) || model_time_since(m, co, u->ts) < LOST_NS)
		return false;
	/* A future inside of another one may be polled together with it. */
	f->confidence = u->is_inner ? CONFIDENCE_SUSPECT : CONFIDENCE_PROVEN;
	if (u->by && u->by != co->probe_id)
		finding_say(
			f,
			"no waker of it exists, so nothing can wake it: %s dropped the last one "
			"%.3f ms before the end, on thread %" PRIu64,
			evidence_who(m, u->by, 0, who), (double)(m->end_ts - u->ts) / 1e6, u->tid);
	else
		finding_say(f,
			    "no waker of it exists, so nothing can wake it: the last one was "
			    "dropped %.3f ms before the end, on thread %" PRIu64,
			    (double)(m->end_ts - u->ts) / 1e6, u->tid);
	finding_set_hint(f, "What it waits for must keep its waker until it wakes it, and replace "
			    "the waker at every poll.");
	finding_doubt(a, f, NEED_TRANSITIONS | NEED_WAKES);
	return true;
}

/* The kernel says that what it waits for is there, and the event loop sleeps. */
static bool lost_descriptor(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);
	const struct descriptor_fact *fact = descriptor_facts_find(&a->descriptors, co);
	char ready[DESCRIPTOR_FACT_TEXT];

	if (!fact)
		return false;
	if (model_time_since(m, co, fact->from_ts) >= MODEL_S)
		f->confidence = CONFIDENCE_STRONG;
	finding_say(f,
		    "descriptor %" PRIu64 " is %s: the collector saw it twice, %.3f ms apart, with "
		    "the event loop and all other threads asleep",
		    fact->fd, descriptor_fact_ready(fact, ready),
		    (double)(fact->to_ts - fact->from_ts) / 1e6);
	if (descriptor_fact_watch(fact))
		finding_add_evidence(f, "%s", descriptor_fact_watch(fact));
	finding_set_hint(f, "Read or write until EAGAIN before waiting for an edge, arm a one-shot "
			    "registration again, and register for what is waited for.");
	finding_doubt(a, f, NEED_TRANSITIONS | NEED_WAKES);
	return true;
}

bool lost_wakeup_is_evident(struct analysis *a, const struct coro *co, struct finding *f)
{
	if (lost_wakers(a, co, f))
		return true;
	if (co->woken_since)
		return lost_after_wake(a, co, f);
	if (lost_descriptor(a, co, f))
		return true;
	if (wait_may_be_long(a, co) || wait_has_cause(a, co))
		return false;
	return lost_timer(a, co, f) || lost_join(a, co, f) || lost_lock(a, co, f) ||
	       lost_partners(a, co, f);
}

static bool lost_to_later_waiters(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);
	const struct resource *r = tables_resource(m, co);
	unsigned i, nr = 0;

	if (!r || (co->reason != TRACE_REASON_MUTEX && co->reason != TRACE_REASON_SEMAPHORE &&
		   co->reason != TRACE_REASON_CHANNEL_SEND))
		return false;
	for (i = 0; i < MODEL_OVERTAKES; i++)
		nr += r->begun[i] > co->since_ts;
	if (nr < 3 || !(wait_is_unusual(a, co, 100 * MODEL_MS) ||
			wait_breaks_rhythm(a, co, 100 * MODEL_MS, NULL)))
		return false;
	/* A lock that serves the newest waiter first does this by design. */
	finding_say(f, "%s%u that came later to the same %s were served",
		    nr == MODEL_OVERTAKES ? "at least " : "", nr, trace_reason_name(co->reason));
	finding_doubt(a, f, NEED_TRANSITIONS);
	return true;
}

/* Nine of ten others of its kind ended after a much shorter life. */
static bool lost_from_its_kind(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);
	const struct spawn *s = &m->spawns[co->spawn];
	uint64_t life = co->birth_ts ? model_time_since(m, co, co->birth_ts) : 0;
	uint64_t usual;

	if (!co->spawn || s->lives.nr < 3 || s->lives.nr < s->alive / 4 ||
	    model_waited(m, co) < wait_floor(a, co))
		return false;
	usual = s->lives.nr < 5    ? s->lives.max
		: s->lives.nr < 10 ? histogram_quantile(&s->lives, 800)
				   : histogram_quantile(&s->lives, 900);
	if (!usual || life / 10 < usual)
		return false;
	finding_say(f,
		    "%" PRIu64 " of its kind ended, %s after less than %.3f ms; this one "
		    "has existed for %.3f ms",
		    s->lives.nr, s->lives.nr < 5 ? "all" : "most", (double)usual / 1e6,
		    (double)(m->end_ts - co->birth_ts) / 1e6);
	finding_doubt(a, f, NEED_TRANSITIONS | NEED_LIVES);
	return true;
}

/* Most of its kind wait since they were created, and some went on and ended. */
static bool lost_in_a_crowd(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);
	const struct spawn *s = &m->spawns[co->spawn];

	if (!co->spawn || co->suspends != 1 || s->alive < 10 || !s->ended ||
	    s->alive < 9 * s->ended || model_waited(m, co) < wait_floor(a, co) ||
	    (reason_is_external(co->reason) && co->reason != TRACE_REASON_UNKNOWN))
		return false;
	finding_say(f,
		    "%" PRIu64 " of its kind are in their first wait, as this one; %" PRIu64
		    " went on and ended",
		    s->alive, s->ended);
	finding_doubt(a, f, NEED_TRANSITIONS | NEED_LIVES);
	return true;
}

/* The one that always woke it runs on and on, and does not wake it any more. */
static bool lost_to_its_waker(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);
	const struct wake_source *w = model_waker(co);
	const struct resource *r = tables_resource(m, co);
	const struct coro *waker = w ? model_find(m, w->last_id) : NULL;
	unsigned i, later = 0, apart = w && w->most_apart ? w->most_apart : 1;
	char who[EVIDENCE_WHO];
	uint32_t since;

	if (!waker || waker == co || w->is_mixed || w->is_least || w->nr < 10 ||
	    w->nr < co->wakes / 4 * 3 || waker->state == TRACE_STATE_ENDED ||
	    (reason_is_external(co->reason) && co->reason != TRACE_REASON_USER) ||
	    model_waited(m, co) < wait_floor(a, co) || wait_is_consequence(a, co))
		return false;
	since = (uint32_t)waker->resumes - w->resumes_then;
	/* One that serves others in its place may have nothing for it. */
	for (i = 0; r && i < MODEL_OVERTAKES; i++)
		later += r->begun[i] > co->since_ts;
	if (since < 20 * apart || later > 1)
		return false;
	finding_say(f,
		    "%s woke it %u times, after at most %u of its slices each; now it has had %u",
		    evidence_who(m, waker->probe_id, waker->name, who), w->nr, apart, since);
	finding_doubt(a, f, NEED_TRANSITIONS | NEED_WAKES);
	return true;
}

/*
 * The coroutines that woke it were of one kind, and have all ended.  Where such coroutines come and
 * go, the next one may wake it.
 */
static bool lost_with_its_wakers(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);
	const struct wake_source *w = model_waker(co);
	const struct spawn *s = w ? &m->spawns[w->spawn] : NULL;
	char who[EVIDENCE_WHO];

	if (!w || w->is_outside || !w->spawn || w->spawn == co->spawn || w->nr < 10 ||
	    (uint64_t)w->nr * 20 < co->wakes * 19 || s->ended < s->born || s->emptied != 1 ||
	    (reason_is_external(co->reason) && co->reason != TRACE_REASON_USER &&
	     co->reason != TRACE_REASON_UNKNOWN) ||
	    model_waited(m, co) < LONG_NS || model_time_since(m, co, s->last_end_ts) < LONG_NS)
		return false;
	finding_say(f,
		    "%u of its %" PRIu64 " wakes came from coroutines of one kind, the last from "
		    "%s; all %" PRIu64 " of that kind have ended",
		    w->nr, co->wakes, evidence_who(m, w->last_id, 0, who), s->ended);
	finding_set_hint(f, "The last user of a channel must close it and wake its waiters; look "
			    "for a sender that is kept and never used.");
	finding_doubt(a, f, NEED_TRANSITIONS | NEED_WAKES | NEED_LIVES);
	return true;
}

static bool lost_rhythm(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);
	const struct wait_place *p = waits_to_compare(a, co);
	struct rhythm r;

	if (wait_is_consequence(a, co))
		return false;
	if (wait_breaks_rhythm(a, co, wait_floor(a, co), &r)) {
		finding_say(f, "its %u earlier waits took at most %.3f ms, this one %.3f ms", r.nr,
			    (double)r.longest_ns / 1e6, (double)model_waited(m, co) / 1e6);
	} else if (p && p->waits.nr >= 20 && wait_is_unusual(a, co, wait_floor(a, co))) {
		finding_say(f,
			    co->place ? "others went on from the same place; 95 of 100 waits there "
					"took less than %.3f ms"
				      : "it stopped, others went on; 95 of 100 waits of all "
					"coroutines took less than %.3f ms",
			    (double)wait_usual_ns(p) / 1e6);
	} else {
		return false;
	}
	finding_doubt(a, f, NEED_TRANSITIONS);
	return true;
}

/*
 * It stopped together with one whose wait breaks a rhythm, and never waited for so long before:
 * they may wait for each other.  Only where the trace does not say what either waits for.
 */
static bool lost_together(struct analysis *a, const struct coro *co, struct finding *f)
{
	const struct model *m = analysis_model(a);
	uint64_t waited = model_waited(m, co);
	char who[EVIDENCE_WHO];
	unsigned i;

	if (co->reason != TRACE_REASON_UNKNOWN || co->has_resource || co->resumes < 2 ||
	    waited < wait_floor(a, co) || waited / 5 < co->longest_wait_ns)
		return false;
	for (i = 0; i < a->nr_stopped; i++) {
		const struct stopped_coro *s = &a->stopped[i];
		uint64_t apart = s->since_ts > co->since_ts ? s->since_ts - co->since_ts
							    : co->since_ts - s->since_ts;

		if (s->id == co->probe_id || s->pid != co->pid || apart > s->usual_ns)
			continue;
		finding_say(f,
			    "it stopped %.3f ms %s %s, whose wait is unusual, too; its own %" PRIu64
			    " earlier waits took at most %.3f ms, this one %.3f ms",
			    (double)apart / 1e6, s->since_ts > co->since_ts ? "before" : "after",
			    evidence_who(m, s->id, s->name, who), co->resumes,
			    (double)co->longest_wait_ns / 1e6, (double)waited / 1e6);
		finding_set_hint(f, "Look for locks that both take, in different orders.");
		finding_doubt(a, f, NEED_TRANSITIONS);
		return true;
	}
	return false;
}

/*
 * Woken when the program was about to exit, and nothing ran since: by its end, and not by what it
 * waited for.
 */
static bool lost_until_exit(const struct model *m, const struct coro *co)
{
	return m->has_totals &&
	       (co->woken_ts + 5 * MODEL_MS > m->end_ts ||
		(co->woken_ts + LOST_NS > m->end_ts && co->resumes_then == m->resumes));
}

static bool lost_by_comparison(struct analysis *a, const struct coro *co, struct finding *f)
{
	/* A generator that yields waits until its user wants more. */
	if ((co->woken_since && !lost_until_exit(analysis_model(a), co)) ||
	    co->reason == TRACE_REASON_YIELD || wait_may_be_long(a, co) || wait_has_cause(a, co) ||
	    descriptor_facts_idle(&a->descriptors, co))
		return false;
	if (lost_from_its_kind(a, co, f))
		return true;
	return !wait_is_in_a_pool(a, co) &&
	       (lost_to_later_waiters(a, co, f) || lost_rhythm(a, co, f) ||
		lost_to_its_waker(a, co, f) || lost_with_its_wakers(a, co, f) ||
		lost_in_a_crowd(a, co, f) || lost_together(a, co, f));
}

bool lost_wakeup_is_likely(struct analysis *a, const struct coro *co)
{
	struct finding f = FINDING_OF(&detector_lost_wakeup, co);

	return lost_by_comparison(a, co, &f);
}

/*
 * A program that shuts down may cancel what still waits, or drop what it waits for.  What its
 * partners did is not known then: they are cancelled, too.
 */
static void lost_before_exit(struct analysis *a, const struct coro *co)
{
	const struct model *m = &a->model;
	struct finding f = FINDING_OF(&detector_lost_wakeup, co);

	if (co->left_ts + LOST_NS < m->end_ts || co->children ||
	    (co->reason != TRACE_REASON_CHANNEL_RECV && co->reason != TRACE_REASON_CHANNEL_SEND &&
	     co->reason != TRACE_REASON_USER && co->reason != TRACE_REASON_UNKNOWN) ||
	    !lost_by_comparison(a, co, &f))
		return;
	f.size_ns = model_age(m, co);
	finding_add_evidence(&f,
			     "its wait ended %.3f ms before the end of the trace, with the program",
			     (double)(m->end_ts - co->left_ts) / 1e6);
	finding_report(a, &f);
}

/* Remember a coroutine whose rhythm has stopped, and where the trace does not say why. */
static void lost_note_stopped(struct analysis *a, const struct coro *co)
{
	struct rhythm r;

	if (!co->in_use || co->state != TRACE_STATE_SUSPENDED || co->woken_since ||
	    co->reason != TRACE_REASON_UNKNOWN || co->has_resource ||
	    a->nr_stopped == ANALYSIS_STOPPED || wait_has_cause(a, co) ||
	    wait_is_consequence(a, co) || !wait_breaks_rhythm(a, co, wait_floor(a, co), &r))
		return;
	a->stopped[a->nr_stopped++] = (struct stopped_coro){
		.id = co->probe_id,
		.since_ts = co->since_ts,
		.usual_ns = r.second_ns < 20 * MODEL_MS ? r.second_ns : 20 * MODEL_MS,
		.pid = co->pid,
		.name = co->name,
	};
}

static void lost_wakeup_on_finish(struct analysis *a)
{
	size_t i;

	for (i = 0; a->model.has_ended && i < model_nr_cancelled(&a->model); i++)
		lost_before_exit(a, &a->model.cancelled[i]);
	a->has_evidence = false;
	a->nr_stopped = 0;
	for (i = 0; i < a->model.nr_coros && !a->has_evidence; i++) {
		const struct coro *co = &a->model.coros[i];
		struct finding f = FINDING_OF(&detector_lost_wakeup, co);

		a->has_evidence = co->in_use && co->state == TRACE_STATE_SUSPENDED &&
				  lost_wakeup_is_evident(a, co, &f);
	}
	for (i = 0; i < a->model.nr_coros; i++)
		lost_note_stopped(a, &a->model.coros[i]);
}

static void lost_wakeup_on_stuck(struct analysis *a, struct coro *co)
{
	struct finding f = FINDING_OF(&detector_lost_wakeup, co);

	f.size_ns = model_age(analysis_model(a), co);
	if (!lost_wakeup_is_evident(a, co, &f) && !lost_by_comparison(a, co, &f))
		return;
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
	.on_stuck = lost_wakeup_on_stuck,
	.on_finish = lost_wakeup_on_finish,
};
