/* SPDX-License-Identifier: MIT */
/* scheduling.c - how the program's scheduler serves its coroutines. */
#include "analyze/scheduling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"

/* Wakes at one place belong together if they are this close, and are a burst from this size on. */
#define BURST_NS    MODEL_MS
#define BURST_LEAST 8
/* A shorter slice looks at something and waits again; a longer one may do useful work. */
#define QUICK_NS (5 * MODEL_MS / 1000)
/* A wait that is not longer was ended by the next step of the scheduler. */
#define BOUNCE_NS (50 * MODEL_MS / 1000)
/* A coroutine that was ready for longer was passed over, for whatever reason. */
#define PASSED_OVER_NS (50 * MODEL_MS)
/* A thread without a coroutine for a shorter time is between two of them. */
#define IDLE_LEAST MODEL_MS

static int sched_grow(void **array, size_t *nr, size_t want, size_t size)
{
	size_t more = *nr ? *nr : 64;
	void *bigger;

	if (want <= *nr)
		return 0;
	while (more < want)
		more *= 2;
	bigger = realloc(*array, more * size);
	if (!bigger)
		return -ENOMEM;
	memset((char *)bigger + *nr * size, 0, (more - *nr) * size);
	*array = bigger;
	*nr = more;
	return 0;
}

static size_t sched_number(const struct analysis *a, const struct coro *co)
{
	return (size_t)(co - a->model.coros);
}

static int sched_make_room(struct analysis *a, const struct coro *co)
{
	struct scheduling *s = &a->scheduling;

	if (sched_number(a, co) < s->nr_coros && a->model.thread_now < s->nr_threads)
		return 0;
	if (sched_grow((void **)&s->coros, &s->nr_coros, sched_number(a, co) + 1,
		       sizeof(*s->coros)) < 0)
		return -ENOMEM;
	return sched_grow((void **)&s->threads, &s->nr_threads, a->model.thread_now + 1,
			  sizeof(*s->threads));
}

/* ---- ready coroutines ------------------------------------------------------- */

static void sched_has_yielded(struct scheduling *s, struct sched_coro *c, bool has_yielded)
{
	s->nr_yielded += has_yielded && !c->has_yielded;
	s->nr_yielded -= !has_yielded && c->has_yielded;
	c->has_yielded = has_yielded;
}

/* The link to @c in the list of ready coroutines. */
static uint32_t sched_link(const struct scheduling *s, const struct sched_coro *c)
{
	return (uint32_t)(c - s->coros) + 1;
}

static void sched_is_ready(struct analysis *a, struct sched_coro *c, uint64_t ts)
{
	struct scheduling *s = &a->scheduling;

	if (c->ready_ts)
		return;
	c->ready_ts = ts;
	sched_has_yielded(s, c, false);
	c->backlog = s->nr_ready + s->nr_yielded;
	s->nr_ready += !c->is_nested;
	c->all_then = s->served;
	c->waker = a->model.thread_now + 1;
	c->waker_then = s->threads[a->model.thread_now].served;
	c->idle_then = c->thread ? s->threads[c->thread - 1].idle_ns : 0;
	c->served_then = c->thread ? s->threads[c->thread - 1].served : 0;
	/* Which of several ready ones a thread takes first is a question of those in its queue. */
	if (c->is_nested)
		return;
	c->older = s->newest;
	c->newer = 0;
	s->newest = sched_link(s, c);
	if (c->older)
		s->coros[c->older - 1].newer = s->newest;
}

static void sched_not_ready(struct scheduling *s, struct sched_coro *c)
{
	sched_has_yielded(s, c, false);
	if (!c->ready_ts)
		return;
	c->ready_ts = 0;
	if (c->is_nested)
		return;
	s->nr_ready -= s->nr_ready > 0;
	if (c->newer)
		s->coros[c->newer - 1].older = c->older;
	else
		s->newest = c->older;
	if (c->older)
		s->coros[c->older - 1].newer = c->newer;
	c->older = c->newer = 0;
}

/* What is known is about an earlier coroutine. */
static void sched_forget(struct scheduling *s, struct sched_coro *c)
{
	sched_not_ready(s, c);
	*c = (struct sched_coro){ 0 };
}

/* ---- bursts of wakes -------------------------------------------------------- */

/* A condition and the lock that it takes again may be waited for in one line. */
static uint32_t sched_burst_number(const struct coro *co)
{
	return 2 * co->place + (co->reason == TRACE_REASON_MUTEX);
}

