/* SPDX-License-Identifier: MIT */
/*
 * lives.pml - a life is read whole, or not at all: (ctp-M).
 *
 * ctp_life_begin(), the events of a coroutine and ctp_life_end() of lane_slow.h, life_free()
 * and life_read() of coroutine_table.c, on the memory of Memory.v: per location a history of
 * messages, per thread what it must see at least (its view), per message the view that it
 * passes on.  docs/proof.md has the table from each step to its function.
 *
 * LIVES coroutines use the same entry, one after another.  Each is created by either of
 * two threads, makes an event, and is destroyed by that thread, or by the collector after
 * the thread's death; the next coroutine gets the entry from the stash of the same thread
 * or, through the pool, from another.  A third thread reads, any number of times, at any
 * time, values as old as its view allows.
 *
 * Verified: if it sees the same id before and after, and a state, then all that it read in
 * between is of the coroutine with that id.
 *
 * Mutations, each of which must be caught: NO_WRITERS_FENCE, NO_READERS_FENCE, ID_RELAXED,
 * and FENCE_AT_END: a fence at the end of a life orders nothing of the entry's next owner.
 */
#ifndef LIVES
#define LIVES 3
#endif

#define THREADS   3 /* two writers, and the collector, which frees lives of dead threads */
#define COLLECTOR 2

/* Locations. */
#define ID    0
#define BIRTH 1 /* any field that is stored when the life begins */
#define STATE 2 /* any that an event stores */
#define PLACES 3

#define MESSAGES 10 /* of one location; the first is what was there before */

/* What an event stores: the coroutine's id and the event's number. */
#define STATE_OF(id, nr) (2 * (id) + (nr))

byte value[PLACES * MESSAGES];
byte passes[PLACES * MESSAGES * PLACES]; /* by message: the view that it passes on */
byte newest[PLACES];

byte view[THREADS * PLACES];   /* a writer's */
byte fenced[THREADS * PLACES]; /* the same, at its last release fence */

byte seen[PLACES];    /* the reader's view */
byte pending[PLACES]; /* what its relaxed loads add to that at the next acquire fence */

#define AT(place, nr) ((place) * MESSAGES + (nr))
#define MAX(a, b)     ((a) > (b) -> (a) : (b))

/* ---- memory ------------------------------------------------------------------------- */

inline append(t, place, what)
{
	newest[place]++;
	value[AT(place, newest[place])] = what;
	view[(t) * PLACES + place] = newest[place]
}

#define PASS_ON(place, from, base)                                                \
	passes[AT(place, newest[place]) * PLACES + ID] = from[(base) + ID];       \
	passes[AT(place, newest[place]) * PLACES + BIRTH] = from[(base) + BIRTH]; \
	passes[AT(place, newest[place]) * PLACES + STATE] = from[(base) + STATE]; \
	passes[AT(place, newest[place]) * PLACES + (place)] = newest[place]

inline store_relaxed(t, place, what)
{
	d_step { append(t, place, what); PASS_ON(place, fenced, (t) * PLACES) }
}

inline store_release(t, place, what)
{
	d_step { append(t, place, what); PASS_ON(place, view, (t) * PLACES) }
}

inline fence_release(t)
{
	d_step {
		fenced[(t) * PLACES + ID] = view[(t) * PLACES + ID];
		fenced[(t) * PLACES + BIRTH] = view[(t) * PLACES + BIRTH];
		fenced[(t) * PLACES + STATE] = view[(t) * PLACES + STATE]
	}
}

/* A release of one thread that another acquires: through the pool (ctp-J), or by dying. */
inline hand_over(from, to)
{
	d_step {
		view[(to) * PLACES + ID] = view[(from) * PLACES + ID];
		view[(to) * PLACES + BIRTH] = view[(from) * PLACES + BIRTH];
		view[(to) * PLACES + STATE] = view[(from) * PLACES + STATE]
	}
}

#define JOIN(to, place, nr)                                              \
	to[ID] = MAX(to[ID], passes[AT(place, nr) * PLACES + ID]);       \
	to[BIRTH] = MAX(to[BIRTH], passes[AT(place, nr) * PLACES + BIRTH]); \
	to[STATE] = MAX(to[STATE], passes[AT(place, nr) * PLACES + STATE])

/* Any message that is not older than what the reader has seen. */
inline choose(place)
{
	m = seen[place];
	do
	:: m < newest[place] -> m++
	:: break
	od
}

inline load_relaxed(place, into)
{
	atomic {
		choose(place);
		d_step { into = value[AT(place, m)]; seen[place] = m; JOIN(pending, place, m); m = 0 }
	}
}

inline load_acquire(place, into)
{
	atomic {
		choose(place);
		d_step {
			into = value[AT(place, m)];
			JOIN(pending, place, m);
			JOIN(seen, place, m);
			m = 0
		}
	}
}

inline fence_acquire()
{
	d_step {
		seen[ID] = MAX(seen[ID], pending[ID]);
		seen[BIRTH] = MAX(seen[BIRTH], pending[BIRTH]);
		seen[STATE] = MAX(seen[STATE], pending[STATE])
	}
}

/* ---- the writers ---------------------------------------------------------------------- */

/* ctp_life_begin() */
inline begin(t, id)
{
#if !defined(NO_WRITERS_FENCE) && !defined(FENCE_AT_END)
	fence_release(t); /* (ctp-M) */
#endif
	store_relaxed(t, BIRTH, id);
	store_relaxed(t, STATE, STATE_OF(id, 0));
#ifdef ID_RELAXED
	store_relaxed(t, ID, id)
#else
	store_release(t, ID, id) /* (ctp-M) */
#endif
}

/* ctp_life_end(), life_free() */
inline end_life(t)
{
	store_relaxed(t, ID, 0);
#ifdef FENCE_AT_END
	fence_release(t);
#endif
	store_relaxed(t, STATE, 0)
}

active proctype writers()
{
	byte t, last, id;

	do
	:: id == LIVES -> break
	:: else ->
		id++;
		last = t;
		/* From the stash, or through the pool to either of the two. */
		if
		:: t < COLLECTOR
		:: t = 0
		:: t = 1
		fi;
		if
		:: last != t -> hand_over(last, t)
		:: else
		fi;
		begin(t, id);
		store_relaxed(t, STATE, STATE_OF(id, 1)); /* an event */
		if
		:: true
		:: hand_over(t, COLLECTOR); t = COLLECTOR /* killed; the collector ends the life */
		fi;
		end_life(t)
	od
}

/* ---- the reader: life_read() -------------------------------------------------------------- */

active proctype reader()
{
	byte id, birth, state, again, m;

end:
	do
	:: load_acquire(ID, id); /* (ctp-M) */
		if
		:: id == 0
		:: else ->
			load_relaxed(STATE, state);
			load_relaxed(BIRTH, birth);
#ifndef NO_READERS_FENCE
			fence_acquire(); /* (ctp-M) */
#endif
			load_relaxed(ID, again);
			assert(again != id || state == 0 ||
			       (birth == id && (state == STATE_OF(id, 0) || state == STATE_OF(id, 1))))
		fi;
		d_step { id = 0; birth = 0; state = 0; again = 0 }
	od
}
