/* SPDX-License-Identifier: MIT */
/*
 * detect_busy_yield.c - a coroutine wakes itself again and again.
 *
 * Evidence: more than a thousand times a second it yields, or wakes itself, and most of its slices
 * are too short for useful work: strong.  Slices that are a little longer may be work that is done
 * in small pieces, or those of a program that is not optimized: a suspicion.  So is a coroutine
 * that code around it wakes at once, after such short slices: a runtime that keeps the wakes of
 * those that yield looks like this.
 */
#include <inttypes.h>

#include "analyze/analysis.h"

/* How often the coroutine polls, and how that is known. */
struct busy_polls {
	uint64_t times;
	const char *how, *doubt;
};

static struct busy_polls busy_polls_of(const struct coro *co, const struct sched_coro *c)
{
	/*
	 * A coroutine that works for longer in each slice yields to be fair, and does not poll.  A
	 * few slices may be long: the thread was preempted.
	 */
	bool is_short = c->short_slices * 4 >= co->suspends * 3;
	bool is_quick = c->quick * 2 > co->suspends;

	if (co->quick_yields * 2 > co->suspends)
		return (struct busy_polls){ co->quick_yields,
					    "yielded after less than a microsecond", NULL };
	if (co->self_wakes * 2 > co->wakes && (is_short || is_quick))
		return (struct busy_polls){ co->self_wakes, "was woken by itself",
					    is_quick ? NULL
						     : "most of its slices are long enough for "
						       "useful work" };
	if (co->short_yields * 2 > co->suspends)
		return (struct busy_polls){ co->short_yields, "yielded after less than 5 us",
					    "its slices are long enough for a little work" };
	if (c->bounces * 2 > co->suspends)
		return (struct busy_polls){ c->bounces,
					    "ran for less than 5 us and was then woken at once",
					    "code outside of all coroutines woke it, as a runtime "
					    "does after a yield" };
	return (struct busy_polls){ 0, NULL, NULL };
}

static void detect_busy_yield_on_leave(struct analysis *a, struct coro *co)
{
	const struct model *m = analysis_model(a);
	const struct sched_coro *c = sched_coro_of(a, co);
	struct finding f = FINDING_OF(&detector_busy_yield, co);
	uint64_t begin = co->birth_ts ? co->birth_ts : m->first_ts;
	/* Up to its last event: a coroutine that waits for something now does not poll now. */
	uint64_t life = model_time(m, co->pid, begin, co->since_ts) + 1;
	struct busy_polls polls = busy_polls_of(co, c);

	/* More than 1,000 per second, over at least 100 ms. */
	if (polls.times < 100 || life < 100 * MODEL_MS ||
	    (double)polls.times * 1e9 / (double)life < 1000)
		return;
	f.confidence = polls.doubt ? CONFIDENCE_SUSPECT : CONFIDENCE_STRONG;
	f.doubt = polls.doubt;
	if (c->yield_place)
		f.place = analysis_place(a, c->yield_place);
	f.size_ns = life;
	finding_say(&f, "%" PRIu64 " times in %.3f ms it %s", polls.times, (double)life / 1e6,
		    polls.how);
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
