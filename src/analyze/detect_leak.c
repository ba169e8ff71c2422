/* SPDX-License-Identifier: MIT */
/*
 * detect_leak.c - the number of coroutines of one kind keeps growing.
 *
 * The run without its first quarter (startup) is divided into six parts.  The number alive grows in
 * at least five of them and by at least 20 in total, and never falls by more than a tenth, also not
 * at the end.
 *
 * It is a suspicion: users that arrive and stay look the same.  What most of them wait for decides
 * which it is, and the finding says it.
 */
#include <inttypes.h>

#include "analyze/analysis.h"

#define PARTS      6
#define GROWTH_MIN 20

/* The windows in which the program was not stopped or asleep; returns their number. */
static unsigned leak_windows(const struct model *m, unsigned windows[MODEL_WINDOWS])
{
	unsigned i, nr = 0;

	for (i = 0; i < m->nr_windows; i++) {
		if (m->windows_active >> i & 1)
			windows[nr++] = i;
	}
	return nr;
}

static bool leak_grows(const struct model *m, const struct spawn *s)
{
	unsigned windows[MODEL_WINDOWS], nr = leak_windows(m, windows), first = nr / 4;
	unsigned i, grown = 0;
	uint64_t start, before;

	if (nr < 2 * PARTS || model_time(m, 0, m->first_ts, m->end_ts) < MODEL_S)
		return false;
	start = before = s->windows[windows[first]];
	for (i = 1; i <= PARTS; i++) {
		uint64_t alive = s->windows[windows[first + (nr - 1 - first) * i / PARTS]];

		grown += alive > before;
		if (alive < before - before / 10)
			return false; /* the number shrinks at times: not a leak */
		before = alive;
	}
	return grown >= PARTS - 1 && before >= start + GROWTH_MIN &&
	       s->alive >= before - before / 10;
}

/* Number of coroutines of a kind that have not moved for a third of the run. */
static uint64_t leak_idle(const struct model *m, uint32_t spawn)
{
	uint64_t third = model_time(m, 0, m->first_ts, m->end_ts) / 3, nr = 0;
	size_t i;

	for (i = 0; i < m->nr_coros; i++) {
		const struct coro *co = &m->coros[i];

		nr += co->in_use && co->spawn == spawn && model_waited(m, co) >= third;
	}
	return nr;
}

/*
 * Nine of ten of its kind have ended, and the wait of one that exists is unusual: they were left
 * behind.  A kind whose coroutines come faster than they end has more alive.
 */
static bool leak_is_left_behind(struct analysis *a, uint32_t spawn)
{
	const struct model *m = &a->model;
	size_t i;

	for (i = 0; m->spawns[spawn].ended >= 9 * m->spawns[spawn].alive && i < m->nr_coros; i++) {
		const struct coro *co = &m->coros[i];

		if (co->in_use && co->spawn == spawn && co->state == TRACE_STATE_SUSPENDED &&
		    lost_wakeup_is_likely(a, co))
			return true;
	}
	return false;
}

static void leak_on_finish(struct analysis *a)
{
	struct model *m = &a->model;
	uint32_t i;

	for (i = 0; i < m->nr_spawns; i++) {
		struct spawn *s = &m->spawns[i];

		s->is_leaking = leak_grows(m, s) && !leak_is_left_behind(a, i);
		s->idle = s->is_leaking ? leak_idle(m, i) : 0;
	}
}

/* One finding for each, so that all are counted and named. */
static void leak_on_stuck(struct analysis *a, struct coro *co)
{
	const struct model *m = &a->model;
	const struct spawn *s = &m->spawns[co->spawn];
	struct finding evident = FINDING_OF(&detector_lost_wakeup, co);
	struct finding f = FINDING_OF(&detector_leak, co);

	if (!s->is_leaking ||
	    (lost_wakeup_is_evident(a, co, &evident) && evident.confidence >= CONFIDENCE_STRONG))
		return;
	f.size_ns = model_age(m, co);
	finding_say(&f,
		    "%" PRIu64 " exist at the end of %" PRIu64 " created; %" PRIu64
		    " of them have not moved for a third of the run",
		    s->alive, s->born, s->idle);
	finding_doubt(a, &f, NEED_LIVES);
	co->explained = true;
	finding_report(a, &f);
}

const struct detector detector_leak = {
	.name = "leak",
	.code = "K1",
	.title = "Leak",
	.meaning = "Coroutines of this kind become more and more, and never fewer.",
	.advice = "Look at what the oldest of them wait for, and who should end them.",
	.is_fault = true,
	.is_suspicion = true,
	.on_finish = leak_on_finish,
	.on_stuck = leak_on_stuck,
};
