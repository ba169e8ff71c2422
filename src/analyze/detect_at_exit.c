/* SPDX-License-Identifier: MIT */
/* detect_at_exit.c - a coroutine is suspended when the program ends. */
#include "analyze/detector.h"

static void detect_at_exit_on_stuck(struct analysis *a, struct coro *co)
{
	const struct model *m = analysis_model(a);
	struct finding f = FINDING_OF(&detector_at_exit, co);

	/* A trace without totals ends where the collector stopped, not where the program ended. */
	if (!m->has_ended)
		return;
	f.confidence = analysis_of_a_test(a) ? CONFIDENCE_STRONG : CONFIDENCE_INFO;
	f.size_ns = model_age(m, co);
	if (m->totals.signal)
		finding_say(&f, "the program was ended by signal %d", m->totals.signal);
	else
		finding_say(&f, "the program ended by itself");
	finding_doubt(a, &f, NEED_TRANSITIONS);
	finding_report(a, &f);
}

const struct detector detector_at_exit = {
	.name = "suspended-at-exit",
	.code = "S2",
	.title = "Suspended at exit",
	.meaning = "The program ended while the coroutine was waiting. In a server this is "
		   "normal; in a test it is not.",
	.advice = "In a test: end the coroutines, or wait for them, before the program ends.",
	.is_fault = false,
	.on_stuck = detect_at_exit_on_stuck,
};
