/* SPDX-License-Identifier: MIT */
/*
 * detect_wrong_thread.c - a coroutine that belongs to one thread is resumed inside of the thread
 * that wakes it.
 *
 * Evidence, either of
 *   - wakes by other threads used to be handed to its own thread (at least five), and some few were
 *     not;
 *   - it was resumed by a thread that runs coroutines only in this way, and is nobody's own.
 * A pool that moves its coroutines hands them over in a queue, so the thread that runs them is not
 * the one that woke them.  A program may do this on purpose: a suspicion.
 */
#include <inttypes.h>

#include "analyze/analysis.h"

#define HANDED_LEAST 5

static bool thread_is_foreign(const struct analysis *a, uint64_t tid)
{
	uint64_t number;

	if (!u64map_get(&a->model.threads, tid, &number) || !number ||
	    number > a->scheduling.nr_threads)
		return false;
	return !a->scheduling.threads[number - 1].homes && !a->scheduling.threads[number - 1].moves;
}

static void on_leave(struct analysis *a, struct coro *co)
{
	const struct sched_coro *c = sched_coro_of(a, co);
	struct finding f = FINDING_OF(&detector_wrong_thread, co);
	bool used_to, is_foreign;

	if (!c->strays || c->moves || c->home_resumes < 3)
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
};
