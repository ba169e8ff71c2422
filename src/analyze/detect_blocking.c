/* SPDX-License-Identifier: MIT */
/*
 * detect_blocking.c - a coroutine occupies its thread for a long time.
 *
 * A thread that is preempted looks the same, so a slice of 10 ms is only a suspicion.  Half a
 * second is strong, and so is the third slice of 50 ms at the same place.
 */
#include "analyze/detector.h"

#define WARN_NS (10 * MODEL_MS)
#define SURE_NS (500 * MODEL_MS)

static void report(struct analysis *a, struct coro *co, uint64_t tid, uint64_t slice)
{
	struct finding f = FINDING_OF(&detector_blocking, co);

	f.size_ns = slice;
	f.ts = co->resumed_ts;
	f.confidence = slice >= SURE_NS ? CONFIDENCE_STRONG : CONFIDENCE_SUSPECT;
	finding_say(&f, "it ran for %.3f ms on thread %llu without a suspension",
		    (double)slice / 1e6, (unsigned long long)tid);
	finding_doubt(a, &f, NEED_TRANSITIONS);
	finding_report(a, &f);
}

/* Runs at every suspension: only the check is here. */
static void on_suspend(struct analysis *a, struct coro *co, const struct trace_event *ev)
{
	if (co->state != TRACE_STATE_RUNNING || !co->resumed_ts || ev->ts < co->resumed_ts)
		return;
	if (ev->ts - co->resumed_ts >= WARN_NS)
		report(a, co, ev->tid, ev->ts - co->resumed_ts);
}

static void on_group(const struct analysis *a, struct group *g)
{
	(void)a;
	/* One long slice may be chance, three at one place are a pattern. */
	if (g->place && g->confidence == CONFIDENCE_SUSPECT && g->large >= 3 && !g->finding.doubt)
		g->confidence = g->finding.confidence = CONFIDENCE_STRONG;
}

const struct detector detector_blocking = {
	.name = "blocking",
	.code = "B1",
	.title = "Blocking slice",
	.meaning = "The coroutine ran for long without suspending; everything else on its thread "
		   "waited.",
	.advice = "Look for a blocking call, a long computation or a lock between the place where "
		  "it was resumed and the one where it suspended.",
	.is_fault = true,
	.on_suspend = on_suspend,
	.on_group = on_group,
};
