/* SPDX-License-Identifier: MIT */
/*
 * event.h - one event of a coroutine or of a resource, as a trace holds it.
 *
 * Every cTP writer reports transitions (suspend, resume); a plain trace has nothing else.
 * Programs that use the corotracer extensions also report birth, wake and end events, and for a
 * suspension the site, the reason and the resource.  A member that was not reported is 0.
 */
#ifndef TRACE_EVENT_H
#define TRACE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_NO_STATION UINT32_MAX

/*
 * A collector that reads a slot at the wrong offset finds the is_active byte in the top byte of
 * ts: 2^56, which as a time is two years of uptime to the nanosecond.  No valid time has all of
 * these bits clear.
 */
#define TRACE_TS_LOW UINT64_C(0xffffffffffff)

/* The first two are the transitions, and their values equal is_active. */
enum trace_kind {
	TRACE_SUSPEND,
	TRACE_RESUME,
	TRACE_BIRTH,
	TRACE_WAKE,    /* the coroutine was made ready to run; it may not have suspended yet */
	TRACE_END,     /* it returned or was abandoned: no transition follows */
	TRACE_DESTROY, /* its frame is freed */
	/* Events of a resource, by a coroutine or (probe_id 0) by no coroutine: */
	TRACE_CLOSE,   /* waiting for it never succeeds from now on */
	TRACE_ACQUIRE, /* probe_id holds it from now on */
	TRACE_RELEASE,
	TRACE_CONTEXT, /* what the coroutine does from now on is part of a trace of the user */
	NR_TRACE_KINDS,
};

/* Why a coroutine waits, or (for a wake) the source of the wake. */
enum trace_reason {
	TRACE_REASON_UNKNOWN,
	TRACE_REASON_IO_READ,
	TRACE_REASON_IO_WRITE,
	TRACE_REASON_ACCEPT,
	TRACE_REASON_CONNECT,
	TRACE_REASON_TIMER,
	TRACE_REASON_MUTEX,
	TRACE_REASON_SEMAPHORE,
	TRACE_REASON_CHANNEL_SEND,
	TRACE_REASON_CHANNEL_RECV,
	TRACE_REASON_JOIN,
	TRACE_REASON_YIELD,
	TRACE_REASON_SIGNAL,
	TRACE_REASON_USER,
	NR_TRACE_REASONS,
};

enum trace_flag {
	TRACE_HAS_RESOURCE = 1,  /* resource is set; it may be 0 (file descriptor 0) */
	TRACE_DESTROYED = 2,     /* for an end: the frame was freed with it, no destroy follows */
	TRACE_NAME_CUT = 4,      /* for a birth: the name was longer */
	TRACE_WAS_SUSPENDED = 8, /* for an end or destroy: the coroutine was suspended */
	TRACE_CANCELLED = 16,    /* for an end: the coroutine was cancelled before it returned */
	TRACE_ADOPTED = 32,      /* for a birth: created earlier, before the program attached */
};

struct trace_event {
	uint64_t probe_id; /* the coroutine; for a wake, the coroutine that is woken */
	uint64_t tid;      /* the thread that caused the event */
	uint64_t addr;
	uint64_t seq; /* for a transition, of its slot: repeats across slots, order by ts */
	uint64_t ts;  /* CLOCK_MONOTONIC ns */
	bool is_active;
	uint8_t kind;   /* enum trace_kind */
	uint8_t reason; /* enum trace_reason, for a suspend or a wake */
	uint8_t flags;  /* enum trace_flag */
	/*
	 * The station that the event came from, where probe_id alone does not identify the
	 * coroutine; TRACE_NO_STATION otherwise.
	 */
	uint32_t station;
	uint32_t site; /* number in the site table of the trace; 0: not reported */
	uint32_t pid;  /* for a birth */
	/* what it waits on: descriptor, lock, deadline of a timer, child; for a context: span id */
	uint64_t resource;
	uint64_t peer; /* for a birth the parent, for a wake the waker; 0: none */
	/* for a wake: the number of transitions of its target that the waker saw; for a context:
	 * trace flags */
	uint32_t seen;
	uint32_t name_size;
	const char *name; /* for a birth; not terminated, valid as long as the event is */
	uint64_t written; /* for the last end or destroy: number of transitions, */
	uint64_t lost;    /* and how many of these were lost; for a context: trace id, both */
};

/*
 * Initializes an event with no member reported.  Assigns field by field: compilers turn a
 * struct assignment into "rep stos", which takes longer than the rest of an event.
 */
static inline void trace_event_init(struct trace_event *ev)
{
	ev->probe_id = ev->tid = ev->addr = ev->seq = ev->ts = 0;
	ev->is_active = false;
	ev->kind = ev->reason = ev->flags = 0;
	ev->station = TRACE_NO_STATION;
	ev->site = ev->pid = 0;
	ev->resource = ev->peer = 0;
	ev->seen = ev->name_size = 0;
	ev->name = NULL;
	ev->written = ev->lost = 0;
}

/* The event is about a resource; the coroutine, if there is one, is only the cause. */
static inline bool trace_is_of_resource(const struct trace_event *ev)
{
	return ev->kind >= TRACE_CLOSE && ev->kind <= TRACE_RELEASE;
}

/*
 * A release with one of these in the upper half of its resource is not of a lock: the coroutine is
 * suspended, and no waker of it exists any more.  The lower half is its number of transitions.
 */
#define TRACE_WAKERS_DROPPED       0x57414b45u
#define TRACE_WAKERS_DROPPED_INNER 0x57414b49u /* polled inside another traced coroutine */

static inline bool trace_is_wakers_dropped(const struct trace_event *ev)
{
	uint64_t mark = ev->resource >> 32;

	return ev->kind == TRACE_RELEASE &&
	       (mark == TRACE_WAKERS_DROPPED || mark == TRACE_WAKERS_DROPPED_INNER);
}

static inline bool trace_is_transition(const struct trace_event *ev)
{
	return ev->kind <= TRACE_RESUME;
}

/* "suspend", "io-read"; NULL for an unknown value.  And back: -1 for an unknown name. */
const char *trace_kind_name(unsigned kind);
const char *trace_reason_name(unsigned reason);
int trace_reason_from_name(const char *name);

/* Returns the kind whose name is the first @size bytes of @name; -1 for an unknown name. */
int trace_kind_from_name(const char *name, size_t size);

/*
 * Returns NULL, or why the event cannot be a transition: a slot that was never written or was
 * read at a wrong offset, as older collectors left them in traces.  probe_id 0 is valid: a
 * program may number its coroutines from 0.
 */
const char *trace_event_problem(const struct trace_event *ev);

/* The negation of trace_event_problem(), for callers that need no reason. */
static inline bool trace_event_is_possible(const struct trace_event *ev)
{
	return (ev->ts & TRACE_TS_LOW) && ev->seq && ev->tid <= INT32_MAX;
}

#endif
