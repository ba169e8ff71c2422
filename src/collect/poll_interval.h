/* SPDX-License-Identifier: MIT */
/*
 * poll_interval.h - when to poll again.
 *
 * Waking the collector costs the program a system call, so wake-ups must be rare: after a
 * wake-up the collector stays awake, polls by its own clock, and announces sleep only after a
 * long time without events.  In between the fullest station determines how often it polls: a
 * station holds eight events.
 *
 * Pure computation: the inputs are the time and the result of a scan, the output is the time of
 * the next scan.
 */
#ifndef COLLECT_POLL_INTERVAL_H
#define COLLECT_POLL_INTERVAL_H

#include <stdint.h>

#include "collect/station_scan.h"

#define PACE_SLEEP UINT64_MAX /* nothing to do until a wake-up */

struct pace {
	uint64_t tick_ns;        /* current interval between scans */
	uint64_t last_event_ns;  /* when a scan last found events */
	uint64_t hurry_until_ns; /* nearly no waiting until then */
	uint64_t rested_ns;      /* when it last waited in spite of that */
};

void pace_wake(struct pace *p, uint64_t now_ns);

/*
 * After a scan that took @cost_ns: nanoseconds until the next scan (0: immediately), or
 * PACE_SLEEP.
 */
uint64_t pace_next(struct pace *p, const struct harvest_scan *scan, uint64_t now_ns,
		   uint64_t cost_ns);

/* Interval of patrol scans while asleep: a program without a socket cannot wake the collector. */
uint64_t pace_patrol(uint64_t cost_ns);

#endif
