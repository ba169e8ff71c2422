/* SPDX-License-Identifier: MIT */
/* detect_wake_race.c - a coroutine is woken just before it suspends, and never after. */
#include <inttypes.h>

#include "analyze/detector.h"

static void on_stuck(struct analysis *a, struct coro *co)
{
	const struct model *m = analysis_model(a);
	struct finding f = FINDING_OF(&detector_wake_race, co);

	/* The wake came while the coroutine ran: after its resume and before its suspend. */
	if (!co->woken_ts || co->woken_since || co->woken_ts < co->resumed_ts ||
	    co->woken_ts > co->since_ts || co->waker == co->probe_id)
		return;
	if (wait_may_be_long(a, co) || !wait_is_unusual(a, co, 100 * MODEL_MS))
		return;
	f.confidence = CONFIDENCE_STRONG;
	f.size_ns = model_age(m, co);
	finding_say(&f, "its last wake-up came %.3f us before it suspended%s",
		    (double)(co->since_ts - co->woken_ts) / 1e3,
		    co->waker ? "" : ", from outside any coroutine");
	finding_doubt(a, &f, NEED_TRANSITIONS | NEED_WAKES);
	co->explained = true;
	finding_report(a, &f);
}

const struct detector detector_wake_race = {
	.name = "wake-before-suspend",
	.code = "L4",
	.title = "Woken before it slept",
	.meaning = "The wake-up came while the coroutine was still running, on its way to sleep. "
		   "Nothing remembered it, and no other came.",
	.advice = "Between the check and the suspension the waker must find the waiter: register "
		  "first, then check again, then suspend; or keep a flag that the suspension looks "
		  "at.",
	.is_fault = true,
	.on_stuck = on_stuck,
};
