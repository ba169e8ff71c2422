/* SPDX-License-Identifier: MIT */
/*
 * detect_blocking.c - a coroutine keeps its thread while others wait for it.
 *
 * Evidence: the kernel's counters show that the coroutine itself used the time, on a processor or
 * in system calls (not preempted, stopped, waiting for memory or for the tracer), and other
 * coroutines of the thread were ready meanwhile.  With both, half a second is strong, and so is the
 * third slice of 50 ms at the same place.  So is a wait of 10 ms in the kernel, if context switches
 * were recorded: a computation may be wanted, a blocking call is not.  The first slice of a
 * coroutine may be preparation: alone it is only a suspicion.  A coroutine that has its thread to
 * itself delays no other.
 */
#include <inttypes.h>

#include "analyze/analysis.h"

#define SURE_NS (500 * MODEL_MS)

static const char blocking_first[] = "the first slice of a coroutine, or of a run, may be "
				     "preparation";

static void blocking_say(struct analysis *a, const struct long_slice *s, struct finding *f)
{
	const struct slice_waiters *w = &s->waiters;
	char parts[SLICE_PARTS], name[64] = "";

	slice_parts(s, parts);
	finding_say(f, "it kept thread %" PRIu64 " for %.3f ms%s%s", s->tid,
		    (double)(s->to_ts - s->from_ts) / 1e6, *parts ? ": " : "", parts);
	if (w->longest_name)
		snprintf(name, sizeof(name), " '%.50s'",
			 strtab_text(&a->model.names, w->longest_name - 1));
	if (w->longest_ns)
		finding_add_evidence(f,
				     "%" PRIu64 " other coroutine%s of the thread waited; "
				     "coroutine %" PRIu64 "%s was ready for %.3f ms",
				     w->nr, w->nr == 1 ? "" : "s", w->longest_id, name,
				     (double)w->longest_ns / 1e6);
	else if (w->nr)
		finding_add_evidence(f,
				     "%" PRIu64 " other coroutine%s that had waited meanwhile ran "
				     "on the thread right after it",
				     w->nr, w->nr == 1 ? "" : "s");
	if (s->end_site || s->end_addr)
		finding_add_evidence_at(f, EVIDENCE_NOTE, s->end_site, s->end_addr,
					"it suspended next");
}

/*
 * True if the slice was not measured, and should have been.  The collector reads a thread 4 ms
 * after the resume, unless the machine is so busy that the collector does not run either: then the
 * thread may have been preempted, too.  A trace without any processor time may be of a collector
 * that cannot read them.
 */
static bool slice_is_unseen(const struct analysis *a, const struct long_slice *s, uint64_t ns)
{
	if (slice_is_measured(s))
		return false;
	return a->cpu.nr > 0 ||
	       (a->model.is_ours && s->co.station == TRACE_NO_STATION && ns < FINDING_LARGE);
}

/*
 * True if context switches show a blocking call while others waited.  Without wake-ups, a sample
 * must have seen the call: on a busy machine, a thread that was woken may have waited for a
 * processor most of the time.
 */
static bool slice_is_blocked(const struct analysis *a, const struct long_slice *s,
			     const struct finding *f)
{
	return f->shown_ns && s->use.is_exact && s->use.blocked_ns >= SLICE_LONG_NS &&
	       (s->use.call || a->switches.has_wakes);
}

/* The confidence, without what is missing in the trace. */
static void blocking_weigh(const struct analysis *a, const struct long_slice *s, struct finding *f)
{
	if (!slice_is_measured(s))
		f->doubt = "the trace has no processor times of this slice, and a thread that is "
			   "preempted or stopped looks the same";
	else if (s->is_alone && !s->waiters.nr)
		f->doubt = "the coroutine has its thread to itself";
	else if (!s->waiters.nr)
		f->doubt = "no other coroutine is shown to have waited for the thread";
	else if (s->is_alone)
		f->doubt = "no other coroutine had run on the thread before: it may be preparation";
	else
		f->shown_ns = slice_own_ns(s);
	if ((s->is_alone && !s->waiters.nr) || slice_is_unseen(a, s, f->size_ns))
		f->confidence = CONFIDENCE_INFO;
	else if ((f->shown_ns >= SURE_NS || slice_is_blocked(a, s, f)) && !s->is_first)
		f->confidence = CONFIDENCE_STRONG;
}

/*
 * True if the coroutine itself used little of the slice.  With context switches that is known;
 * counters of a running thread are late by a tick, and the first milliseconds have none; a thread
 * that waited for a processor most of the time is not late by ticks.
 */
static bool slice_is_excused(const struct long_slice *s)
{
	uint64_t wall = s->to_ts - s->from_ts, own = slice_own_ns(s);

	if (!slice_is_measured(s))
		return false;
	if (s->use.is_exact)
		return own < SLICE_LONG_NS;
	return own < SLICE_LONG_NS / 2 ||
	       (2 * s->use.queued_ns > wall && own + wall - s->use.measured_ns < SLICE_LONG_NS);
}

void blocking_judge(struct analysis *a, const struct long_slice *s)
{
	struct finding f = FINDING_OF(&detector_blocking, &s->co);
	uint64_t wall = s->to_ts - s->from_ts;
	uint64_t excused = s->use.stopped_ns + s->use.tracer_ns;

	if (wall < excused + SLICE_LONG_NS)
		return;
	if (slice_is_excused(s))
		return;
	f.size_ns = slice_is_measured(s) ? slice_own_ns(s) : wall - excused;
	f.place = analysis_place(a, s->co.place);
	f.ts = s->from_ts;
	f.seen_ts = s->to_ts;
	blocking_weigh(a, s, &f);
	blocking_say(a, s, &f);
	finding_doubt(a, &f, NEED_TRANSITIONS);
	if (f.confidence < CONFIDENCE_STRONG && f.doubt)
		f.shown_ns = 0;
	if (f.confidence == CONFIDENCE_SUSPECT && s->is_first && !f.doubt)
		f.doubt = blocking_first;
	finding_report(a, &f);
}

/* Runs at every suspension: only the check is here. */
static void on_suspend(struct analysis *a, struct coro *co, const struct trace_event *ev)
{
	if (co->state == TRACE_STATE_RUNNING && ev->ts >= co->resumed_ts + SLICE_LONG_NS)
		slice_watch_end(a, co, ev);
}

/* Runs at every resume. */
static void blocking_on_resume(struct analysis *a, struct coro *co, const struct trace_event *ev)
{
	if (a->slices.nr)
		slice_watch_resume(a, co, ev);
}

static void on_group(const struct analysis *a, struct group *g)
{
	(void)a;
	/* One long slice may be chance, three at one place are a pattern. */
	if (g->confidence != CONFIDENCE_SUSPECT || g->large < 3)
		return;
	g->confidence = g->finding.confidence = CONFIDENCE_STRONG;
	g->by_confidence[CONFIDENCE_STRONG] += g->by_confidence[CONFIDENCE_SUSPECT];
	g->by_confidence[CONFIDENCE_SUSPECT] = 0;
	if (g->finding.doubt == blocking_first)
		g->finding.doubt = NULL;
}

const struct detector detector_blocking = {
	.name = "blocking",
	.code = "B1",
	.title = "Blocking slice",
	.meaning = "The coroutine kept its thread for long without suspending.",
	.advice = "Look for a blocking call, a long computation or a lock between the place where "
		  "it was resumed and the one where it suspended.",
	.is_fault = true,
	.on_suspend = on_suspend,
	.on_resume = blocking_on_resume,
	.on_finish = slice_watch_finish,
	.on_group = on_group,
};
