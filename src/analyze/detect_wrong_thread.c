/* SPDX-License-Identifier: MIT */
/*
 * detect_wrong_thread.c - a coroutine that belongs to one thread is resumed on another one.
 *
 * Evidence, any of
 *   - wakes by other threads used to be handed to its own thread (at least five), and some few were
 *     not: it ran inside of the thread that woke it;
 *   - the same on a thread that runs coroutines only in this way, and on which none ran first;
 *   - at least five others of its kind never left their thread in twenty resumes and more, and this
 *     one did, in one of ten resumes at most.
 * A pool that moves its coroutines does so with all of them, and hands them over in a queue.  A
 * program may do this on purpose: a suspicion.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/analysis.h"

#define HANDED_LEAST 5
#define STEADY_LEAST 20 /* resumes of a coroutine that stays on its thread */
#define STEADY_KIND  5  /* such coroutines of a kind */

static bool thread_is_foreign(const struct analysis *a, uint64_t tid)
{
	uint64_t number;

	if (!u64map_get(&a->model.threads, tid, &number) || !number ||
	    number > a->scheduling.nr_threads)
		return false;
	return !a->scheduling.threads[number - 1].homes &&
	       !a->scheduling.threads[number - 1].moves &&
	       4 * a->scheduling.threads[number - 1].resumes < a->model.resumes;
}

static void on_leave(struct analysis *a, struct coro *co)
{
	const struct sched_coro *c = sched_coro_of(a, co);
	struct finding f = FINDING_OF(&detector_wrong_thread, co);
	bool used_to, is_foreign;

	if (!c->strays || c->moves || c->home_resumes < 3 || c->strays > c->home_resumes)
		return;
	used_to = c->handed >= HANDED_LEAST && c->strays * 4 <= c->handed;
	is_foreign = thread_is_foreign(a, c->stray_tid);
	if (!used_to && !is_foreign)
		return;
	f.ts = c->stray_ts;
	f.size_ns = c->strays; /* the most frequent first */
	finding_say(&f,
		    "%" PRIu64 " of %" PRIu64
		    " resumes were inside of another thread, which woke it; "
		    "first on thread %" PRIu64,
		    c->strays, c->strays + c->home_resumes, c->stray_tid);
	if (used_to)
		finding_add_evidence(&f,
				     "%" PRIu64
				     " wakes by other threads were handed to its own thread",
				     c->handed);
	if (is_foreign)
		finding_add_evidence(&f,
				     "thread %" PRIu64
				     " runs coroutines only by resuming those that it "
				     "wakes",
				     c->stray_tid);
	finding_doubt(a, &f, NEED_TRANSITIONS | NEED_WAKES);
	finding_report(a, &f);
}

/* Coroutines of each kind that never left their thread, and that did. */
struct steady {
	uint64_t stayed, left;
};

static struct steady *steady_kinds(const struct analysis *a)
{
	struct steady *kinds = calloc(a->model.nr_spawns + 1, sizeof(*kinds));
	size_t i;

	for (i = 0; kinds && i < a->model.nr_coros; i++) {
		const struct coro *co = &a->model.coros[i];
		const struct sched_coro *c = sched_coro_of(a, co);

		if (!co->in_use)
			continue;
		kinds[co->spawn].left += c->strays + c->moves > 0;
		kinds[co->spawn].stayed += !c->strays && !c->moves &&
					   c->home_resumes >= STEADY_LEAST;
	}
	return kinds;
}

static void left_report(struct analysis *a, const struct coro *co, const struct steady *kind)
{
	const struct sched_coro *c = sched_coro_of(a, co);
	struct finding f = FINDING_OF(&detector_wrong_thread, co);
	uint64_t away = c->strays + c->moves;

	if (!c->moves || 10 * away > c->home_resumes || c->home_resumes < STEADY_LEAST)
		return;
	f.ts = c->stray_ts;
	f.size_ns = away;
	finding_say(&f,
		    "%" PRIu64 " of %" PRIu64
		    " resumes were on another thread than its own, first on "
		    "thread %" PRIu64,
		    away, away + c->home_resumes, c->stray_tid);
	finding_add_evidence(&f, "%" PRIu64 " others of its kind never left their thread",
			     kind->stayed);
	finding_doubt(a, &f, NEED_TRANSITIONS);
	finding_report(a, &f);
}

static void on_finish(struct analysis *a)
{
	struct steady *kinds = a->model.nr_threads > 1 ? steady_kinds(a) : NULL;
	size_t i;

	for (i = 0; kinds && i < a->model.nr_coros; i++) {
		const struct coro *co = &a->model.coros[i];
		const struct steady *kind = &kinds[co->spawn];

		if (co->in_use && co->spawn && kind->stayed >= STEADY_KIND &&
		    kind->left * STEADY_KIND <= kind->stayed)
			left_report(a, co, kind);
	}
	free(kinds);
}

const struct detector detector_wrong_thread = {
	.name = "wrong-thread",
	.code = "M2",
	.title = "Resumed on a foreign thread",
	.meaning = "The coroutine runs on one thread, and some of its resumes were on another one: "
		   "what it shares with the coroutines of its thread is not protected there.",
	.advice = "Hand the coroutine to its own thread (a queue and a wake-up) instead of "
		  "resuming it "
		  "where the event arrives.",
	.is_fault = true,
	.on_leave = on_leave,
	.on_finish = on_finish,
};
