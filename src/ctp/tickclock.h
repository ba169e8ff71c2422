/* SPDX-License-Identifier: MIT */
/*
 * tickclock.h - from the cycle counter to CLOCK_MONOTONIC.
 *
 * Lanes carry the counter as it was.  The collector reads clock and counter together,
 * each time before it looks at the lanes, and interpolates between these marks: exact
 * at every mark, and in between wrong by no more than the clock's rate changes from
 * one to the next.  There is nothing to calibrate and nothing that drifts; a machine
 * that was suspended, or a clock that is slewed, is followed at the next mark.
 *
 * What was given out is never taken back: a mark, once made, stays where it is, so that
 * whoever goes on with a coroutine on another thread is not earlier than it was.  The
 * newest are all kept, which is a while even if the collector looks all the time; of
 * the older ones a few.
 */
#ifndef CTP_TICKCLOCK_H
#define CTP_TICKCLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define TICKCLOCK_MARKS 4096u /* a power of two */

struct tick_mark {
	uint64_t ticks, ns;
	uint64_t mult; /* from here to the next mark: ns = ticks * mult >> 32 */
};

struct tick_ring {
	struct tick_mark marks[TICKCLOCK_MARKS];
	uint64_t nr; /* ever made; the last is the newest */
};

struct tickclock {
	struct tick_ring fine;   /* the newest */
	struct tick_ring coarse; /* of all marks, some: further back */
	uint64_t pair_ticks;     /* how long reading both takes, undisturbed */
	bool usable;             /* there is a counter worth reading */
	bool frozen;             /* of another time: there are no new marks */
};

void tickclock_open(struct tickclock *tc);

/* Read both.  False: we were disturbed every time; the last mark stands. */
bool tickclock_mark(struct tickclock *tc);

/* The same with given readings: for who has them, and for tests. */
void tickclock_add(struct tickclock *tc, uint64_t ticks, uint64_t ns);

/* Of another time: @from and its rate are all that is known, until @to_ticks. */
void tickclock_freeze(struct tickclock *tc, const struct tick_mark *from, uint64_t to_ticks);

/* The newest mark: what is later cannot be converted yet. */
static inline const struct tick_mark *tickclock_last(const struct tickclock *tc)
{
	return &tc->fine.marks[(tc->fine.nr - 1) % TICKCLOCK_MARKS];
}

/* The stretch between two marks that @ticks lies in: where it begins, and *@length in ticks. */
struct tick_mark tickclock_stretch(const struct tickclock *tc, uint64_t ticks, uint64_t *length);

/* So many ticks @ns are, by the last stretch; 0 while that is not known. */
uint64_t tickclock_ticks(const struct tickclock *tc, uint64_t ns);

/* The time of @ticks, which is not later than the newest mark. */
uint64_t tickclock_ns(const struct tickclock *tc, uint64_t ticks);

#endif
