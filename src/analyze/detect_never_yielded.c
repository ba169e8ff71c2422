/* SPDX-License-Identifier: MIT */
/*
 * detect_never_yielded.c - a coroutine has run for a long time and still runs at the end of the
 * trace.
 *
 * Strong if the kernel's counters show that the coroutine itself used most of that time, on a
 * processor or in system calls, and other coroutines were ready for its thread.  A thread runs one
 * coroutine, the one that it resumed last.  Others that seem to run there have resumed that one, or
 * their end is not recorded (C++: a promise with the mixin alone).
 */
#include <inttypes.h>

#include "analyze/analysis.h"

/* Each look at the waiters goes through all coroutines. */
#define LOOKS_MOST 64
#define FLOOR_NS   (300 * MODEL_MS)

/* The shortest slice that is long in this run: the minimum age, or a third of a shorter run. */
static uint64_t slice_floor(const struct analysis *a)
{
	uint64_t third = model_time(&a->model, 0, a->model.first_ts, a->model.end_ts) / 3;

	third = third > FLOOR_NS ? third : FLOOR_NS;
	return third < analysis_min_age(a) ? third : analysis_min_age(a);
}

static bool slice_of_runner(struct analysis *a, const struct coro *co, struct long_slice *s)
{
	const struct model *m = &a->model;
	const struct sched_thread *t = sched_thread_of(a, sched_coro_of(a, co));

	*s = (struct long_slice){
		.co = *co,
		.tid = co->tid,
		.from_ts = t->quiet_since > co->resumed_ts ? t->quiet_since : co->resumed_ts,
		.to_ts = m->end_ts,
		.is_alone = !t->is_shared,
	};
	if (s->from_ts >= s->to_ts)
		return false;
	s->use = slice_use(a, co->pid, co->tid, s->from_ts, s->to_ts);
	/* A thread that waits for a processor cannot yield. */
	return s->to_ts - s->from_ts >=
	       slice_floor(a) + s->use.stopped_ns + (s->use.is_exact ? s->use.queued_ns : 0);
}

static void yield_weigh(const struct long_slice *s, uint64_t min_age_ns, struct finding *f)
{
	uint64_t wall = s->to_ts - s->from_ts - s->use.stopped_ns;
	uint64_t could_run = wall > s->use.queued_ns ? wall - s->use.queued_ns : 0;

	f->confidence = CONFIDENCE_SUSPECT;
	if (!slice_is_measured(s))
		f->doubt = "the trace has no processor times of the thread";
	else if (2 * slice_own_ns(s) < could_run)
		f->doubt = "the coroutine itself did not use most of this time";
	else if (!s->waiters.nr)
		f->doubt = "no other coroutine is shown to have waited for the thread";
	else if ((s->use.is_exact ? could_run : wall) >= min_age_ns)
		f->confidence = CONFIDENCE_STRONG;
	if (s->is_alone && !s->waiters.nr)
		f->confidence = CONFIDENCE_INFO;
}

/* Find the coroutine that runs on each thread. */
static void never_yielded_on_finish(struct analysis *a)
{
	struct scheduling *s = &a->scheduling;
	size_t i;

	for (i = 0; i < s->nr_threads; i++)
		s->threads[i].runner = s->threads[i].runner_ts = 0;
	for (i = 0; i < a->model.nr_coros; i++) {
		const struct coro *co = &a->model.coros[i];
		uint32_t thread = sched_coro_of(a, co)->thread;

		if (!co->in_use || co->state != TRACE_STATE_RUNNING || !thread ||
		    s->threads[thread - 1].runner_ts > co->resumed_ts)
			continue;
		s->threads[thread - 1].runner = co->probe_id;
		s->threads[thread - 1].runner_ts = co->resumed_ts;
	}
}

static bool never_yielded_is_runner(const struct analysis *a, const struct coro *co)
{
	const struct sched_coro *c = sched_coro_of(a, co);

	return !c->thread || sched_thread_of(a, c)->runner == co->probe_id;
}

static void detect_never_yielded_on_leave(struct analysis *a, struct coro *co)
{
	const struct model *m = analysis_model(a);
	struct finding f = FINDING_OF(&detector_never_yielded, co);
	char parts[SLICE_PARTS];
	struct long_slice s;

	/* Without life-cycle events the coroutine may have ended unnoticed. */
	if (!m->end_ts || !co->tells_life || co->state != TRACE_STATE_RUNNING ||
	    m->end_ts < co->resumed_ts + FLOOR_NS || !never_yielded_is_runner(a, co) ||
	    !slice_of_runner(a, co, &s))
		return;
	if (a->runners_looked_at++ < LOOKS_MOST)
		slice_watch_left(a, &s);
	yield_weigh(&s, analysis_min_age(a), &f);
	f.size_ns = s.to_ts - s.from_ts;
	f.ts = s.from_ts;
	slice_parts(&s, parts);
	finding_say(&f, "%s on thread %" PRIu64 ", and was still running when the trace ended%s%s",
		    co->suspends ? "it was resumed" : "it began to run", co->tid,
		    *parts ? ": " : "", parts);
	if (s.waiters.nr)
		finding_add_evidence(&f,
				     "%" PRIu64
				     " other coroutine%s wait%s for the thread; coroutine "
				     "%" PRIu64 " is ready since %.3f ms",
				     s.waiters.nr, s.waiters.nr == 1 ? "" : "s",
				     s.waiters.nr == 1 ? "s" : "", s.waiters.longest_id,
				     (double)s.waiters.longest_ns / 1e6);
	finding_doubt(a, &f, NEED_TRANSITIONS | NEED_LIVES);
	finding_report(a, &f);
}

const struct detector detector_never_yielded = {
	.name = "never-yielded",
	.code = "B2",
	.title = "Never yielded",
	.meaning = "The coroutine has been running for long, to the end of the trace, without a "
		   "suspension.",
	.advice = "An endless loop, a blocking call, or a lock whose holder is waiting.",
	.is_fault = true,
	.on_leave = detect_never_yielded_on_leave,
	.on_finish = never_yielded_on_finish,
};