static int sched_woken(struct analysis *a, const struct coro *co, struct sched_coro *c,
		       const struct trace_event *ev)
{
	struct scheduling *s = &a->scheduling;
	struct sched_burst *b;

	if (!co->place || !co->has_resource)
		return 0;
	if (sched_grow((void **)&s->bursts, &s->nr_bursts, sched_burst_number(co) + 1, sizeof(*b)) <
	    0)
		return -ENOMEM;
	b = &s->bursts[sched_burst_number(co)];
	/*
	 * One burst is the work of one slice of one waker: a lock that is passed on, and a producer
	 * of one item at a time, wake in another slice each time.  On several threads the first
	 * ones run while the others are still being woken; code outside of coroutines has no
	 * slices, so there the burst is over when one has run.
	 */
	if (!b->size || (!ev->peer && b->is_over) || b->waker != ev->peer ||
	    b->in_slice != s->threads[a->model.thread_now].resumes || b->resource != co->resource ||
	    ev->ts - b->last_ts > BURST_NS) {
		b->first_ts = ev->ts;
		b->resource = co->resource;
		b->waker = ev->peer;
		b->in_slice = s->threads[a->model.thread_now].resumes;
		b->number++;
		b->size = 0;
		b->is_over = false;
	}
	b->last_ts = ev->ts;
	c->burst = b->number;
	if (++b->size == BURST_LEAST) {
		b->nr++;
		b->woken += BURST_LEAST;
	} else if (b->size > BURST_LEAST) {
		b->woken++;
	}
	return 0;
}

/*
 * @co suspends: does it wait again for what it was woken for?  A condition takes its lock again
 * first: a wait for a lock in between decides nothing.
 */
static void sched_waits_again(struct scheduling *s, struct sched_coro *c,
			      const struct trace_event *ev)
{
	const struct sched_wait *w = &c->burst_wait;
	struct sched_burst *b;
	bool is_same;

	if (!c->had_burst || w->number >= s->nr_bursts)
		return;
	is_same = (ev->site ? ev->site == w->site : ev->addr == w->addr) &&
		  (ev->flags & TRACE_HAS_RESOURCE) && ev->resource == w->resource &&
		  ev->reason == w->reason;
	if (!is_same && ev->reason == TRACE_REASON_MUTEX)
		return;
	c->had_burst = false;
	b = &s->bursts[w->number];
	if (is_same && w->burst == b->number && b->size >= BURST_LEAST)
		b->back++;
}

/* @co runs: was it woken in a burst? */
static void sched_runs_after_burst(struct scheduling *s, const struct coro *co,
				   struct sched_coro *c)
{
	uint32_t number = sched_burst_number(co);

	/* It has got the lock of a condition, and what it does next is still open. */
	if (c->had_burst && co->reason == TRACE_REASON_MUTEX &&
	    c->burst_wait.reason != TRACE_REASON_MUTEX)
		return;
	c->had_burst = c->ready_ts && c->burst && number < s->nr_bursts;
	if (!c->had_burst)
		return;
	c->burst_wait = (struct sched_wait){
		.resource = co->resource,
		.addr = co->addr,
		.number = number,
		.burst = c->burst,
		.site = co->site,
		.reason = co->reason,
	};
	s->bursts[number].is_over = true;
}

/* ---- threads ---------------------------------------------------------------- */

/* Whether a coroutine runs on its own thread, or inside of the thread that woke it. */
static void sched_affinity(const struct analysis *a, const struct coro *co, struct sched_coro *c,
			   const struct trace_event *ev)
{
	uint32_t now = a->model.thread_now + 1;
	bool by_waker = c->ready_ts && co->woken_tid == ev->tid;

	/* The first slices may run where the coroutine is created. */
	if (c->home != now && c->home_resumes < 3) {
		c->home = now;
		c->home_resumes = 0;
	}
	if (c->home == now) {
		c->home_resumes++;
		c->handed += c->ready_ts && !by_waker;
		return;
	}
	c->strays += by_waker;
	c->moves += !by_waker;
	if (!c->stray_ts) {
		c->stray_ts = ev->ts;
		c->stray_tid = ev->tid;
	}
}

/* The thread chooses @c, or one that has yielded at @since_ts, although others are ready. */
static void sched_choose(const struct scheduling *s, struct sched_thread *t,
			 const struct sched_coro *c, uint64_t since_ts, uint64_t now)
{
	bool is_newest = c->ready_ts && s->newest == sched_link(s, c);
	uint32_t link = is_newest ? c->older : s->newest;
	const struct sched_coro *other = link ? &s->coros[link - 1] : NULL;

	if (!other || other->ready_ts + PASSED_OVER_NS < now)
		return;
	if (!c->ready_ts && since_ts >= other->ready_ts)
		return;
	t->newest_first += is_newest;
	t->others_first += !is_newest;
}

