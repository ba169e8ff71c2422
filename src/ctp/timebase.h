/* SPDX-License-Identifier: MIT */
/*
 * timebase.h - keep the clock in the region, so that programs need not ask for it.
 *
 * Asking for the time costs a program more than all the rest of an event, above all
 * when events are rare and everything is cold.  The collector has the time, and a
 * core of its own: while awake it publishes, every few milliseconds, what the cycle
 * counter said when CLOCK_MONOTONIC was so many nanoseconds, and the rate between
 * the two.  All threads of all programs then measure with one rule.
 */
#ifndef CTP_TIMEBASE_H
#define CTP_TIMEBASE_H

#include <stdint.h>

#include <corotracer/ctp.h>

struct timebase_pair {
	uint64_t ticks, ns;
};

struct timebase {
	struct ctp_ext_header *ext; /* [shared] NULL: the counter is not usable here */
	struct timebase_pair base;  /* the rate is measured from here, a second or two ago */
	struct timebase_pair mid;   /* the next base */
	uint64_t published_ns;
	uint64_t mult;       /* as last published; 0: none to be trusted */
	uint64_t pair_ticks; /* how long reading both takes, undisturbed */
};

/* Is there a counter to publish in terms of?  Then CTP_EXT_CLOCK may be announced. */
int timebase_usable(void);

/* Starts publishing; call before any program runs. */
void timebase_open(struct timebase *tb, struct ctp_ext_header *ext);

/* Publish anew if the last is some milliseconds old. */
void timebase_publish(struct timebase *tb, uint64_t now_ns);

#endif
