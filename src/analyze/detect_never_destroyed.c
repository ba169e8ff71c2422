/* SPDX-License-Identifier: MIT */
/* detect_never_destroyed.c - a coroutine ended, and its frame was never freed. */
#include <inttypes.h>

#include "analyze/detector.h"

#define LONG_NS (10 * MODEL_S)

static void detect_never_destroyed_on_leave(struct analysis *a, struct coro *co)
{
	const struct model *m = analysis_model(a);
	const struct spawn *s = &m->spawns[co->spawn];
	struct finding f = FINDING_OF(&detector_never_destroyed, co);
	uint64_t age = model_age(m, co);
	bool is_owned;

	/* Before the end of the trace, a coroutine leaves only because it is destroyed. */
	if (!m->end_ts || co->state != TRACE_STATE_ENDED || !m->is_ours ||
	    co->station != TRACE_NO_STATION)
		return;
	/* A program without any destroy event does not record them. */
	if (!m->kinds[TRACE_DESTROY] && !s->destroyed)
		return;
	/* Of another kind most are destroyed: then this kind should be, too. */
	if (age < LONG_NS &&
	    !(m->has_ended &&
	      (s->destroyed ||
	       (age >= 100 * MODEL_MS && 2 * m->kinds[TRACE_DESTROY] >= m->kinds[TRACE_END]))))
		return;
	/* The coroutine that created it may own the frame, and still need its result. */
	is_owned = co->parent && !model_has_ended(m, co->parent);
	if (is_owned && age < 100 * MODEL_MS)
		return;
	f.confidence = s->destroyed && !is_owned ? CONFIDENCE_STRONG : CONFIDENCE_SUSPECT;
	f.size_ns = age;
	finding_say(
		&f,
		"it ended %.3f ms before the end of the trace, and its frame was not destroyed; "
		"of its kind %" PRIu64 " were",
		(double)age / 1e6, s->destroyed);
	finding_doubt(a, &f, NEED_LIVES);
	finding_report(a, &f);
}

const struct detector detector_never_destroyed = {
	.name = "never-destroyed",
	.code = "K2",
	.title = "Ended, never destroyed",
	.meaning = "The coroutine came to its end, but its frame stays in memory.",
	.advice = "The owner of the handle must destroy it after the end, or the coroutine must "
		  "not stop at its final suspension.",
	.is_fault = true,
	.on_leave = detect_never_destroyed_on_leave,
};
