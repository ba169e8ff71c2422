/* SPDX-License-Identifier: MIT */
/*
 * model.h - what a trace tells of a program, kept as it goes by: for detectors to look at.
 *
 * Memory is per coroutine that is there, per place, per kind of coroutine and per
 * resource that somebody waits for; never per event.
 *
 * States (field E.2)
 *   new -> running <-> suspended -> ended -> destroyed; woken and not yet run is "ready".
 *   A step that is none of these is counted with the coroutine, for detectors to judge.
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

#define MODEL_STEPS     6u    /* transitions that are remembered of a coroutine */
#define MODEL_PLACES    16384 /* told apart; all others are place 0 */
#define MODEL_SPAWNS    16384
#define MODEL_RESOURCES (1u << 20)
#define MODEL_WINDOWS   64
#define MODEL_OVERTAKES 8

#define MODEL_MS        UINT64_C(1000000)
#define MODEL_S         UINT64_C(1000000000)

/* Something that happened to a coroutine. */
struct step {
	uint64_t ts, tid;
	uint64_t addr; /* of a transition; of a wake, who did it */
	uint32_t site;
	uint8_t kind, reason;
};

/* A step that is none: how often, and the first. */
struct misstep {
	uint64_t nr, ts, tid, other_tid;
};

struct coro {
	uint64_t probe_id, parent;
	uint64_t birth_ts; /* 0: not told */
	uint64_t since_ts; /* of its state; of a suspended one that was woken, still the suspension
			    */
	uint64_t resumed_ts, tid; /* last resume, and the thread of its last transition */
	uint64_t addr, resource;
	uint64_t woken_ts, waker, woken_tid; /* last wake */
	uint64_t resumes_then;               /* of all coroutines, when it was woken */
	uint64_t suspends, resumes, migrations;
	uint64_t wakes, self_wakes, quick_yields;
	uint64_t next_seq;        /* transitions so far: what the slot's number should follow */
	uint64_t lost;            /* of its transitions, as far as known */
	uint64_t rival, rival_ts; /* waits for the same descriptor, since later; 0: none */
	uint64_t closed_ts;       /* what it waits for was closed then; 0: not so */
	uint64_t cut_off;         /* destroyed while it waited, after so long; 0: not so */
	uint32_t station, pid;
	uint32_t site, birth_site;
	uint32_t place;        /* where it waits, or waited last */
	uint32_t spawn;        /* its kind */
	uint32_t name;         /* 1 + the number in names; 0: none */
	uint8_t state, reason; /* enum trace_state, trace_reason */
	uint8_t nr_steps;      /* so far, up to MODEL_STEPS */
	uint8_t next_step;
	bool tells_life; /* its birth was told, so its end will be */
	bool in_use, has_resource, woken_since, loss_known, explained;
	struct misstep double_resume, after_end;
	struct step steps[MODEL_STEPS];
};

/* Where coroutines wait: a place in the source, or an address. */
struct wait_place {
	uint32_t site; /* 0: known by its address */
	uint64_t addr;
	struct histogram waits, ready, slices;
	uint64_t last_resumed_ts; /* of anybody who waited here */
	/* Of one that is known by its address: */
	uint64_t owner; /* the coroutine that waited here last */
	uint32_t pid;   /* its process, as far as known */
	bool is_shared; /* two coroutines waited here at the same time */
};

/* A kind of coroutine: born at one place, or with one name. */
struct spawn {
	uint32_t site, name;
	uint64_t born, ended, destroyed, alive;
	uint64_t resumes, migrations;
	uint32_t windows[MODEL_WINDOWS]; /* alive at the end of each */
};

/* Something that coroutines wait for: descriptor, lock, channel. */
struct resource {
	uint64_t waiter;                 /* 1 + number of the coroutine that began to wait last */
	uint64_t holder;                 /* its id, if told; 0: nobody */
	uint64_t begun[MODEL_OVERTAKES]; /* of the last waits that ended: when they had begun */
	uint32_t next_begun;
};

struct thread_count {
	uint64_t tid, resumes;
};

/* Called with the coroutine as it is: before a transition is added, and before it goes. */
struct model_hooks {
	void (*transition)(void *arg, struct coro *co, const struct trace_event *ev);
	void (*leaving)(void *arg, struct coro *co);
	void *arg;
};

/*
 * Somebody who keeps more than the model does.  Called when the model has taken the event
 * (of a destruction: before the coroutine goes); @taken is false for a transition that came
 * too late or after the end, which changes nothing.  @co is NULL for a wake of somebody who
 * is not there, @ev for a fact about @co that is no event.
 */
struct model_observer {
	int (*told)(void *arg, const struct coro *co, const struct trace_event *ev, bool taken);
	void *arg;
};

struct model {
	struct model_hooks hooks;       /* set by the owner */
	struct model_observer observer; /* likewise; told may be NULL */
	struct coro_ids ids;
	struct coro *coros;
	size_t nr_coros; /* there is room for */

	struct wait_place *places;
	struct wait_place
		*settled; /* their waits, of those that are one together; NULL: none are */
	size_t nr_places, places_room;
	struct u64map place_numbers; /* site, or address with the top bit, to the number */

	struct spawn *spawns;
	size_t nr_spawns, spawns_room;
	struct u64map spawn_numbers;

	struct resource *resources;
	size_t nr_resources, resources_room;
	struct u64map resource_numbers;

	struct strtab names;
	struct u64map threads; /* tid to 1 + number */
	struct thread_count *thread_counts;
	size_t nr_threads, threads_room;

	uint64_t events, others, kinds[NR_TRACE_KINDS];
	uint64_t first_ts, last_ts;
	uint64_t resumes, max_id;
	uint64_t told_suspends; /* that tell a place */
	uint64_t bare_suspends; /* that tell no place, only an address */
	uint64_t addresses;     /* of these: it looks like one */
	uint64_t own_addresses; /* settled: that belong to one coroutine, and are no places */
	uint64_t late;          /* events that came after later ones of their coroutine */
	uint64_t window_ns, window_end;
	unsigned nr_windows;

	/* Of events that are missing. */
	uint64_t nr_gaps, gap_to, gap_wakes_to;
	uint64_t skipped; /* transitions at least, as the numbers of the others tell */

	bool has_run, has_totals, is_ours;
	struct sidecar_totals totals;
	uint64_t end_ts; /* of the run, as far as known */
};

/* 0 or -ENOMEM. */
int model_add(struct model *m, const struct trace_item *item);
int model_add_event(struct model *m, const struct trace_event *ev);

/* After the last item. */
void model_finish(struct model *m);

void model_release(struct model *m);

/* A coroutine that is there, by its id; NULL if it is not. */
struct coro *model_find(const struct model *m, uint64_t probe_id);

/* "worker 7"; NULL: it has none. */
const char *model_name(const struct model *m, const struct coro *co);

/* So long in its state, when the run ended. */
static inline uint64_t model_age(const struct model *m, const struct coro *co)
{
	return m->end_ts > co->since_ts ? m->end_ts - co->since_ts : 0;
}

#endif
