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

#include "analyze/detector.h"

#define PARTS      6
#define GROWTH_MIN 20

struct moves {
	uint64_t alive, idle;
	const struct coro *oldest;
};

static bool grows(const struct model *m, const struct spawn *s)
{
	unsigned first = m->nr_windows / 4, i, grown = 0;
	uint64_t start, before;

	if (m->nr_windows < 2 * PARTS || m->end_ts - m->first_ts < MODEL_S)
		return false;
	start = before = s->windows[first];
	for (i = 1; i <= PARTS; i++) {
		unsigned at = first + (m->nr_windows - 1 - first) * i / PARTS;

		grown += s->windows[at] > before;
		if (s->windows[at] < before - before / 10)
			return false; /* the number shrinks at times: not a leak */
		before = s->windows[at];
	}
	return grown >= PARTS - 1 && before >= start + GROWTH_MIN &&
	       s->alive >= before - before / 10;
}

static struct moves moves_of(const struct model *m, uint32_t spawn)
{
	uint64_t third = (m->end_ts - m->first_ts) / 3;
	struct moves moves = { 0 };
	size_t i;

	for (i = 0; i < m->nr_coros; i++) {
		const struct coro *co = &m->coros[i];

		if (!co->in_use || co->spawn != spawn)
			continue;
		moves.alive++;
		moves.idle += m->end_ts - co->since_ts >= third;
		if (!moves.oldest || co->since_ts < moves.oldest->since_ts)
			moves.oldest = co;
	}
	return moves;
}

/* One finding for each, so that all are counted and named. */
static void leak_report(struct analysis *a, uint32_t spawn, const struct moves *moves)
{
	const struct model *m = analysis_model(a);
	const struct spawn *s = &m->spawns[spawn];
	size_t i;

	for (i = 0; i < m->nr_coros; i++) {
		const struct coro *co = &m->coros[i];
		struct finding f = FINDING_OF(&detector_leak, co);

		if (!co->in_use || co->spawn != spawn || co->state == TRACE_STATE_ENDED)
			continue;
		f.size_ns = model_age(m, co);
		finding_say(&f,
			    "%" PRIu64 " exist at the end of %" PRIu64 " created; %" PRIu64
			    " of them have not moved for a third of the run",
			    moves->alive, s->born, moves->idle);
		if (co == moves->oldest)
			evidence_add(a, &f, co);
		finding_doubt(a, &f, NEED_LIVES);
		finding_report(a, &f);
	}
}

static void leak_on_finish(struct analysis *a)
{
	const struct model *m = analysis_model(a);
	uint32_t i;

	for (i = 0; i < m->nr_spawns; i++) {
		struct moves moves;

		if (!grows(m, &m->spawns[i]))
			continue;
		moves = moves_of(m, i);
		if (moves.oldest)
			leak_report(a, i, &moves);
	}
}

const struct detector detector_leak = {
	.name = "leak",
	.code = "K1",
	.title = "Leak",
	.meaning = "Coroutines of this kind become more and more, and never fewer.",
	.advice = "Look at what the oldest of them wait for, and who should end them.",
	.is_fault = true,
	.on_finish = leak_on_finish,
};
