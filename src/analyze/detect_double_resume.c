/* SPDX-License-Identifier: MIT */
/* detect_double_resume.c - a coroutine is resumed while it runs. */
#include <inttypes.h>

#include "analyze/detector.h"

static void detect_double_resume_on_leave(struct analysis *a, struct coro *co)
{
	struct finding f = FINDING_OF(&detector_double_resume, co);
	const struct misstep *s = &co->double_resume;

	if (!s->nr)
		return;
	f.confidence = CONFIDENCE_PROVEN;
	f.ts = s->ts;
	f.size_ns = s->nr; /* sorts the most frequent first */
	finding_say(&f, "resumed on thread %" PRIu64 " while it was running on %s%" PRIu64 "%s",
		    s->tid, s->tid == s->other_tid ? "the same thread, " : "thread ", s->other_tid,
		    s->nr > 1 ? "; more than once" : "");
	finding_doubt(a, &f, NEED_TRANSITIONS);
	/*
	 * Without the collector's loss counts, the suspend between the two resumes may have been
	 * lost.
	 */
	if (!co->loss_known && f.confidence > CONFIDENCE_SUSPECT) {
		f.confidence = CONFIDENCE_SUSPECT;
		f.doubt = "the trace does not tell whether a suspension between them was lost";
	}
	finding_report(a, &f);
}

const struct detector detector_double_resume = {
	.name = "double-resume",
	.code = "D1",
	.title = "Resumed twice",
	.meaning = "The coroutine was resumed while it was running: two threads in one frame, or "
		   "one that re-enters it.",
	.advice = "Find the two wakers: a coroutine that is queued must not be queued again.",
	.is_fault = true,
	.on_leave = detect_double_resume_on_leave,
};
