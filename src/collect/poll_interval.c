/* SPDX-License-Identifier: MIT */
/* poll_interval.c - when to poll again. */
#include "collect/poll_interval.h"

#include "base/monotonic.h"

#define TICK_SHORT  (20 * NS_PER_US)
#define TICK_NORMAL (1 * NS_PER_MS)
#define TICK_LAZY   (4 * NS_PER_MS)   /* maximum while events are rare */
#define LAZY_AFTER  (20 * NS_PER_MS)  /* without events for this long: up to TICK_LAZY */
#define SLEEP_AFTER (500 * NS_PER_MS) /* without events for this long: sleep */

/*
 * Once hurrying, continue for a while: a program that filled a station fills it again.  But
 * wait a moment now and then: on a machine with more runnable threads than cores, the scheduler
 * delays a thread that never sleeps, and that loses more events than the wait.
 */
#define HURRY_FOR  (2 * NS_PER_MS)
#define REST_AFTER (100 * NS_PER_US)

/* Of eight slots: hurry at DEEP or more waiting events, slow down at SHALLOW or fewer. */
#define DEEP    6u
#define SHALLOW 2u

/* Lanes hold more than a station: poll again at once after this many events. */
#define MANY 4096u

/* While events are rare, scans take at most one part in this many of the time. */
#define IDLE_SHARE 16u

/* While asleep, patrol scans take at most one part in this many of the time. */
#define PATROL_SHARE 500u
#define PATROL_LEAST (1 * NS_PER_SEC)

void pace_wake(struct pace *p, uint64_t now_ns)
{
	p->tick_ns = TICK_SHORT;
	p->last_event_ns = now_ns;
	p->hurry_until_ns = 0;
}

static uint64_t pace_lengthen(uint64_t tick, uint64_t most)
{
	return tick * 2 < most ? tick * 2 : most;
}

uint64_t pace_next(struct pace *p, const struct harvest_scan *scan, uint64_t now_ns,
		   uint64_t cost_ns)
{
	uint64_t quiet_ns;

	if (scan->events || scan->lost || scan->pending)
		p->last_event_ns = now_ns;
	quiet_ns = now_ns - p->last_event_ns;
	if (quiet_ns >= SLEEP_AFTER)
		return PACE_SLEEP;
	/* The lane has probably received as many events again during this poll. */
	if (scan->lane_events >= MANY)
		return 0;
	if (scan->deepest >= DEEP || scan->lost) {
		if (now_ns >= p->hurry_until_ns)
			p->rested_ns = now_ns;
		p->hurry_until_ns = now_ns + HURRY_FOR;
	}
	if (now_ns < p->hurry_until_ns) {
		p->tick_ns = TICK_SHORT;
		if (now_ns < p->rested_ns + REST_AFTER)
			return 0;
		p->rested_ns = now_ns + TICK_SHORT;
		return TICK_SHORT;
	}
	if (scan->deepest > SHALLOW)
		p->tick_ns = p->tick_ns / 2 > TICK_SHORT ? p->tick_ns / 2 : TICK_SHORT;
	else
		p->tick_ns = pace_lengthen(p->tick_ns,
					   quiet_ns > LAZY_AFTER ? TICK_LAZY : TICK_NORMAL);
	return p->tick_ns > cost_ns * IDLE_SHARE ? p->tick_ns : cost_ns * IDLE_SHARE;
}

uint64_t pace_patrol(uint64_t cost_ns)
{
	return cost_ns * PATROL_SHARE > PATROL_LEAST ? cost_ns * PATROL_SHARE : PATROL_LEAST;
}
