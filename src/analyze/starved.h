/* SPDX-License-Identifier: MIT */
/*
 * starved.h - a coroutine that was ready for long while its thread ran others that became ready
 * later.  Two detectors report it: by the order in which the thread serves ready coroutines.
 */
#ifndef ANALYZE_STARVED_H
#define ANALYZE_STARVED_H

#include "analyze/detector.h"

/* Report @co as starved until @ts, for @d; @is_lifo: only if its thread serves the newest first. */
bool starved_report(struct analysis *a, struct coro *co, uint64_t ts, const struct detector *d,
		    bool is_lifo);

/* Strong if at least five waits at the place end this way. */
void starved_weigh(const struct analysis *a, struct group *g);

#endif
