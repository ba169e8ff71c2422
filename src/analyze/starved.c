/* SPDX-License-Identifier: MIT */
/* starved.c - a coroutine was ready for long while its thread ran others. */
#include "analyze/starved.h"

#include <inttypes.h>

#include "analyze/analysis.h"

#define READY_NS  (50 * MODEL_MS)
#define OVERTAKEN 10

static void starved_say(const struct analysis *a, struct finding *f, uint64_t ready_ns,
			bool is_stuck, uint64_t overtakes, uint32_t thread)
{
	const char *never = is_stuck ? " and never ran" : "";

	if (thread)
		finding_say(f,
			    "it was ready for %.3f ms%s, while thread %" PRIu64 " resumed %" PRIu64
			    " that became ready later",
			    (double)ready_ns / 1e6, never, a->model.thread_counts[thread - 1].tid,
			    overtakes);
	else
		finding_say(f,
			    "it was ready for %.3f ms%s, while other threads resumed %" PRIu64
			    " that became ready later",
			    (double)ready_ns / 1e6, never, overtakes);
}

bool starved_report(struct analysis *a, struct coro *co, uint64_t ts, const struct detector *d,
		    bool is_lifo)
{
	const struct sched_coro *c = sched_coro_of(a, co);
	const struct sched_thread *t = sched_thread_of(a, c);
	struct finding f = FINDING_OF(d, co);
	bool is_stuck = a->model.end_ts && ts >= a->model.end_ts;
	uint64_t ready, overtakes;
	uint32_t thread;

	if (!c->ready_ts || ts < c->ready_ts + READY_NS)
		return false;
	/*
	 * A long queue is not starvation: only those that became ready later count, and only on its
	 * own thread, because another thread may have been without a processor.
	 */
	overtakes = sched_overtakes(a, co, &thread);
	/* A coroutine that runs inside of another one is in no queue, whatever its order. */
	if (overtakes < OVERTAKEN || (sched_is_lifo(t) && !c->is_nested) != is_lifo)
		return false;
	ready = ts - c->ready_ts;
	/*
	 * At the end: a thread that had nothing to run has not served others first, it has lost
	 * this one.  A coroutine that ran in the end was delayed also then: its parent did not poll
	 * it.
	 */
	if (is_stuck && 2 * sched_idle(a, co, ts) > ready && t->resumes * 100 >= a->model.resumes)
		return false;
	ready -= cpu_samples_stopped(&a->cpu, co->pid, c->ready_ts, ts);
	if (ready < READY_NS)
		return false;
	f.size_ns = ready;
	f.ts = c->ready_ts;
	/* Those that are not taken may be in no queue: a future that its parent does not poll. */
	if (is_stuck && ready >= MODEL_S && !is_lifo)
		f.confidence = CONFIDENCE_STRONG;
	starved_say(a, &f, ready, is_stuck, overtakes, thread);
	if (is_lifo)
		finding_add_evidence(&f,
				     "of %" PRIu64
				     " choices among several ready coroutines the thread "
				     "took the newest %" PRIu64 " times",
				     t->newest_first + t->others_first, t->newest_first);
	finding_doubt(a, &f, NEED_TRANSITIONS);
	finding_report(a, &f);
	return true;
}

void starved_weigh(const struct analysis *a, struct group *g)
{
	(void)a;
	if (g->count < 5 || g->finding.doubt)
		return;
	g->confidence = g->finding.confidence = CONFIDENCE_STRONG;
	g->by_confidence[CONFIDENCE_STRONG] += g->by_confidence[CONFIDENCE_SUSPECT];
	g->by_confidence[CONFIDENCE_SUSPECT] = 0;
}
