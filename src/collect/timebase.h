/* SPDX-License-Identifier: MIT */
/*
 * timebase.h - publish the clock in the region, so that programs need no system clock call.
 *
 * Reading the clock costs a program more than the rest of an event, especially when events are
 * rare and caches are cold.  The collector has the time and a core of its own: while awake it
 * publishes, every few milliseconds, a pair of cycle counter and CLOCK_MONOTONIC, and the rate
 * between the two.  So all threads of all programs measure time in the same way.
 */
#ifndef COLLECT_TIMEBASE_H
#define COLLECT_TIMEBASE_H

#include <stdint.h>

#include <corotracer/ctp.h>

struct timebase_pair {
	uint64_t ticks, ns;
};

struct timebase {
	struct ctp_ext_header *ext; /* [shared] NULL: the counter is not usable */
	struct timebase_pair base;  /* start of the rate measurement, one or two seconds ago */
	struct timebase_pair mid;   /* the next base */
	uint64_t published_ns;
	uint64_t mult;       /* as last published; 0: no reliable rate */
	uint64_t pair_ticks; /* ticks that reading both takes without preemption */
};

/* True if the machine has a suitable counter; only then CTP_EXT_CLOCK may be announced. */
int timebase_usable(void);

/* Start to publish; call before any program runs. */
void timebase_open(struct timebase *tb, struct ctp_ext_header *ext);

/* Publish again if the last time was at least 10 ms ago. */
void timebase_publish(struct timebase *tb, uint64_t now_ns);

#endif
