/* SPDX-License-Identifier: MIT */
/*
 * detect_never_yielded.c - a coroutine has run for a long time and still runs at the end of the
 * trace.
 */
#include "analyze/detector.h"

static void on_leave(struct analysis *a, struct coro *co)
{
	const struct model *m = analysis_model(a);
	struct finding f = FINDING_OF(&detector_never_yielded, co);
	uint64_t slice;

	/* Without life-cycle events the coroutine may have ended unnoticed. */
	if (!m->end_ts || !co->tells_life || co->state != TRACE_STATE_RUNNING ||
	    m->end_ts < co->resumed_ts)
		return;
	slice = m->end_ts - co->resumed_ts;
	if (slice < analysis_min_age(a))
		return;
	f.confidence = CONFIDENCE_STRONG;
	f.size_ns = slice;
	f.ts = co->resumed_ts;
	finding_say(&f, "%s on thread %llu, and was still running when the trace ended",
		    co->suspends ? "it was resumed" : "it began to run",
		    (unsigned long long)co->tid);
	finding_doubt(a, &f, NEED_TRANSITIONS | NEED_LIVES);
	finding_report(a, &f);
}

const struct detector detector_never_yielded = {
	.name = "never-yielded",
	.code = "B2",
	.title = "Never yielded",
	.meaning = "The coroutine has been running for more than a second, to the end of the "
		   "trace, without a suspension.",
	.advice = "An endless loop, a blocking call, or a lock whose holder is waiting.",
	.is_fault = true,
	.on_leave = on_leave,
};
