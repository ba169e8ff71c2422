/* SPDX-License-Identifier: MIT */
/*
 * detect_unfair_order.c - a thread resumes the newest ready coroutine first, and older ones wait
 * for long.
 *
 * The order alone is no fault: many pools take the newest first because its data is in the cache.
 * It is reported only with a coroutine that was ready for 50 ms and overtaken ten times, and at
 * most as a suspicion: a future that its parent does not poll is in no queue, and looks the same.
 */
#include "analyze/analysis.h"
#include "analyze/starved.h"

#define LEAST_NS (50 * MODEL_MS)

/* Runs at every resume: only the check is here. */
static void detect_unfair_order_on_resume(struct analysis *a, struct coro *co,
					  const struct trace_event *ev)
{
	if (co->state == TRACE_STATE_SUSPENDED && ev->ts - co->since_ts >= LEAST_NS)
		starved_report(a, co, ev->ts, &detector_unfair_order, true);
}

static void detect_unfair_order_on_stuck(struct analysis *a, struct coro *co)
{
	if (starved_report(a, co, a->model.end_ts, &detector_unfair_order, true))
		co->explained = true;
}

const struct detector detector_unfair_order = {
	.name = "unfair-order",
	.code = "T3",
	.title = "Unfair order",
	.meaning = "The thread runs the coroutine that became ready last before all others, and "
		   "older ones wait as long as newer ones come.",
	.advice = "Take ready coroutines from the other end of the queue, or limit how often the "
		  "newest may go first.",
	.is_fault = true,
	.is_suspicion = true,
	.on_resume = detect_unfair_order_on_resume,
	.on_stuck = detect_unfair_order_on_stuck,
};
