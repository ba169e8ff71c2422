/* SPDX-License-Identifier: MIT */
/* detect_busy_yield.c - a coroutine wakes itself again and again. */
#include <inttypes.h>

#include "analyze/analysis.h"

static void detect_busy_yield_on_leave(struct analysis *a, struct coro *co)
{
	const struct model *m = analysis_model(a);
	struct finding f = FINDING_OF(&detector_busy_yield, co);
	uint64_t begin = co->birth_ts ? co->birth_ts : m->first_ts;
	/* Up to its last event: a coroutine that waits for something now does not poll now. */
	uint64_t life = model_time(m, co->pid, begin, co->since_ts) + 1;
	/*
	 * A coroutine that works for longer in each slice yields to be fair, and does not poll.  A
	 * few slices may be long: the thread was preempted.
	 */
	bool is_short = sched_coro_of(a, co)->short_slices * 4 >= co->suspends * 3;
	uint64_t times = co->self_wakes * 2 > co->wakes && is_short ? co->self_wakes : 0;

	if (co->quick_yields * 2 > co->suspends && co->quick_yields > times)
		times = co->quick_yields;
	/* More than 1,000 per second, over at least 100 ms. */
	if (times < 100 || life < 100 * MODEL_MS || (double)times * 1e9 / (double)life < 1000)
		return;
	f.confidence = CONFIDENCE_STRONG;
	if (sched_coro_of(a, co)->yield_place)
		f.place = analysis_place(a, sched_coro_of(a, co)->yield_place);
	f.size_ns = life;
	finding_say(&f, "%" PRIu64 " times in %.3f ms it %s", times, (double)life / 1e6,
		    times == co->quick_yields ? "yielded after less than a microsecond"
					      : "was woken by itself");
	/* finding_doubt() is not needed: lost events could only increase the rate. */
	finding_report(a, &f);
}

const struct detector detector_busy_yield = {
	.name = "busy-yield",
	.code = "Y1",
	.title = "Busy yielding",
	.meaning = "The coroutine polls: it wakes itself, or yields with nothing to do, thousands "
		   "of times a second.",
	.advice = "Wait for what it looks for (a descriptor, a channel, a timer) instead of asking "
		  "again and again.",
	.is_fault = true,
	.on_leave = detect_busy_yield_on_leave,
};
