/* SPDX-License-Identifier: MIT */
/*
 * pace.h - when to look again.
 *
 * Waking the collector costs the program a system call, so it must be rare: after a
 * wake-up the collector stays awake on its own clock, looks every so often, and
 * announces sleep only when nothing came for a good while.  In between it looks as
 * often as the fullest station asks for: a station holds eight events.
 *
 * Pure: it is told the time and what a scan found, and answers when the next one
 * should be.
 */
#ifndef CTP_PACE_H
#define CTP_PACE_H

#include <stdint.h>

#include "ctp/harvest.h"

#define PACE_SLEEP UINT64_MAX /* nothing to do until somebody wakes us */

struct pace {
	uint64_t tick_ns;        /* the present distance between scans */
	uint64_t last_event_ns;  /* when a scan last found something */
	uint64_t hurry_until_ns; /* hardly any waiting until then */
	uint64_t rested_ns;      /* when it last waited in spite of the hurry */
};

void pace_wake(struct pace *p, uint64_t now_ns);

/* After a scan that took @cost_ns: nanoseconds until the next (0: at once), or PACE_SLEEP. */
uint64_t pace_next(struct pace *p, const struct harvest_scan *scan, uint64_t now_ns,
		   uint64_t cost_ns);

/* While asleep, look by ourselves that often: a program without a socket cannot wake us. */
uint64_t pace_patrol(uint64_t cost_ns);

#endif
