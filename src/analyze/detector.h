/* SPDX-License-Identifier: MIT */
/*
 * detector.h - the interface of a detector, and the queries it may use.
 *
 * To add a detector: write detect_<name>.c with a `const struct detector detector_<name>` at its
 * end, declare it below and add it to the table in detector.c.  The order of the table matters for
 * detectors that explain why a coroutine is stuck: only the first one with a finding reports it.
 *
 * A detector never claims more than the events support.  A detector that relies on something *not*
 * being in the trace calls finding_doubt(): if events are missing that could have been that
 * something, the finding is at most a suspicion, and says why.
 */
#ifndef ANALYZE_DETECTOR_H
#define ANALYZE_DETECTOR_H

#include "analyze/finding.h"
#include "analyze/model.h"

struct analysis;

typedef void transition_hook(struct analysis *a, struct coro *co, const struct trace_event *ev);

struct detector {
	const char *name;    /* "lost-wakeup", as in --fail-on */
	const char *code;    /* "L2", or several: "L5, L7" */
	const char *title;   /* "Lost wakeup" */
	const char *meaning; /* a sentence or two */
	const char *advice;  /* what to check */
	bool is_fault;       /* may fail a test, if the confidence is high enough */
	bool is_suspicion;   /* its findings are suspicions at most */

	/*
	 * Each hook may be NULL. The transition hooks run before the model applies the event: @co
	 * has its previous state.
	 */
	transition_hook *on_suspend, *on_resume;
	/* The coroutine is destroyed, or the trace ends. */
	void (*on_leave)(struct analysis *a, struct coro *co);
	/*
	 * The coroutine is suspended at the end of the trace, and no earlier detector in the table
	 * explained it.
	 */
	void (*on_stuck)(struct analysis *a, struct coro *co);
	void (*on_finish)(struct analysis *a);
	/* Runs last: the confidence of a group may differ from that of its findings. */
	void (*on_group)(const struct analysis *a, struct group *g);
};

extern const struct detector *const detectors[]; /* NULL-terminated */

const struct detector *detector_find(const char *name);
unsigned detector_number(const struct detector *d);

/* ---- for detectors ------------------------------------------------------- */

#define FINDING_OF(d, coroutine)                                                      \
	{                                                                             \
		.detector = (d), .confidence = CONFIDENCE_SUSPECT, .co = (coroutine), \
		.place = coro_shown_place(coroutine), .spawn = (coroutine)->spawn,    \
		.ts = (coroutine)->since_ts,                                          \
	}

void finding_say(struct finding *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Events whose loss would change a finding. */
enum need {
	NEED_TRANSITIONS = 1, /* of the coroutine, since it entered its state */
	NEED_WAKES = 2,       /* of the coroutine, since then */
	NEED_LIVES = 4,       /* creations and ends, of any coroutine */
};

/*
 * Lower the confidence as far as gaps in the trace require.  The needs are stored with the finding:
 * if the end of the trace shows that events are missing, the finding becomes a suspicion then.
 */
void finding_doubt(const struct analysis *a, struct finding *f, unsigned needs);

/* Sets f->seen_ts, if it is not set: to the end of the trace, or to the event that is looked at. */
void finding_report(struct analysis *a, struct finding *f);

/*
 * After finding_report(), for a finding about several coroutines (a ring, a leak): name each.  The
 * coroutine of the finding itself is named without it.
 */
void finding_add_affected(struct analysis *a, const struct finding *f, const struct coro *co);

/*
 * The waits to compare @co with: those of its place, or all if the trace has no places; NULL: none.
 */
const struct wait_place *waits_to_compare(const struct analysis *a, const struct coro *co);

/* 95 of 100 waits at @p were not longer.  Some are: the program may have been stopped meanwhile. */
uint64_t wait_usual_ns(const struct wait_place *p);

/*
 * True if the wait of @co is far longer than others at its place: longer than ten times
 * wait_usual_ns(), or than 10 s if there are fewer than 20 waits, and longer than @floor_ns.
 */
bool wait_is_unusual(const struct analysis *a, const struct coro *co, uint64_t floor_ns);

/*
 * The shortest wait of @co that is long in this run: the minimum age, or a third of a shorter run,
 * but not less than 300 ms; 300 ms in a short run in which others were active all the time.  If
 * nothing ran since @co was suspended, the program may have been stopped: then a tenth more than
 * the minimum age.
 */
uint64_t wait_floor(const struct analysis *a, const struct coro *co);

/*
 * True if @co itself used to wait much shorter: five times at its place or ten times anywhere, each
 * less than a twentieth of this wait, or twice at its place, less than a fiftieth; and this one is
 * longer than @floor_ns.  Fills @earlier, which may be NULL.
 */
bool wait_breaks_rhythm(const struct analysis *a, const struct coro *co, uint64_t floor_ns,
			struct rhythm *earlier);

/*
 * True if nothing ran during most of the wait of @co, up to the end, and another coroutine is the
 * evident cause: it was woken and not run, for example.
 */
bool wait_is_consequence(const struct analysis *a, const struct coro *co);

/* True if later waiters of the same channel are served: one of a pool that is not needed. */
bool wait_is_in_a_pool(const struct analysis *a, const struct coro *co);

/*
 * True if another coroutine is the reason that @co waits: the child that it joins (any child, if it
 * does not say which), or the holder of its lock.  Then that one has to be explained, and not @co.
 */
bool wait_has_cause(const struct analysis *a, const struct coro *co);

/* What the trace shows about the resource, the wakers and the earlier waits of f->co, as lines. */
void evidence_add(const struct analysis *a, struct finding *f, const struct coro *co);

/* "coroutine 7 'reader 3'", or "code outside of all coroutines" for id 0. */
#define EVIDENCE_WHO 96
const char *evidence_who(const struct model *m, uint64_t id, uint32_t name, char buf[EVIDENCE_WHO]);

/* What @co waits for: "mutex 0x1000"; the reason alone without a resource. */
#define EVIDENCE_WHAT 48
const char *evidence_what(const struct coro *co, char buf[EVIDENCE_WHAT]);

/* Evidence that @co should have been woken, other than the length of its wait; fills @f. */
bool lost_wakeup_is_evident(struct analysis *a, const struct coro *co, struct finding *f);

/* True if a comparison with others of its kind, or with its own waits, explains @co. */
bool lost_wakeup_is_likely(struct analysis *a, const struct coro *co);

/* The wait depends on the outside world, so its length is unbounded. */
bool reason_is_external(unsigned reason);

/* The wait may be arbitrarily long: a timer that has not expired, accept, a signal. */
bool wait_may_be_long(const struct analysis *a, const struct coro *co);

const struct model *analysis_model(const struct analysis *a);
uint64_t analysis_min_age(const struct analysis *a);
bool analysis_of_a_test(const struct analysis *a);

extern const struct detector detector_deadlock, detector_abandoned_lock, detector_closed,
	detector_never_run, detector_wake_race, detector_stalled, detector_lost_wakeup,
	detector_long_suspended, detector_at_exit, detector_leak, detector_never_destroyed,
	detector_destroyed_suspended, detector_blocking, detector_never_yielded,
	detector_busy_yield, detector_starvation, detector_imbalance, detector_migration,
	detector_double_resume, detector_after_end, detector_address;

/* About how threads are used, and ready coroutines are served. */
extern const struct detector detector_unfair_order, detector_herd, detector_wrong_thread;

#endif
