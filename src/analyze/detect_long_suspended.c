/* SPDX-License-Identifier: MIT */
/* detect_long_suspended.c - a wait is far longer than others at its place; it may still end. */
#include "analyze/analysis.h"

static void long_suspended_on_stuck(struct analysis *a, struct coro *co)
{
	const struct model *m = analysis_model(a);
	const struct wait_place *p = waits_to_compare(a, co);
	struct finding f = FINDING_OF(&detector_long_suspended, co);
	bool has_samples = p && p->waits.nr >= 20;

	/* A wait for a child is as long as the child takes: the child is reported. */
	if (wait_may_be_long(a, co) || model_child(m, co) || wait_is_in_a_pool(a, co) ||
	    wait_is_consequence(a, co) || descriptor_facts_idle(&a->descriptors, co) ||
	    !wait_is_unusual(a, co, analysis_min_age(a)))
		return;
	f.size_ns = model_age(m, co);
	if (has_samples)
		finding_say(&f, "95 of 100 waits %s took less than %.3f ms",
			    co->place ? "at this place" : "of all coroutines",
			    (double)wait_usual_ns(p) / 1e6);
	else
		finding_say(&f,
			    "longer than ten seconds, with too few other waits to compare it with");
	finding_doubt(a, &f, NEED_TRANSITIONS);
	co->explained = true;
	finding_report(a, &f);
}

const struct detector detector_long_suspended = {
	.name = "long-suspended",
	.code = "S1",
	.title = "Suspended for long",
	.meaning =
		"The wait is more than ten times as long as nearly all others at the same place.",
	.advice = "It may be a slow peer, or the first sign of a lost wakeup. A later trace tells.",
	.is_fault = false,
	.is_suspicion = true,
	.on_stuck = long_suspended_on_stuck,
};
