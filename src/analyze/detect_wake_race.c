/* SPDX-License-Identifier: MIT */
/*
 * detect_wake_race.c - a coroutine is woken just before it suspends, and never after.
 *
 * A program may wake a coroutine that runs, and the coroutine then looks for work once more before
 * it suspends: such a wake has no effect, and nothing is wrong.  So the finding is strong only if
 * the wait is unusual and no early wake of this run had no effect and was followed by another wake.
 */
#include <inttypes.h>

#include "analyze/detector.h"

static void wake_race_on_stuck(struct analysis *a, struct coro *co)
{
	const struct model *m = analysis_model(a);
	struct finding f = FINDING_OF(&detector_wake_race, co);
	char who[EVIDENCE_WHO];
	bool is_unusual;

	if (!co->woken_early || co->woken_since || wait_may_be_long(a, co) || wait_has_cause(a, co))
		return;
	is_unusual = wait_breaks_rhythm(a, co, 100 * MODEL_MS, NULL) ||
		     (waits_to_compare(a, co) && wait_is_unusual(a, co, 100 * MODEL_MS));
	if (!is_unusual && model_waited(m, co) < wait_floor(a, co))
		return;
	if (is_unusual && !m->early_unused && model_activity(m, co->since_ts) >= 5)
		f.confidence = CONFIDENCE_STRONG;
	f.size_ns = model_age(m, co);
	finding_say(&f, "its last wake came %.3f us before it suspended, from %s",
		    (double)(co->since_ts - co->woken_ts) / 1e3,
		    evidence_who(m, co->waker, 0, who));
	if (m->early_used || m->early_unused)
		finding_add_evidence(&f,
				     "of other wakes before a suspension, %" PRIu64
				     " made the coroutine go on and %" PRIu64 " had no effect",
				     m->early_used, m->early_unused);
	finding_doubt(a, &f, NEED_TRANSITIONS | NEED_WAKES);
	co->explained = true;
	finding_report(a, &f);
}

const struct detector detector_wake_race = {
	.name = "wake-before-suspend",
	.code = "L4",
	.title = "Woken before it slept",
	.meaning = "The wake came while the coroutine was still running, on its way to sleep. "
		   "Nothing remembered it, and no other came.",
	.advice = "Between the check and the suspension the waker must find the waiter: register "
		  "first, then check again, then suspend; or keep a flag that the suspension looks "
		  "at.",
	.is_fault = true,
	.on_stuck = wake_race_on_stuck,
};
