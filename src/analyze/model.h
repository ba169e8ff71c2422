/* SPDX-License-Identifier: MIT */
/*
 * model.h - the state of the traced program, updated event by event, for detectors.
 *
 * Memory grows with the coroutines alive, the places, the kinds of coroutines and the resources
 * that are waited for; never with the number of events.
 *
 * States
 *   new -> running <-> suspended -> ended -> destroyed; woken and not yet run is "ready".
 *   Any other step is counted with the coroutine, for detectors to evaluate.
 */
#ifndef ANALYZE_MODEL_H
#define ANALYZE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/histogram.h"
#include "base/strtab.h"
#include "base/u64map.h"
#include "trace/coro_ids.h"
#include "trace/item.h"
#include "trace/trace_context.h"

#define MODEL_STEPS     6u    /* last events kept per coroutine */
#define MODEL_PLACES    16384 /* distinct places; all others are place 0 */
#define MODEL_SPAWNS    16384
#define MODEL_RESOURCES (1u << 20)
#define MODEL_WINDOWS   64
#define MODEL_OVERTAKES 8
#define MODEL_HOLDERS   8   /* holders of one lock or semaphore that are known by id */
#define MODEL_PARTNERS  4   /* coroutines known to wake the waiters of one resource */
#define MODEL_RHYTHMS   3   /* places per coroutine whose waits are counted */
#define MODEL_WAKERS    2   /* kinds per coroutine whose wakes are counted */
#define MODEL_TICKS     64  /* latest times of activity */
#define MODEL_CANCELLED 256 /* long waits that were cancelled or ended, the last ones */
#define MODEL_DEPARTED  64  /* coroutines that were destroyed last */

#define MODEL_MS        UINT64_C(1000000)
#define MODEL_S         UINT64_C(1000000000)
#define MODEL_TICK      (10 * MODEL_MS)
#define MODEL_IDLE      MODEL_MS

/* One event of a coroutine. */
struct step {
	uint64_t ts, tid;
	uint64_t addr; /* of a transition; of a wake: the waker's id */
	uint32_t site;
	uint8_t kind, reason;
};

/* An invalid step: its count, and the first occurrence. */
struct misstep {
	uint64_t nr, ts, tid, other_tid;
};

/* The waits of one coroutine at one place that have ended. */
struct rhythm {
	uint64_t longest_ns, second_ns; /* one may be a stop of the whole program */
	uint32_t place, nr;
};

/* Wakes of one coroutine by one kind of coroutine, or by code outside of all coroutines. */
struct wake_source {
	uint64_t last_id, last_ts; /* id 0: outside */
	uint32_t spawn, site, nr;  /* site: of the last wake */
	/* Resumes of the waker at its last wake, and the most between two of its wakes. */
	uint32_t resumes_then, most_apart;
	bool is_outside;
	bool is_mixed; /* several coroutines of one kind */
	bool is_least; /* earlier wakes may have been forgotten: nr is a lower bound */
};

/* The last waker of a suspended coroutine was dropped: nothing can wake it. */
struct unreachable {
	uint64_t ts, tid; /* ts 0: not recorded, or not valid any more */
	uint64_t by;      /* the coroutine that ran on that thread; 0: unknown */
	uint32_t seen;    /* transitions of the coroutine so far */
	bool is_inner;    /* another coroutine may poll it without a wake */
};

struct coro {
	uint64_t probe_id, parent;
	uint64_t birth_ts;        /* 0: not recorded */
	uint64_t since_ts;        /* begin of the state; a wake does not change it */
	uint64_t resumed_ts, tid; /* last resume; thread of the last transition */
	uint64_t addr, resource;
	uint64_t woken_ts, waker, woken_tid; /* last wake */
	uint64_t resumes_then;               /* resumes of all coroutines when it was woken */
	uint64_t suspends, resumes, migrations;
	uint64_t wakes, self_wakes;
	uint64_t quick_yields, short_yields;      /* after less than 1 and less than 5 us */
	uint64_t longest_wait_ns, second_wait_ns; /* of its waits that have ended */
	uint64_t children;        /* coroutines that it created and that have not ended */
	uint64_t next_seq;        /* transitions so far: expected value of the slot's number */
	uint64_t lost;            /* lost transitions, as far as known */
	uint64_t rival, rival_ts; /* a later waiter for the same descriptor; 0: none */
	uint64_t idle_then;       /* time during which no coroutine ran, when it was woken */
	uint64_t left_ts;         /* for an entry of cancelled: when its wait ended */
	uint64_t cut_off;         /* wait until it was destroyed while suspended; 0: was not */
	uint32_t station, pid;
	uint32_t site, birth_site;
	uint32_t place;        /* current or last place of a wait */
	uint32_t await_place;  /* of a wait without a site: what the collector found; 0: none */
	uint32_t spawn;        /* kind, index in spawns */
	uint32_t name;         /* 1 + index in names; 0: none */
	uint8_t state, reason; /* enum trace_state, trace_reason */
	uint8_t nr_steps;      /* valid entries in steps, up to MODEL_STEPS */
	uint8_t next_step;
	bool tells_life; /* its creation was recorded, so its end will be, too */
	bool is_adopted; /* created before the program attached: its age is unknown */
	bool in_use, has_resource, woken_since, loss_known, explained;
	bool woken_early; /* woken while it ran, before its current or last suspension */
	bool was_cancelled;
	bool has_acted;  /* it created or woke another one, or took a lock: so it has run */
	uint8_t verdict; /* for the detector of deadlocks */
	struct unreachable unreachable;
	struct rhythm rhythms[MODEL_RHYTHMS];
	struct wake_source wakers[MODEL_WAKERS];
	struct misstep double_resume, after_end;
	struct step steps[MODEL_STEPS];
};

