/* SPDX-License-Identifier: MIT */
/* detect_after_end.c - a coroutine is used after its end: its memory may be freed. */
#include <inttypes.h>

#include "analyze/detector.h"

static void detect_after_end_on_leave(struct analysis *a, struct coro *co)
{
	struct finding f = FINDING_OF(&detector_after_end, co);
	const struct misstep *s = &co->after_end;

	if (!s->nr)
		return;
	f.confidence = CONFIDENCE_PROVEN;
	f.ts = s->ts;
	f.size_ns = s->nr;
	finding_say(&f, "thread %" PRIu64 " ran it after its end, %" PRIu64 " %s", s->tid, s->nr,
		    s->nr > 1 ? "times" : "time");
	finding_report(a, &f);
}

const struct detector detector_after_end = {
	.name = "resume-after-end",
	.code = "D1",
	.title = "Resumed after its end",
	.meaning = "The coroutine had ended, and was resumed or suspended again: its frame may "
		   "belong to another coroutine.",
	.advice = "A handle outlived its coroutine: find the code that kept it.",
	.is_fault = true,
	.on_leave = detect_after_end_on_leave,
};
