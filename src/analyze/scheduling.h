/* SPDX-License-Identifier: MIT */
/*
 * scheduling.h - how the program's scheduler serves its coroutines: who was ready, since when, and
 * what each thread ran meanwhile.
 *
 * A coroutine is ready from its wake, or from a suspension with the reason `yield`, to its next
 * resume.  A generator yields a value and is not ready then: it is resumed by a coroutine that
 * runs, or woken by one that wants the next value.  If @backlog coroutines were ready before it, a
 * fair queue resumes these first; every further resume on its thread overtakes it.
 */
#ifndef ANALYZE_SCHEDULING_H
#define ANALYZE_SCHEDULING_H

#include "analyze/model.h"

struct analysis;

struct sched_thread {
	uint64_t resumes;
	uint64_t served;      /* of these: of coroutines that were ready, or had yielded */
	uint64_t quiet_since; /* time of its last transition or end */
	uint64_t only_id;     /* the coroutine that it ran first */
	bool is_shared;       /* it ran others, too */
	uint64_t idle_ns;     /* total of its times of a millisecond and more without a coroutine */
	bool is_running;      /* the last transition was a resume */
	uint32_t depth;       /* coroutines that run, each resumed by the one before */
	/* At the end of the trace: of those that run there, the one that was resumed last. */
	uint64_t runner, runner_ts;
	/*
	 * Resumes with others ready: of the one that became ready last, and of another.  Those that
	 * wait for long do not count: priorities pass over them whatever the order is.
	 */
	uint64_t newest_first, others_first;
};

/* A wait, to recognise it when it begins again. */
struct sched_wait {
	uint64_t resource, addr;
	uint32_t number, burst; /* of the burst that ended it: index in bursts, and its number */
	uint32_t site;
	uint8_t reason;
};

struct sched_coro {
	uint64_t ready_ts;     /* 0: not ready, as far as known */
	uint64_t served_then;  /* by its thread, when it became ready */
	uint64_t backlog;      /* coroutines that were ready then, or had yielded */
	uint64_t waker_then;   /* by the thread that woke it, then */
	uint64_t all_then;     /* by all threads, then */
	uint64_t idle_then;    /* idle_ns of its thread, then */
	uint64_t short_slices; /* of less than SCHED_SHORT_NS */
	uint64_t quick;        /* of these: too short for useful work */
	uint64_t bounces; /* after such a slice: woken at once, by code around it on its thread */
	/*
	 * Its resumes on its own thread (the first with three resumes), and elsewhere: inside of
	 * the thread that woke it, and otherwise.  Of the first: those woken by another thread.
	 */
	uint64_t home_resumes, strays, moves, handed;
	uint64_t stray_ts, stray_tid; /* the first one */
	uint32_t older, newer;        /* while ready: 1 + index of its neighbours in that order */
	uint32_t thread;              /* 1 + index of the thread of its last transition; 0: none */
	uint32_t home;                /* 1 + index of its own thread */
	uint32_t waker;               /* 1 + index of the thread that woke it */
	uint32_t burst;               /* number of the burst of wakes at its place that woke it */
	struct sched_wait burst_wait; /* the wait that the burst ended */
	uint32_t yield_place; /* of its last wait that it ended itself: a yield, or its own wake */
	bool had_burst;       /* it ran since, and has not shown what it waits for next */
	bool was_quick;       /* its last slice was too short for useful work */
	bool woke_itself;     /* while it runs: it will be ready when it suspends */
	bool has_yielded;     /* it is suspended with the reason yield, and may be ready */
	bool ran_from_birth;  /* its first slice began with its creation, without a resume */
	bool is_nested; /* its last slice was inside of another's: no queue of a thread has it */
};

/* Coroutines of one kind that never left their own thread, and that did. */
struct sched_kind {
	uint64_t stayed, left;
};

/* A coroutine that left its own thread and has ended since. */
struct sched_leaver {
	struct coro co;
	struct sched_coro sched;
};

#define SCHED_LEAVERS  64
#define SCHED_SHORT_NS 50000u

/* Waiters of one place that were woken within a moment. */
struct sched_burst {
	uint64_t first_ts, last_ts, resource;
	uint64_t waker, in_slice; /* of the current burst: who, and resumes of the thread then */
	uint32_t number, size;    /* of the current burst */
	bool is_over;             /* one of its coroutines has run */
	uint64_t nr, woken, back; /* of all large ones: how many, wakes, and waits begun again */
};

struct scheduling {
	struct sched_thread *threads; /* by index in model.thread_counts */
	size_t nr_threads;
	struct sched_coro *coros; /* by index in model.coros */
	size_t nr_coros;
	struct sched_burst *bursts; /* by place: at 2 * place, waits for locks after it */
	size_t nr_bursts;
	struct sched_kind *kinds; /* by kind: of coroutines that have ended */
	size_t nr_kinds;
	struct sched_leaver *leavers; /* SCHED_LEAVERS */
	unsigned nr_leavers;
	uint64_t served; /* by all threads */
	uint64_t nr_ready;
	uint64_t nr_yielded; /* coroutines that have yielded, and were not woken since */
	uint32_t newest;     /* 1 + index of the coroutine that became ready last and still is */
};

/* Called before the model applies the event.  0 or -ENOMEM. */
int sched_add_transition(struct analysis *a, const struct coro *co, const struct trace_event *ev);
int sched_add_other(struct analysis *a, const struct coro *co, const struct trace_event *ev);

/* For detectors; the results are all zero for a coroutine or thread without events. */
const struct sched_coro *sched_coro_of(const struct analysis *a, const struct coro *co);
const struct sched_thread *sched_thread_of(const struct analysis *a, const struct sched_coro *s);

/* The thread of the event that is being added. */
const struct sched_thread *sched_thread_now(const struct analysis *a);

/*
 * Coroutines that became ready after @co and ran before it; 0: none, or not known.  Counted on the
 * thread where it ran last and on the one that woke it, in whose queue it may be: the lower number.
 * A thread that runs no coroutines does not count; without any other, all threads do.  *@thread: 1
 * + the index of the thread that was counted; 0: all.
 */
uint64_t sched_overtakes(const struct analysis *a, const struct coro *co, uint32_t *thread);

/* Time up to @ts, since @co became ready, that its thread had no coroutine to run. */
uint64_t sched_idle(const struct analysis *a, const struct coro *co, uint64_t ts);

/* At least twenty resumes, all on its own thread. */
static inline bool sched_stays(const struct sched_coro *c)
{
	return !c->strays && !c->moves && c->home_resumes >= 20;
}

/* True if the thread resumes the newest ready coroutine first, in at least nine of ten cases. */
bool sched_is_lifo(const struct sched_thread *t);

void sched_release(struct scheduling *s);

#endif