/* The place that a finding about the coroutine names. */
static inline uint32_t coro_shown_place(const struct coro *co)
{
	return co->await_place ? co->await_place : co->place;
}

/* A place where coroutines wait: a site, or an address without a site. */
struct wait_place {
	uint32_t site; /* 0: identified by its address */
	uint64_t addr;
	struct histogram waits, ready, slices;
	uint64_t last_resumed_ts; /* of any coroutine that waited here */
	/* Only for a place identified by its address: */
	uint64_t owner; /* the coroutine that waited here last */
	uint32_t pid;   /* of the owner, as far as known */
	uint32_t spawn; /* kind of the owner */
	bool is_mixed;  /* owners were of several kinds */
	bool is_shared; /* two coroutines waited here at the same time */
};

/* A kind of coroutine: created at one site, or with one name. */
struct spawn {
	uint32_t site, name;
	uint64_t born, ended, destroyed, alive;
	uint64_t resumes, migrations;
	uint64_t emptied; /* times that the last one of them ended */
	uint64_t last_end_ts;
	struct histogram lives;          /* of those that have ended */
	uint64_t idle;                   /* have not moved for long; set by the detector of leaks */
	bool is_leaking;                 /* likewise */
	uint32_t windows[MODEL_WINDOWS]; /* number alive at the end of each window */
};

/* One use of a resource: by whom, when and where. */
struct touch {
	uint64_t id, ts; /* id 0: outside of all coroutines; ts 0: never */
	uint32_t name, site;
};

/* What coroutines did with a resource apart from waiting for it. */
struct resource_use {
	struct touch holders[MODEL_HOLDERS];   /* that have not released it, the oldest first */
	uint32_t nr_holders, more_holders;     /* more: beyond the table */
	struct touch taken, released, closed;  /* the last of each */
	struct touch partners[MODEL_PARTNERS]; /* coroutines that woke a waiter, or wait to */
	uint64_t taken_nr, taken_again;        /* acquires; and those by one of its holders */
	uint8_t nr_partners;
	bool more_partners;
	bool is_passed_on; /* a coroutine released it that did not take it: holders are unknown */
};

/* A resource that coroutines wait for: descriptor, lock, channel. */
struct resource {
	uint64_t waiter;                 /* 1 + index of the coroutine that began to wait last */
	uint64_t began;                  /* id of the coroutine that began to wait last */
	uint64_t begun[MODEL_OVERTAKES]; /* start times of the last waits that ended */
	uint32_t next_begun;
	uint32_t use;       /* 1 + index in uses; 0: none */
	bool woken_outside; /* code outside of all coroutines woke a waiter */
};

struct thread_count {
	uint64_t tid, resumes;
	uint64_t current; /* the coroutine that runs there; 0: none, or unknown */
};

/*
 * Called with the current state of the coroutine: before a transition or another event is applied,
 * and before the coroutine is removed.
 */
struct model_hooks {
	void (*transition)(void *arg, struct coro *co, const struct trace_event *ev);
	void (*other)(void *arg, struct coro *co, const struct trace_event *ev);
	void (*leaving)(void *arg, struct coro *co);
	void *arg;
};

/*
 * For a user that keeps more state than the model.  Called after the model has applied the event
 * (for a destroy: before the coroutine is removed).  @taken is false for a transition that came too
 * late or after the end, and was not applied.  @co is NULL for a wake of an unknown coroutine; @ev
 * is NULL for data about @co that is not an event.
 */
struct model_observer {
	int (*told)(void *arg, const struct coro *co, const struct trace_event *ev, bool taken);
	void *arg;
};

struct cpu_samples;

struct model {
	struct model_hooks hooks;       /* set by the owner */
	struct model_observer observer; /* likewise; its callback may be NULL */
	const struct cpu_samples *cpu;  /* likewise: stops of the processes; NULL: none known */
	struct coro_ids ids;
	struct coro *coros;
	size_t nr_coros; /* allocated entries */

	struct wait_place *places;
	struct wait_place *settled; /* waits of merged places; NULL: no places were merged */
	size_t nr_settled;
	size_t nr_places, places_room;
	struct u64map place_numbers; /* site with the top bit set, or address, to index */

	struct spawn *spawns;
	size_t nr_spawns, spawns_room;
	struct u64map spawn_numbers;

