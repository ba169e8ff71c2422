/* SPDX-License-Identifier: MIT */
/* event.h - one transition of one coroutine, as a trace holds it. */
#ifndef TRACE_EVENT_H
#define TRACE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_NO_STATION UINT32_MAX

/*
 * A collector that read a slot from the wrong place has the is_active byte where the
 * top of ts is: 2^56, or two years of uptime to the nanosecond.  No time has these
 * bits all clear.
 */
#define TRACE_TS_LOW UINT64_C(0xffffffffffff)

struct trace_event {
	uint64_t probe_id;
	uint64_t tid;
	uint64_t addr;
	uint64_t seq; /* the slot's: it repeats across slots, order by ts */
	uint64_t ts;  /* CLOCK_MONOTONIC ns */
	bool is_active;
	/*
	 * Which station the event came from, where probe_id alone does not tell two
	 * coroutines apart; TRACE_NO_STATION otherwise.
	 */
	uint32_t station;
};

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
