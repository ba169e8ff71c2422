/* SPDX-License-Identifier: MIT */
/*
 * detector.h - what a detector is, and what it may ask.
 *
 * To add one: write detect_<name>.c with a `const struct detector detector_<name>` at
 * its end, declare it below and put it into the table in detector.c.  The order of the
 * table matters for those that explain why a coroutine is stuck: the first that has a
 * finding for it is the one that speaks.
 *
 * A detector never says more than the events support.  Whoever depends on something
 * *not* being in the trace goes through finding_doubt(): where events are missing that
 * could have been it, the finding is a suspicion at most, and says so (field E.4).
 */
#ifndef ANALYZE_DETECTOR_H
#define ANALYZE_DETECTOR_H

#include "analyze/finding.h"
#include "analyze/model.h"

struct analysis;

typedef void transition_hook(struct analysis *a, struct coro *co, const struct trace_event *ev);

struct detector {
	const char *name;    /* "lost-wakeup", as --fail-on has it */
	const char *code;    /* of field E.3 */
	const char *title;   /* "Lost wakeup" */
	const char *meaning; /* a sentence or two */
	const char *advice;  /* what to look at */
	bool is_fault;       /* worth failing a test, if it is sure enough */

	/* Each may be NULL.  Before the model has the event: @co is as it was. */
	transition_hook *on_suspend, *on_resume;
	/* The coroutine goes, or the trace is over. */
	void (*on_leave)(struct analysis *a, struct coro *co);
	/* It is suspended at the end of the trace, and nobody before in the table knew why. */
	void (*on_stuck)(struct analysis *a, struct coro *co);
	void (*on_finish)(struct analysis *a);
	/* After all: the whole group may be more, or less, than its parts. */
	void (*on_group)(const struct analysis *a, struct group *g);
};

extern const struct detector *const detectors[]; /* ends with NULL */

const struct detector *detector_find(const char *name);
unsigned detector_number(const struct detector *d);

/* ---- for detectors ------------------------------------------------------- */

#define FINDING_OF(d, coroutine)                                                      \
	{                                                                             \
		.detector = (d), .confidence = CONFIDENCE_SUSPECT, .co = (coroutine), \
		.place = (coroutine)->place, .spawn = (coroutine)->spawn,             \
		.ts = (coroutine)->since_ts,                                          \
	}

void finding_say(struct finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What could be missing that would make a difference. */
enum need {
	NEED_TRANSITIONS = 1, /* of the coroutine since it got into its state */
	NEED_WAKES = 2,       /* of it since then */
	NEED_LIVES = 4,       /* births and ends, of anybody */
};

/*
 * No surer than the gaps in the trace allow.  What the finding needs is kept with it: if the end
 * of the trace shows that events are missing, it becomes a suspicion then.
 */
void finding_doubt(const struct analysis *a, struct finding *f, unsigned needs);

void finding_report(struct analysis *a, const struct finding *f);

/* What waits of @co compare with: of its place, of all where no place is told; NULL: nothing. */
const struct wait_place *waits_to_compare(const struct analysis *a, const struct coro *co);

/*
 * The wait of @co is far longer than others at its place: ten times what 99 of 100 took,
 * @floor_ns at least, 20 of them at least; 10 s where there are fewer.
 */
bool wait_is_unusual(const struct analysis *a, const struct coro *co, uint64_t floor_ns);

/* Waits for the outside world: only that knows for how long. */
bool reason_is_external(unsigned reason);

/* It may wait as long as it likes: a timer that has not run out, accept, a signal. */
bool wait_may_be_long(const struct analysis *a, const struct coro *co);

const struct model *analysis_model(const struct analysis *a);
uint64_t analysis_min_age(const struct analysis *a);
bool analysis_of_a_test(const struct analysis *a);

extern const struct detector detector_deadlock, detector_closed, detector_wake_race,
	detector_lost_wakeup, detector_long_suspended, detector_at_exit, detector_leak,
	detector_never_destroyed, detector_destroyed_suspended, detector_blocking,
	detector_never_yielded, detector_busy_yield, detector_starvation, detector_imbalance,
	detector_migration, detector_double_resume, detector_after_end, detector_address;

#endif
