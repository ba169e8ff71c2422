/* SPDX-License-Identifier: MIT */
/*
 * clock_watch.h - notice what happens to the clocks during a run.
 *
 * Times are CLOCK_MONOTONIC, which stops while the machine is suspended, and is computed from the
 * cycle counter between two polls.  Three things make times misleading: a suspension (a wait that
 * spans it took longer than the trace says), a step of the wall clock (times of day before it do
 * not match those after it), and a counter whose rate changes (times between two polls are off).
 * None of them can be corrected afterwards: they are counted and reported.
 */
#ifndef COLLECT_CLOCK_WATCH_H
#define COLLECT_CLOCK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Readings of all clocks at one moment. */
struct clock_reading {
	uint64_t monotonic_ns, boot_ns, wall_ns;
	uint64_t ticks; /* of the cycle counter; 0: it is not used */
};

struct clock_watch {
	struct clock_reading last;
	bool has_last;
	uint64_t mult;            /* rate of the counter in the last interval; 0: unknown */
	uint64_t suspended_ns;    /* in total */
	uint64_t wall_step_ns;    /* sum of the steps, without their signs */
	uint64_t counter_changes; /* intervals with another rate than before, or backwards */
};

/* Compare with the reading before. */
void clock_watch_add(struct clock_watch *w, const struct clock_reading *now);

/* Read the clocks, at most once per second unless @is_last.  @has_counter: it is in use. */
void clock_watch_look(struct clock_watch *w, uint64_t now_ns, bool has_counter, bool is_last);

#endif