	struct resource *resources;
	size_t nr_resources, resources_room;
	struct u64map resource_numbers;
	struct resource_use *uses;
	size_t nr_uses, uses_room;

	struct strtab names;
	struct u64map threads; /* tid to 1 + index */
	struct thread_count *thread_counts;
	size_t nr_threads, threads_room;
	uint32_t thread_now; /* index of the thread of the event that is being added */

	struct context_table contexts;

	uint64_t events, others, kinds[NR_TRACE_KINDS];
	uint64_t first_ts, last_ts;
	uint64_t resumes, max_id;
	uint64_t told_suspends; /* with a site */
	uint64_t bare_suspends; /* without a site, with an address only */
	uint64_t addresses;     /* of these: plausible addresses */
	uint64_t own_addresses; /* settled: each belongs to one coroutine, so it is not a place */
	uint64_t late;          /* events older than an earlier event of their coroutine */
	uint64_t running;       /* coroutines that run */
	uint64_t idle_since;    /* no coroutine runs since then; 0: one runs */
	uint64_t idle_ns;       /* total of the times of more than MODEL_IDLE without a run */
	uint64_t longest_idle, second_idle; /* the longest of these */
	uint64_t ticks[MODEL_TICKS]; /* latest times with a resume, at least MODEL_TICK apart */
	uint64_t nr_ticks;
	struct touch departed[MODEL_DEPARTED]; /* destroyed coroutines, the last ones */
	uint64_t nr_departed;
	struct coro *cancelled; /* copies, as they were while suspended; NULL: none */
	uint64_t nr_cancelled;  /* in total; the last MODEL_CANCELLED are kept */
	uint64_t last_birth_ts;
	uint64_t early_used;   /* early wakes after which the coroutine continued without another */
	uint64_t early_unused; /* early wakes that had no effect: another wake was needed */
	uint64_t window_ns, window_end;
	unsigned nr_windows;
	uint64_t windows_active; /* a bit for each: an event came */
	bool window_has_event;   /* the one that is not closed yet */

	/* Missing events. */
	uint64_t nr_gaps, gap_to, gap_wakes_to;
	uint64_t skipped; /* at least this many lost transitions, by sequence numbers */

	bool has_run, has_totals, is_ours;
	bool has_ended; /* the trace goes to the end of the program, not to a detach */
	struct sidecar_totals totals;
	uint64_t end_ts; /* end of the run, as far as known */
};

/* 0 or -ENOMEM. */
int model_add(struct model *m, const struct trace_item *item);
int model_add_event(struct model *m, const struct trace_event *ev);

/* Call after the last item. */
void model_finish(struct model *m);

void model_release(struct model *m);

/* Find a coroutine that is not destroyed, by its id; NULL: none. */
struct coro *model_find(const struct model *m, uint64_t probe_id);

/* "worker 7"; NULL: no name. */
const char *model_name(const struct model *m, const struct coro *co);

/*
 * Number of times, at least MODEL_TICK apart, at which a coroutine was resumed after @ts; counts up
 * to MODEL_TICKS.  A program that was stopped meanwhile has none: a length of time alone does not
 * show that it went on.
 */
unsigned model_activity(const struct model *m, uint64_t ts);

/* Time during which no coroutine ran, up to the end of the trace. */
uint64_t model_idle(const struct model *m);

/* The number of entries of m->cancelled. */
static inline size_t model_nr_cancelled(const struct model *m)
{
	return m->nr_cancelled < MODEL_CANCELLED ? (size_t)m->nr_cancelled : MODEL_CANCELLED;
}

/* The time of the end of @id, and its name; NULL: not among the last ones that were destroyed. */
const struct touch *model_departed(const struct model *m, uint64_t id);

/* True if the coroutine has ended, or does not exist any more. */
bool model_has_ended(const struct model *m, uint64_t id);

/* The child that @co waits for, if it has not ended; NULL: none. */
const struct coro *model_child(const struct model *m, const struct coro *co);

/* The waits of @co at its place that have ended; NULL: none. */
const struct rhythm *model_rhythm(const struct coro *co);

/* True if no waker of @co, which is suspended, exists any more. */
bool model_is_unreachable(const struct coro *co);

/* The source of most wakes of @co; NULL: it was never woken. */
const struct wake_source *model_waker(const struct coro *co);

/*
 * Time between the two in which process @pid could run: without the time that it was stopped
 * (SIGSTOP, a debugger).  @pid 0: any process.  0 if @to_ts is not later.
 */
uint64_t model_time(const struct model *m, uint32_t pid, uint64_t from_ts, uint64_t to_ts);

/* The same from @ts to the end of the run, for the process of @co. */
uint64_t model_time_since(const struct model *m, const struct coro *co, uint64_t ts);

/*
 * Time of @co in its state at the end of the run, without stops.  Judge by this one: model_age() is
 * for printing.
 */
uint64_t model_waited(const struct model *m, const struct coro *co);

/* Time in its state at the end of the run. */
static inline uint64_t model_age(const struct model *m, const struct coro *co)
{
	return m->end_ts > co->since_ts ? m->end_ts - co->since_ts : 0;
}

#endif
