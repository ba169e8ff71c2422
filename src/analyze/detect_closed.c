/* SPDX-License-Identifier: MIT */
/*
 * detect_closed.c - the descriptor that a coroutine waits for was closed.
 *
 * Proven if the program recorded the close.  Otherwise strong if another coroutine began to wait
 * for the same descriptor number and was served: the number was reused, so the first coroutine's
 * file was closed while it waited.
 */
#include <inttypes.h>

#include "analyze/detector.h"

static bool is_descriptor(const struct coro *co)
{
	return co->has_resource &&
	       (co->reason == TRACE_REASON_IO_READ || co->reason == TRACE_REASON_IO_WRITE ||
		co->reason == TRACE_REASON_ACCEPT || co->reason == TRACE_REASON_CONNECT);
}

static void on_stuck(struct analysis *a, struct coro *co)
{
	const struct model *m = analysis_model(a);
	struct finding f = FINDING_OF(&detector_closed, co);
	const struct coro *rival;

	if (!is_descriptor(co) || co->woken_since)
		return;
	f.size_ns = model_age(m, co);
	if (co->closed_ts) {
		f.confidence = CONFIDENCE_PROVEN;
		finding_say(&f,
			    "descriptor %" PRIu64
			    " was closed %.3f ms after it began to wait for it",
			    co->resource, (double)(co->closed_ts - co->since_ts) / 1e6);
	} else if (co->rival) {
		rival = model_find(m, co->rival);
		/*
		 * Created after the wait began: so it is not a second reader of the same
		 * connection.
		 */
		f.confidence = !rival || rival->birth_ts > co->since_ts ? CONFIDENCE_STRONG
									: CONFIDENCE_SUSPECT;
		finding_say(&f,
			    "descriptor %" PRIu64 " is used again: coroutine %" PRIu64
			    " waited for it %.3f ms later, so it was closed meanwhile",
			    co->resource, co->rival, (double)(co->rival_ts - co->since_ts) / 1e6);
	} else {
		return;
	}
	finding_doubt(a, &f, NEED_TRANSITIONS | NEED_WAKES);
	co->explained = true;
	finding_report(a, &f);
}

const struct detector detector_closed = {
	.name = "closed-under-waiter",
	.code = "L2",
	.title = "Closed under a waiter",
	.meaning = "The descriptor was closed while a coroutine waited for it. No event will "
		   "arrive: the coroutine is never resumed.",
	.advice = "The code that closes the descriptor (on EOF, on an error, on a time-out) must "
		  "resume or destroy the coroutine that waits for it.",
	.is_fault = true,
	.on_stuck = on_stuck,
};
