/* SPDX-License-Identifier: MIT */
/*
 * tickclock.h - convert the cycle counter to CLOCK_MONOTONIC.
 *
 * Lanes carry raw counter values.  Before each poll of the lanes the collector reads clock and
 * counter together, and interpolates between these marks: exact at every mark, and in between
 * wrong by at most the change of the clock's rate from one mark to the next.  Nothing needs
 * calibration and nothing drifts; the suspension of the machine, or slewing of the clock, takes
 * effect at the next mark.
 *
 * A conversion never changes later: a mark stays as it is once made, so that a coroutine that
 * continues on another thread never gets an earlier time.  The newest marks are all kept,
 * enough for a while even if the collector polls continuously; of the older ones some.
 */
#ifndef COLLECT_TICKCLOCK_H
#define COLLECT_TICKCLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define TICKCLOCK_MARKS 4096u /* a power of two */

struct tick_mark {
	uint64_t ticks, ns;
	uint64_t mult; /* until the next mark: ns = ticks * mult >> 32 */
};

struct tick_ring {
	struct tick_mark marks[TICKCLOCK_MARKS];
	uint64_t nr; /* number of marks ever made */
};

struct tickclock {
	struct tick_ring fine;   /* the newest marks */
	struct tick_ring coarse; /* some of all marks, further back */
	uint64_t pair_ticks;     /* ticks that reading both takes without preemption */
	bool usable;             /* the machine has a suitable counter */
	bool frozen;             /* readings of a past run: no new marks */
};

void tickclock_open(struct tickclock *tc);

/*
 * Read both and add a mark.  False: preempted in every attempt; the last mark remains, and the next
 * call accepts a slower reading.
 */
bool tickclock_mark(struct tickclock *tc);

/* Add a mark with given readings: for callers that have them, and for tests. */
void tickclock_add(struct tickclock *tc, uint64_t ticks, uint64_t ns);

/* Use the readings of a past run: @from and its rate, valid until @to_ticks. */
void tickclock_freeze(struct tickclock *tc, const struct tick_mark *from, uint64_t to_ticks);

/* The newest mark: later ticks cannot be converted yet. */
static inline const struct tick_mark *tickclock_last(const struct tickclock *tc)
{
	return &tc->fine.marks[(tc->fine.nr - 1) % TICKCLOCK_MARKS];
}

/* The interval between two marks that contains @ticks: its start, and *@length in ticks. */
struct tick_mark tickclock_stretch(const struct tickclock *tc, uint64_t ticks, uint64_t *length);

/* Number of ticks in @ns at the rate of the last interval; 0 while unknown. */
uint64_t tickclock_ticks(const struct tickclock *tc, uint64_t ns);

/* Time of @ticks, which must not be later than the newest mark. */
uint64_t tickclock_ns(const struct tickclock *tc, uint64_t ticks);

#endif
