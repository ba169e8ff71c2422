/* SPDX-License-Identifier: MIT */
/*
 * detect_abandoned_lock.c - a lock or permits whose holder ended without a release.
 *
 * Strong if every recorded holder has ended, or waits for the same semaphore itself.  If a holder
 * is left that may release its permit, it is a suspicion.
 */
#include <inttypes.h>

#include "analyze/detector.h"
#include "analyze/model_tables.h"

#define ABANDONED_NS (50 * MODEL_MS)

static const struct touch *abandoned_by(const struct model *m, const struct coro *co,
					const struct resource_use *use)
{
	uint32_t i;

	for (i = 0; i < use->nr_holders; i++) {
		if (tables_keeps(m, co, use->holders[i].id))
			return &use->holders[i];
	}
	return NULL;
}

static void abandoned_on_stuck(struct analysis *a, struct coro *co)
{
	const struct model *m = analysis_model(a);
	struct finding f = FINDING_OF(&detector_abandoned_lock, co);
	const struct resource_use *use = tables_holders(m, co);
	const struct touch *first;
	char who[EVIDENCE_WHO], what[EVIDENCE_WHAT];

	if (!use || co->woken_since || model_waited(m, co) < ABANDONED_NS)
		return;
	first = abandoned_by(m, co, use);
	if (!first)
		return;
	if (tables_kept(m, co, use) == use->nr_holders && !use->more_holders)
		f.confidence = CONFIDENCE_STRONG;
	f.size_ns = model_age(m, co);
	if (model_has_ended(m, first->id))
		finding_say(&f, "it waits for %s; %s ended and did not release it",
			    evidence_what(co, what), evidence_who(m, first->id, first->name, who));
	else
		finding_say(
			&f,
			"it waits for %s; %s waits for it, too, and did not release what it took",
			evidence_what(co, what), evidence_who(m, first->id, first->name, who));
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
