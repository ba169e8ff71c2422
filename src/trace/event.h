/* SPDX-License-Identifier: MIT */
/*
 * event.h - one thing that happened to one coroutine, as a trace holds it.
 *
 * Transitions (suspended, running again) are what every cTP writer tells, and all that
 * a plain trace has.  Programs that know our extensions tell more: births, wakes, ends,
 * and of a suspension where, why and on what.  What was not told is 0.
 */
#ifndef TRACE_EVENT_H
#define TRACE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_NO_STATION UINT32_MAX

/*
 * A collector that read a slot from the wrong place has the is_active byte where the
 * top of ts is: 2^56, or two years of uptime to the nanosecond.  No time has these
 * bits all clear.
 */
#define TRACE_TS_LOW UINT64_C(0xffffffffffff)

/* The first two are the transitions, and equal is_active. */
enum trace_kind {
	TRACE_SUSPEND,
	TRACE_RESUME,
	TRACE_BIRTH,
	TRACE_WAKE,    /* somebody made it ready to run; it may not even have suspended yet */
	TRACE_END,     /* it returned, or was given up: no transition follows */
	TRACE_DESTROY, /* its frame is gone */
	/* Of a resource, by a coroutine or (probe_id 0) by none: */
	TRACE_CLOSE,   /* whoever waits for it waits in vain */
	TRACE_ACQUIRE, /* probe_id holds it now */
	TRACE_RELEASE,
	NR_TRACE_KINDS,
};

/* Why it waits, or (of a wake) where the wake came from. */
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
	TRACE_HAS_RESOURCE = 1,  /* resource was told; it may be 0 (a file descriptor is) */
	TRACE_DESTROYED = 2,     /* of an end: the frame went with it, no destroy follows */
	TRACE_NAME_CUT = 4,      /* of a birth: the name was longer */
	TRACE_WAS_SUSPENDED = 8, /* of an end or destroy: it was suspended then */
	TRACE_CANCELLED = 16,    /* of an end: it did not come to its own */
};

struct trace_event {
	uint64_t probe_id; /* whom it happened to: of a wake, the one that is woken */
	uint64_t tid;      /* the thread that did it */
	uint64_t addr;
	uint64_t seq; /* of a transition, the slot's: it repeats across slots, order by ts */
	uint64_t ts;  /* CLOCK_MONOTONIC ns */
	bool is_active;
	uint8_t kind;   /* enum trace_kind */
	uint8_t reason; /* enum trace_reason: of a suspend or a wake */
	uint8_t flags;  /* enum trace_flag */
	/*
	 * Which station the event came from, where probe_id alone does not tell two
	 * coroutines apart; TRACE_NO_STATION otherwise.
	 */
	uint32_t station;
	uint32_t site;     /* number in the trace's site table; 0: not told */
	uint32_t pid;      /* of a birth */
	uint64_t resource; /* fd, lock, timer's deadline, child: what it waits on */
	uint64_t peer;     /* of a birth the parent, of a wake the waker; 0: none */
	/* of a wake: how many transitions its target had made by then, as the waker saw it */
	uint32_t seen;
	uint32_t name_size;
	const char *name; /* of a birth; not terminated, valid as long as the event is */
	uint64_t written; /* of an end or destroy that is the last: transitions in all, */
	uint64_t lost;    /* and of these lost */
};

/*
 * An event of which nothing was told.  Field by field: compilers make "rep stos" of a
 * struct assigned at once, which takes longer than the rest of an event.
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

/* Of a resource, and of a coroutine only so far as one did it. */
static inline bool trace_is_of_resource(const struct trace_event *ev)
{
	return ev->kind >= TRACE_CLOSE && ev->kind <= TRACE_RELEASE;
}

static inline bool trace_is_transition(const struct trace_event *ev)
{
	return ev->kind <= TRACE_RESUME;
}

/* "suspend", "io-read"; NULL for what is none.  And back: -1 for what is none. */
const char *trace_kind_name(unsigned kind);
const char *trace_reason_name(unsigned reason);
int trace_reason_from_name(const char *name);

/* The kind whose name is the first @size bytes of @name; -1 for what is none. */
int trace_kind_from_name(const char *name, size_t size);

/*
 * NULL, or why this cannot be a transition: records that were never written, or read
 * from the wrong place, as older collectors left them in traces.  Whether probe_id
 * is 0 says nothing; a program may count from there.
 */
const char *trace_event_problem(const struct trace_event *ev);

/* The same as a question, for who needs no reason: one is the other's negation. */
static inline bool trace_event_is_possible(const struct trace_event *ev)
{
	return (ev->ts & TRACE_TS_LOW) && ev->seq && ev->tid <= INT32_MAX;
}

#endif