/* The thread chooses @co to run next. */
static void sched_serve(struct scheduling *s, struct sched_thread *t, const struct coro *co,
			const struct sched_coro *c, uint64_t now)
{
	bool is_outer = t->depth == 0;
	bool has_yielded = !c->ready_ts && co->state == TRACE_STATE_SUSPENDED &&
			   co->reason == TRACE_REASON_YIELD && is_outer;

	/* Inside of another one's slice, as always: that one was served. */
	if ((!c->ready_ts && !has_yielded) || (!is_outer && c->is_nested))
		return;
	t->served++;
	s->served++;
	if (!c->is_nested)
		sched_choose(s, t, c, co->since_ts, now);
}

static void sched_note_user(struct sched_thread *t, const struct coro *co)
{
	if (!t->only_id)
		t->only_id = co->probe_id;
	else if (t->only_id != co->probe_id)
		t->is_shared = true;
}

static void sched_resume(struct analysis *a, const struct coro *co, struct sched_coro *c,
			 const struct trace_event *ev)
{
	struct scheduling *s = &a->scheduling;
	struct sched_thread *t = &s->threads[a->model.thread_now];

	sched_note_user(t, co);
	if (!t->is_running && t->resumes && ev->ts > t->quiet_since + IDLE_LEAST)
		t->idle_ns += model_time(&a->model, co->pid, t->quiet_since, ev->ts);
	t->resumes++;
	sched_serve(s, t, co, c, ev->ts);
	sched_affinity(a, co, c, ev);
	if (co->reason == TRACE_REASON_YIELD || (co->woken_since && co->waker == co->probe_id))
		c->yield_place = co->place;
	sched_runs_after_burst(s, co, c);
	c->bounces += c->was_quick && c->ready_ts && !co->waker && co->woken_tid == ev->tid &&
		      co->reason == TRACE_REASON_UNKNOWN && ev->ts - co->since_ts < BOUNCE_NS;
	sched_not_ready(s, c);
	c->is_nested = t->depth++ > 0;
}

/*
 * A coroutine that runs at once when it is created: its first transition is a suspension.  One that
 * suspends where it is created has not run: it starts with its first resume.
 */
static void sched_ran_from_birth(const struct model *m, struct sched_thread *t,
				 const struct coro *co, struct sched_coro *c,
				 const struct trace_event *ev)
{
	if (!t->is_running && t->resumes && co->birth_ts > t->quiet_since + IDLE_LEAST)
		t->idle_ns += model_time(m, co->pid, t->quiet_since, co->birth_ts);
	if (!ev->site || ev->site == co->birth_site)
		return;
	c->ran_from_birth = true;
	c->is_nested = t->depth > 0;
	sched_note_user(t, co);
}

static void sched_slice_ends(const struct coro *co, struct sched_coro *c, uint64_t ts)
{
	uint64_t slice = ts > co->resumed_ts ? ts - co->resumed_ts : 0;

	c->was_quick = co->state == TRACE_STATE_RUNNING && slice < QUICK_NS;
	c->quick += c->was_quick;
	c->short_slices += co->state == TRACE_STATE_RUNNING && slice < SCHED_SHORT_NS;
}

int sched_add_transition(struct analysis *a, const struct coro *co, const struct trace_event *ev)
{
	struct scheduling *s = &a->scheduling;
	struct sched_coro *c;

	if (sched_make_room(a, co) < 0)
		return -ENOMEM;
	c = &s->coros[sched_number(a, co)];
	if (!co->resumes && !co->suspends && !co->tells_life)
		sched_forget(s, c);
	if (ev->is_active)
		sched_resume(a, co, c, ev);
	else if (!co->resumes && !co->suspends && co->tells_life)
		sched_ran_from_birth(&a->model, &s->threads[a->model.thread_now], co, c, ev);
	c->thread = a->model.thread_now + 1;
	s->threads[a->model.thread_now].quiet_since = ev->ts;
	s->threads[a->model.thread_now].is_running = ev->is_active;
	if (ev->is_active)
		return 0;
	/* The slice that began with a creation was not counted. */
	if (co->state == TRACE_STATE_RUNNING)
		s->threads[a->model.thread_now].depth -= s->threads[a->model.thread_now].depth > 0;
	sched_not_ready(s, c);
	sched_waits_again(s, c, ev);
	sched_slice_ends(co, c, ev->ts);
	if (c->woke_itself)
		sched_is_ready(a, c, ev->ts);
	else
		sched_has_yielded(s, c, ev->reason == TRACE_REASON_YIELD);
	c->woke_itself = false;
	return 0;
}

