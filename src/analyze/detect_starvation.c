/* SPDX-License-Identifier: MIT */
/*
 * detect_starvation.c - a coroutine is ready but does not run, while others that became ready later
 * run on its thread.
 */
#include "analyze/analysis.h"
#include "analyze/starved.h"

#define LEAST_NS (50 * MODEL_MS)

/* Runs at every resume: only the check is here. */
static void detect_starvation_on_resume(struct analysis *a, struct coro *co,
					const struct trace_event *ev)
{
	if (co->state == TRACE_STATE_SUSPENDED && ev->ts - co->since_ts >= LEAST_NS)
		starved_report(a, co, ev->ts, &detector_starvation, false);
}

static void detect_starvation_on_stuck(struct analysis *a, struct coro *co)
{
	if (starved_report(a, co, a->model.end_ts, &detector_starvation, false))
		co->explained = true;
}

const struct detector detector_starvation = {
	.name = "starvation",
	.code = "T1",
	.title = "Starvation",
	.meaning =
		"The coroutine was ready to run for long while its thread ran others that became "
		"ready later.",
	.advice = "Look at the scheduler's queues: priorities, a queue that is looked at last, a "
		  "coroutine that is polled only by another one.",
	.is_fault = true,
	.on_resume = detect_starvation_on_resume,
	.on_stuck = detect_starvation_on_stuck,
	.on_group = starved_weigh,
};
