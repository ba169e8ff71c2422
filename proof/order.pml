/* SPDX-License-Identifier: MIT */
/*
 * order.pml - the collector hands on a coroutine's events in order, whichever threads run it.
 *
 * One coroutine, two threads with a lane each.  The thread that runs it reads the counter,
 * makes the record, publishes it, and continues or hands the coroutine over.  A poll of the
 * collector reads first the time, then one head after the other; then, in order of time, what
 * is not later than a moment before that time.  docs/proof.md has the table from each step to
 * its function.
 *
 * Time is one counter for all, which may advance at any step: two readings may be
 * equal.  A load that is made when a store is visible sees it.  The hand-over is the
 * program's own and orders what comes before it: it is seen after the head.  Reading the
 * counter is ordered by nothing: it may be done up to EARLY ticks before its place.
 *
 * Verified: the collector hands on event 0, 1, 2, ... of the coroutine, as long as EARLY
 * is less than MOMENT.
 *
 * Mutations, each of which must be caught: LIMIT_LATE (first the heads, then the time),
 * NO_LIMIT, NO_TICK (a coroutine's time need not go forward), MOMENT=0, EARLY=1.
 */
#ifndef EVENTS
#define EVENTS 4
#endif
#ifndef END
#define END 6 /* of time */
#endif
#ifndef MOMENT
#define MOMENT 1
#endif
#ifndef EARLY
#define EARLY 0
#endif

byte now = 1;
byte last_ticks; /* of the life */
byte turn;       /* the thread that has the coroutine */
byte made;       /* its events so far */

byte head[2];
byte ticks[2 * EVENTS]; /* by lane and place in it */
byte number[2 * EVENTS];

active proctype time()
{
end:
	do
	:: now < END -> now++
	od
}

proctype thread(byte me)
{
	byte t, early;

end:
	do
	:: turn == me && made < EVENTS ->
		/* ctp_ticks(), ctp_life_tick() */
		atomic {
			early = 0;
			do
			:: early < EARLY && early < now -> early++
			:: break
			od;
			d_step {
				t = now - early;
#ifndef NO_TICK
				t = (t <= last_ticks -> last_ticks + 1 : t);
#endif
				last_ticks = t
			}
		}
		/* ctp_lane_publish() */
		d_step {
			ticks[me * EVENTS + head[me]] = t;
			number[me * EVENTS + head[me]] = made;
			made++;
			head[me]++;
			t = 0;
			early = 0
		}
		if
		:: turn = 1 - me
		:: true
		fi
	od
}

#define HAS(l)  (read[l] < seen[l] && ticks[l * EVENTS + read[l]] <= limit)
#define TIME(l) (ticks[l * EVENTS + read[l]])

/* lane_take() */
inline take(l)
{
	assert(number[l * EVENTS + read[l]] == expect); /* in order */
	expect++;
	read[l]++
}

/* set_limit() */
inline set_limit()
{
#ifdef NO_LIMIT
	limit = 255
#else
	limit = (now > MOMENT -> now - MOMENT : 0)
#endif
}

/* drain_look(), take_in_order(); the heads in either order, as lanes are numbered */
active proctype collector()
{
	byte read[2], seen[2], limit, expect, l;

end:
	do
	:: if
		:: l = 0
		:: l = 1
		fi;
#ifndef LIMIT_LATE
		set_limit();
#endif
		seen[l] = head[l];
		seen[1 - l] = head[1 - l];
#ifdef LIMIT_LATE
		set_limit();
#endif
		d_step {
			do
			:: HAS(0) && (!HAS(1) || TIME(0) <= TIME(1)) -> take(0)
			:: HAS(1) && (!HAS(0) || TIME(1) < TIME(0)) -> take(1)
			:: else -> break
			od;
			limit = 0;
			seen[0] = 0;
			seen[1] = 0;
			l = 0
		}
	od
}

init
{
	atomic {
		run thread(0);
		run thread(1)
	}
}
