/* SPDX-License-Identifier: MIT */
/* detect_destroyed_suspended.c - a coroutine is destroyed while suspended, without a cancel. */
#include "analyze/detector.h"

static void detect_destroyed_suspended_on_leave(struct analysis *a, struct coro *co)
{
	struct finding f = FINDING_OF(&detector_destroyed_suspended, co);

	if (!co->cut_off)
		return;
	f.confidence = CONFIDENCE_INFO;
	f.size_ns = co->cut_off;
	finding_say(&f, "it had waited for %.3f ms", (double)co->cut_off / 1e6);
	finding_doubt(a, &f, NEED_TRANSITIONS);
	finding_report(a, &f);
}

const struct detector detector_destroyed_suspended = {
	.name = "destroyed-suspended",
	.code = "K3",
	.title = "Destroyed while suspended",
	.meaning = "The frame was destroyed while the coroutine waited, and the trace does not say "
		   "that it "
		   "was cancelled.",
	.advice =
		"No problem if it is intended. If its handle is still in use and is resumed, that "
		"is a use after free.",
	.is_fault = false,
	.on_leave = detect_destroyed_suspended_on_leave,
};