/* The coroutine ends: what it did on threads outlives it. */
static int sched_ended(struct analysis *a, const struct coro *co, const struct sched_coro *c)
{
	struct scheduling *s = &a->scheduling;

	if (co->state == TRACE_STATE_ENDED)
		return 0; /* destroyed after its end */
	if (sched_grow((void **)&s->kinds, &s->nr_kinds, co->spawn + 1, sizeof(*s->kinds)) < 0)
		return -ENOMEM;
	s->kinds[co->spawn].stayed += sched_stays(c);
	if (!c->strays && !c->moves)
		return 0;
	s->kinds[co->spawn].left++;
	if (!s->leavers)
		s->leavers = calloc(SCHED_LEAVERS, sizeof(*s->leavers));
	if (!s->leavers)
		return -ENOMEM;
	if (s->nr_leavers < SCHED_LEAVERS)
		s->leavers[s->nr_leavers++] = (struct sched_leaver){ *co, *c };
	return 0;
}

int sched_add_other(struct analysis *a, const struct coro *co, const struct trace_event *ev)
{
	struct scheduling *s = &a->scheduling;
	struct sched_coro *c;

	if (ev->kind != TRACE_BIRTH && ev->kind != TRACE_WAKE && ev->kind != TRACE_END &&
	    ev->kind != TRACE_DESTROY)
		return 0;
	if (sched_make_room(a, co) < 0)
		return -ENOMEM;
	c = &s->coros[sched_number(a, co)];
	if (ev->kind == TRACE_BIRTH) {
		sched_forget(s, c);
		return 0;
	}
	if (ev->kind == TRACE_WAKE) {
		/* Some SDKs do not record the first resume: it may run without one. */
		c->woke_itself |= co->state != TRACE_STATE_SUSPENDED && ev->peer == ev->probe_id;
		if (co->state != TRACE_STATE_SUSPENDED || ev->ts < co->since_ts || c->ready_ts)
			return 0;
		sched_is_ready(a, c, ev->ts);
		return sched_woken(a, co, c, ev);
	}
	sched_not_ready(s, c);
	if (co->state == TRACE_STATE_RUNNING) {
		s->threads[a->model.thread_now].quiet_since = ev->ts;
		s->threads[a->model.thread_now].is_running = false;
		s->threads[a->model.thread_now].depth -= s->threads[a->model.thread_now].depth > 0;
	}
	return sched_ended(a, co, c);
}

/* ---- for detectors ---------------------------------------------------------- */

const struct sched_coro *sched_coro_of(const struct analysis *a, const struct coro *co)
{
	static const struct sched_coro none;
	size_t number = sched_number(a, co);

	return number < a->scheduling.nr_coros ? &a->scheduling.coros[number] : &none;
}

const struct sched_thread *sched_thread_of(const struct analysis *a, const struct sched_coro *s)
{
	static const struct sched_thread none;

	return s->thread && s->thread <= a->scheduling.nr_threads
		       ? &a->scheduling.threads[s->thread - 1]
		       : &none;
}

const struct sched_thread *sched_thread_now(const struct analysis *a)
{
	static const struct sched_thread none;

	return a->model.thread_now < a->scheduling.nr_threads
		       ? &a->scheduling.threads[a->model.thread_now]
		       : &none;
}

static bool runs_coroutines(const struct analysis *a, uint32_t thread)
{
	return thread && a->scheduling.threads[thread - 1].resumes * 100 >= a->model.resumes;
}

uint64_t sched_overtakes(const struct analysis *a, const struct coro *co, uint32_t *thread)
{
	const struct scheduling *s = &a->scheduling;
	const struct sched_coro *c = sched_coro_of(a, co);
	uint64_t since, by_waker;

	*thread = 0;
	if (!c->ready_ts)
		return 0;
	since = s->served - c->all_then;
	if (runs_coroutines(a, c->thread)) {
		*thread = c->thread;
		since = s->threads[c->thread - 1].served - c->served_then;
	}
	if (runs_coroutines(a, c->waker)) {
		by_waker = s->threads[c->waker - 1].served - c->waker_then;
		*thread = by_waker < since ? c->waker : *thread;
		since = by_waker < since ? by_waker : since;
	}
	return since > c->backlog ? since - c->backlog : 0;
}

uint64_t sched_idle(const struct analysis *a, const struct coro *co, uint64_t ts)
{
	const struct sched_coro *c = sched_coro_of(a, co);
	const struct sched_thread *t = sched_thread_of(a, c);
	uint64_t idle = t->idle_ns - c->idle_then;

	if (!t->is_running && ts > t->quiet_since)
		idle += model_time(&a->model, co->pid, t->quiet_since, ts);
	return idle;
}

bool sched_is_lifo(const struct sched_thread *t)
{
	return t->newest_first >= 20 && t->newest_first >= 9 * t->others_first;
}

void sched_release(struct scheduling *s)
{
	free(s->threads);
	free(s->coros);
	free(s->bursts);
	free(s->kinds);
	free(s->leavers);
	*s = (struct scheduling){ 0 };
}
