/* SPDX-License-Identifier: MIT */
/*
 * detect_wrong_thread.c - a coroutine that belongs to one thread is resumed on another one.
 *
 * Evidence, either of
 *   - wakes by other threads were handed to its own thread, and one in twenty or fewer were not: it
 *     ran inside of the thread that woke it;
 *   - at least five others of its kind never left their thread in twenty resumes and more, and this
 *     one did, in one of ten resumes at most;
 *   - at least five others that wait at its place always ran on one thread, the same for all of
 *     them, and this one did not: they are bound to that thread.
 * A pool that moves its coroutines does so with all of them, and hands them over in a queue.  A
 * program may do this on purpose: a suspicion.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"

#define HANDED_SHARE 20
#define STEADY_KIND  5 /* coroutines of a kind that stay on their thread */

/* Coroutines of one place that stay on their thread, and that do not. */
struct place_threads {
	uint64_t stayed, left;
	uint32_t home; /* of those that stay */
	bool is_mixed; /* they have several */
};

static void wrong_thread_judge(struct analysis *a, const struct coro *co,
			       const struct sched_coro *c, const struct sched_kind *kind,
			       const struct place_threads *place)
{
	struct finding f = FINDING_OF(&detector_wrong_thread, co);
	uint64_t away = c->strays + c->moves;
	bool was_handed = !c->moves && c->strays * HANDED_SHARE <= c->handed;
	bool is_alone = co->spawn && kind->stayed >= STEADY_KIND &&
			kind->left * STEADY_KIND <= kind->stayed && away * 10 <= c->home_resumes;
	bool is_unbound = place->stayed >= STEADY_KIND && !place->is_mixed &&
			  place->left * STEADY_KIND <= place->stayed;

	if (!away || (!was_handed && !is_alone && !is_unbound))
		return;
	f.place = analysis_place(a, co->place);
	f.ts = c->stray_ts;
	f.size_ns = away; /* the most frequent first */
	finding_say(&f,
		    "%" PRIu64 " of %" PRIu64
		    " resumes were on another thread than its own, first on "
		    "thread %" PRIu64,
		    away, away + c->home_resumes, c->stray_tid);
	if (was_handed)
		finding_add_evidence(&f,
				     "%" PRIu64 " wakes by other threads were handed to its own "
				     "thread, and these were not",
				     c->handed);
	if (is_alone)
		finding_add_evidence(&f, "%" PRIu64 " others of its kind never left their thread",
				     kind->stayed);
	if (is_unbound)
		finding_add_evidence(&f,
				     "%" PRIu64 " others that wait at its place always ran on "
				     "thread %" PRIu64,
				     place->stayed, a->model.thread_counts[place->home - 1].tid);
	finding_doubt(a, &f, NEED_TRANSITIONS | NEED_WAKES);
	finding_report(a, &f);
}

/* Of each kind: coroutines that stayed on their thread and that did not, at the end of the trace.
 */
static struct sched_kind *wrong_thread_kinds(const struct analysis *a)
{
	struct sched_kind *kinds = calloc(a->model.nr_spawns + 1, sizeof(*kinds));
	size_t i, known = a->scheduling.nr_kinds;

	if (!kinds)
		return NULL;
	known = known < a->model.nr_spawns ? known : a->model.nr_spawns;
	if (known)
		memcpy(kinds, a->scheduling.kinds, known * sizeof(*kinds));
	for (i = 0; i < a->model.nr_coros; i++) {
		const struct coro *co = &a->model.coros[i];
		const struct sched_coro *c = sched_coro_of(a, co);

		if (!co->in_use || co->state == TRACE_STATE_ENDED)
			continue;
		kinds[co->spawn].stayed += sched_stays(c);
		kinds[co->spawn].left += c->strays + c->moves > 0;
	}
	return kinds;
}

/* Of each place with a site: the threads of the coroutines that exist at the end of the trace. */
static struct place_threads *wrong_thread_places(const struct analysis *a)
{
	struct place_threads *places = calloc(a->model.nr_places + 1, sizeof(*places));
	size_t i;

	for (i = 0; places && i < a->model.nr_coros; i++) {
		const struct coro *co = &a->model.coros[i];
		const struct sched_coro *c = sched_coro_of(a, co);
		struct place_threads *p = &places[co->place];

		if (!co->in_use || co->state == TRACE_STATE_ENDED || !co->place || !co->site)
			continue;
		p->left += c->strays + c->moves > 0;
		if (!sched_stays(c))
			continue;
		p->is_mixed |= p->stayed && p->home != c->home;
		p->home = c->home;
		p->stayed++;
	}
	return places;
}

static void wrong_thread_judge_all(struct analysis *a, const struct sched_kind *kinds,
				   const struct place_threads *places)
{
	size_t i;

	for (i = 0; i < a->scheduling.nr_leavers; i++) {
		const struct sched_leaver *l = &a->scheduling.leavers[i];

		wrong_thread_judge(a, &l->co, &l->sched, &kinds[l->co.spawn], &places[0]);
	}
	for (i = 0; i < a->model.nr_coros; i++) {
		const struct coro *co = &a->model.coros[i];

		if (co->in_use && co->state != TRACE_STATE_ENDED)
			wrong_thread_judge(a, co, sched_coro_of(a, co), &kinds[co->spawn],
					   &places[co->site ? co->place : 0]);
	}
}

static void detect_wrong_thread_on_finish(struct analysis *a)
{
	struct place_threads *places;
	struct sched_kind *kinds;

	if (a->model.nr_threads < 2)
		return;
	kinds = wrong_thread_kinds(a);
	places = wrong_thread_places(a);
	if (kinds && places)
		wrong_thread_judge_all(a, kinds, places);
	free(places);
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
	.is_suspicion = true,
	.on_finish = detect_wrong_thread_on_finish,
};
