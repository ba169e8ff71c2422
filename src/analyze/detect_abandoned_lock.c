/* SPDX-License-Identifier: MIT */
/*
 * detect_abandoned_lock.c - a lock or permits whose holder ended without a release.
 *
 * Strong if every recorded holder has ended.  If some holders of a semaphore still exist, one of
 * them may release its permit: a suspicion.
 */
#include <inttypes.h>

#include "analyze/detector.h"
#include "analyze/model_tables.h"

#define ABANDONED_NS (50 * MODEL_MS)

/* Number of holders that have ended; *@first is the first of them. */
static unsigned abandoned_by(const struct model *m, const struct resource_use *use,
			     const struct touch **first)
{
	unsigned nr = 0;
	uint32_t i;

	for (i = 0; i < use->nr_holders; i++) {
		const struct touch *t = &use->holders[i];

		if (!t->id || !model_has_ended(m, t->id))
			continue;
		if (!nr++)
			*first = t;
	}
	return nr;
}

static void abandoned_on_stuck(struct analysis *a, struct coro *co)
{
	const struct model *m = analysis_model(a);
	struct finding f = FINDING_OF(&detector_abandoned_lock, co);
	const struct touch *first = NULL;
	const struct resource_use *use;
	char who[EVIDENCE_WHO], what[EVIDENCE_WHAT];
	unsigned nr;

	if ((co->reason != TRACE_REASON_MUTEX && co->reason != TRACE_REASON_SEMAPHORE) ||
	    co->woken_since || model_age(m, co) < ABANDONED_NS)
		return;
	use = tables_use(m, co);
	nr = use ? abandoned_by(m, use, &first) : 0;
	if (!nr)
		return;
	if (nr == use->nr_holders && !use->more_holders)
		f.confidence = CONFIDENCE_STRONG;
	f.size_ns = model_age(m, co);
	finding_say(&f, "it waits for %s; %s%s ended without a release", evidence_what(co, what),
		    evidence_who(m, first->id, first->name, who),
		    nr > 1 ? " and others that hold it" : ", which holds it,");
	finding_set_hint(&f, "Release it on every way out of the code that takes it: errors, "
			     "exceptions and cancellation included.");
	finding_doubt(a, &f, NEED_TRANSITIONS | NEED_WAKES | NEED_LIVES);
	co->explained = true;
	finding_report(a, &f);
}

const struct detector detector_abandoned_lock = {
	.name = "abandoned-lock",
	.code = "L9",
	.title = "Abandoned lock",
	.meaning = "The coroutine waits for a lock or a permit whose holder ended without a "
		   "release.",
	.advice = "Release it on every way out of the code that takes it: errors, exceptions and "
		  "cancellation included.",
	.is_fault = true,
	.on_stuck = abandoned_on_stuck,
};
