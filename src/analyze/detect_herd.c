/* SPDX-License-Identifier: MIT */
/*
 * detect_herd.c - many waiters of one resource are woken at once, and nearly all wait again for it.
 *
 * Evidence: wakes of at least eight waiters before the first of them runs, at least five times; and
 * nine of ten coroutines woken so suspend next at the same place for the same resource, not
 * counting a wait for the lock of a condition.  A lock, or a descriptor that is accepted from,
 * serves one of them only: strong.  Anything else may be meant for all: a suspicion.
 */
#include <inttypes.h>

#include "analyze/analysis.h"

#define BURSTS_LEAST 5

static bool is_at_place(const struct analysis *a, const struct coro *co, uint32_t place)
{
	return co->in_use && co->place == place && sched_coro_of(a, co)->burst;
}

static void herd_report(struct analysis *a, uint32_t place, const struct coro *co,
			const struct sched_burst *b)
{
	struct finding f = {
		.detector = &detector_herd,
		.confidence = CONFIDENCE_SUSPECT,
		.co = co,
		.place = place,
		.spawn = co ? co->spawn : 0,
		.size_ns = b->woken, /* the largest first */
		.ts = b->first_ts,
	};

	if (co && (co->reason == TRACE_REASON_MUTEX || co->reason == TRACE_REASON_ACCEPT))
		f.confidence = CONFIDENCE_STRONG;
	finding_say(&f,
		    "%" PRIu64 " times all waiters were woken at once, %" PRIu64
		    " on average; %" PRIu64 " of %" PRIu64 " then waited again for the same %s",
		    b->nr, b->woken / b->nr, b->back, b->woken,
		    co && co->reason ? trace_reason_name(co->reason) : "resource");
	finding_doubt(a, &f, NEED_TRANSITIONS);
	finding_report(a, &f);
}

static void herd_report_all(struct analysis *a, uint32_t place, const struct sched_burst *b)
{
	bool is_empty = true;
	size_t i;

	for (i = 0; i < a->model.nr_coros; i++) {
		const struct coro *co = &a->model.coros[i];

		if (is_at_place(a, co, place)) {
			herd_report(a, place, co, b);
			is_empty = false;
		}
	}
	if (is_empty)
		herd_report(a, place, NULL, b);
}

static void detect_herd_on_finish(struct analysis *a)
{
	const struct scheduling *s = &a->scheduling;
	uint32_t i;

	for (i = 2; i < s->nr_bursts; i++) {
		const struct sched_burst *b = &s->bursts[i];

		if (b->nr >= BURSTS_LEAST && b->back * 10 >= b->woken * 9)
			herd_report_all(a, analysis_place(a, i / 2), b);
	}
}

const struct detector detector_herd = {
	.name = "herd",
	.code = "H1",
	.title = "Thundering herd",
	.meaning = "All waiters are woken for something that one of them gets; the others run for "
		   "nothing and wait again.",
	.advice = "Wake one waiter for each lock, item or connection.",
	.is_fault = true,
	.on_finish = detect_herd_on_finish,
};
