/* SPDX-License-Identifier: MIT */
/*
 * detect_starvation.c - a coroutine is ready but does not run, while others do.
 *
 * One long delay may be caused by the machine.  Strong if at least five waits at the place, and at
 * least one in a hundred, end this way.
 */
#include <inttypes.h>

#include "analyze/detector.h"

#define READY_NS (50 * MODEL_MS)

static void report(struct analysis *a, struct coro *co, uint64_t ready_ns, uint64_t others)
{
	struct finding f = FINDING_OF(&detector_starvation, co);

	f.size_ns = ready_ns;
	f.ts = co->woken_ts;
	finding_say(&f, "it was ready for %.3f ms while others were resumed %" PRIu64 " times",
		    (double)ready_ns / 1e6, others);
	finding_doubt(a, &f, NEED_TRANSITIONS);
	finding_report(a, &f);
}

/* Runs at every resume: only the check is here. */
static void on_resume(struct analysis *a, struct coro *co, const struct trace_event *ev)
{
	uint64_t others;

	if (!co->woken_since || ev->ts < co->woken_ts || ev->ts - co->woken_ts < READY_NS)
		return;
	others = analysis_model(a)->resumes - co->resumes_then;
	if (others >= 100)
		report(a, co, ev->ts - co->woken_ts, others);
}

static void on_group(const struct analysis *a, struct group *g)
{
	const struct wait_place *p = &analysis_model(a)->places[g->place];

	if (g->count >= 5 && g->count * 100 >= p->ready.nr && !g->finding.doubt) {
		g->confidence = g->finding.confidence = CONFIDENCE_STRONG;
		g->by_confidence[CONFIDENCE_STRONG] += g->by_confidence[CONFIDENCE_SUSPECT];
		g->by_confidence[CONFIDENCE_SUSPECT] = 0;
	}
}

const struct detector detector_starvation = {
	.name = "starvation",
	.code = "T1",
	.title = "Starvation",
	.meaning = "The coroutine was ready to run for long while the scheduler ran others.",
	.advice = "Look at the scheduler's queues: priorities, last-in-first-out, a queue that one "
		  "worker never looks at.",
	.is_fault = true,
	.on_resume = on_resume,
	.on_group = on_group,
};
