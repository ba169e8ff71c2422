/* SPDX-License-Identifier: MIT */
/*
 * lanes.pml - lanes, their chunks and the two pools: what was written is read, once.
 *
 * The writers of lane_slow.h and probe.h, the pools of pool.h, the collector of lane_scan.c and lane_reader.c.
 * docs/proof.md has the table from each step to its function.
 *
 * Two threads make events, 1 .. EVENTS0 and 1 .. EVENTS1 or fewer, and end; thread 0 does
 * so THREADS0 times, each time as a new thread that opens a lane of its own.  A chunk has
 * two records (with PAIRS three, and some events need two in a row).  The collector
 * polls any number of times, and takes any part of what it finds: the rest is later than
 * the limit of that poll.
 *
 * Memory
 *   A thread's stores into its lane and its chunks become visible to the collector in any
 *   order and at any time, each on its own.  A release store (head, state) passes on all
 *   that its thread stored before: a thread that acquires it sees that, or later.  It orders
 *   nothing else; even an old value may be returned late, as long as the reader has
 *   acquired nothing that excludes it.  So each location keeps how new it is:
 *   ..._rel is 0 when the collector must see it, FRESH when nothing has passed it on, or
 *   the number of the release that did.  Old values are 0, but for head: what the lane's
 *   last thread left.  Death is a barrier.
 *
 *   The stack of a pool is modelled step by step: load the top, load the link, compare and
 *   swap.  All changes of a top are compare-and-swaps, those that give are releases, and a
 *   pop acquires, so a thread that sees a unit on top sees its link and all stores to it.
 *   The tag never wraps in the model: it matches if the top did not change since it was
 *   loaded; stale[] records a change.
 *
 * Verified, in every state of every run
 *   records     what the collector reads is the next event of the thread whose lane it is:
 *               each one, in order, once; a gap is reported where events were dropped;
 *               when a lane is given back, written = read + dropped;
 *   chunks      a chunk has one owner, no lane has more than LANE_CHUNKS,
 *               nothing is read from one that was given back;
 *   lanes       no thread takes a lane that is not drained;
 *   room        when all has been read and no chunk was taken since, a chunk is free;
 *   the end     when all threads have ended, all chunks and lanes are in their pools, except for
 *               the one chunk and the one lane that a thread was just taking when it was
 *               killed: popped, and not yet linked or open;
 *   deadlock    no process is stuck.  With -DNP: nor in a loop, except for the collector's polls.
 *
 * Variants: KILL (thread 1 may be killed anywhere), PAIRS, LOST_ID (a thread may ask for
 * room and then not use it, as for a coroutine that a forked child inherited), OWNERS_ONLY
 * (room and the end are not checked, so that other errors show).
 * Mutations, each of which must be caught: NO_TAG, NO_RELOAD, GIVE_RELAXED, PUBLISH_RELAXED,
 * HEAD_FIRST, LINK_LATE, OPEN_RELAXED, CLOSE_RELAXED, STATE_LATE, GIVE_EARLY, LANE_EARLY,
 * RETURNED_EARLY, KEEP_ALWAYS, NO_GAP, LOSE_UNUSED with LOST_ID, PAD_LATE with PAIRS,
 * ORPHANS_EARLY with KILL.
 */
#ifndef EVENTS0
#define EVENTS0 2
#endif
#ifndef EVENTS1
#define EVENTS1 3
#endif
#ifndef THREADS0
#define THREADS0 2
#endif
#ifndef LANES
#define LANES 2
#endif
#ifndef CHUNKS
#define CHUNKS 4
#endif
#ifndef STACKED
#define STACKED 3 /* of the chunks, those that are on the stack at the start: 0, 1, .. */
#endif
#ifndef LANE_CHUNKS
#define LANE_CHUNKS 3
#endif
#ifndef KEEP_LANES
#define KEEP_LANES 1 /* with no more lanes than this, a read chunk is kept back */
#endif
#ifdef PAIRS
#define RECORDS 3
#else
#define RECORDS 2
#endif

#define COLLECTOR 2

#define FRESH   255 /* stored, and nothing released since */
#define AT_OPEN 1   /* releases are numbered: the opening, */
#define AT_HEAD(h) ((h) + 1) /* each head, */
#define AT_CLOSE 100 /* and the closing */

#define FREE   0
#define OPEN   1
#define CLOSED 2

#define EVENT(w, n) (16 * (w) + (n))
#define GAP(nr)     (64 + (nr))
#define MORE        96
#define PAD         97

/* ---- the region ----------------------------------------------------------------- */

byte top, ltop;  /* 1 + number, or 0 */
byte used, lused;
bool stale[3] = true, lstale[3] = true; /* per thread: has the top changed since it was loaded? */

byte link[CHUNKS], link_rel[CHUNKS];
byte rec[CHUNKS * RECORDS], rec_rel[CHUNKS * RECORDS];

byte llink[LANES];
byte state[LANES];
byte first[LANES], first_rel[LANES];
byte head[LANES], head_rel[LANES], head_old[LANES];
byte returned[LANES];
byte dropped[LANES];
#ifdef PAIRS
short heads[LANES]; /* bit n: n was a head of this lane's */
#endif

/* ---- for the properties only ----------------------------------------------------- */

byte owner[CHUNKS];        /* 0: a pool's; 1 + lane */
bool taken_lane[LANES];
byte who[LANES];           /* the thread that owns it */
byte expect[LANES];        /* the number of the next event to be read */
byte written[LANES];       /* and of the next to be written */
bool calm;                 /* all is read, and no chunk was taken since */
bool over[2];              /* the thread has ended */
bool dead;                 /* thread 1 was killed, */
bool lost_chunk, lost_lane; /* while only it knew of these */

#define AT(chunk, at) ((chunk) * RECORDS + (at))
#define OWNS(l, chunk) (owner[chunk] == (l) + 1)

/* ---- memory: release and acquire ---------------------------------------------------- */

/* All that lane l's thread has stored is passed on by its release number nr. */
inline release(l, nr)
{
	for (i : 0 .. CHUNKS - 1) {
		if
		:: OWNS(l, i) ->
			link_rel[i] = (link_rel[i] == FRESH -> nr : link_rel[i]);
			for (j : 0 .. RECORDS - 1) {
				rec_rel[AT(i, j)] =
					(rec_rel[AT(i, j)] == FRESH -> nr : rec_rel[AT(i, j)])
			}
		:: else
		fi
	}
	first_rel[l] = (first_rel[l] == FRESH -> nr : first_rel[l]);
	head_rel[l] = (head_rel[l] == FRESH -> nr : head_rel[l]);
	i = 0;
	j = 0
}

/* The collector has acquired it. */
inline acquire(l, nr)
{
	for (i : 0 .. CHUNKS - 1) {
		if
		:: OWNS(l, i) ->
			link_rel[i] = (link_rel[i] <= nr -> 0 : link_rel[i]);
			for (j : 0 .. RECORDS - 1) {
				rec_rel[AT(i, j)] =
					(rec_rel[AT(i, j)] <= nr -> 0 : rec_rel[AT(i, j)])
			}
		:: else
		fi
	}
	first_rel[l] = (first_rel[l] <= nr -> 0 : first_rel[l]);
	head_rel[l] = (head_rel[l] <= nr -> 0 : head_rel[l]);
	i = 0;
	j = 0
}

/* ---- the pools: ctp_pool_pop(), ctp_pool_extend(), ctp_pool_give() -------------------- */

#ifdef NO_TAG
#define FITS(me)  (top == seen)
#define LFITS(me) (ltop == seen)
#else
#define FITS(me)  (!stale[me])
#define LFITS(me) (!lstale[me])
#endif

/* Every top that a thread loaded before is out of date. */
#define CHANGED  stale[0] = true; stale[1] = true; stale[2] = true
#define LCHANGED lstale[0] = true; lstale[1] = true; lstale[2] = true

/* One chunk for lane l: got is 1 + its number, or 0. */
inline pop_chunk(me, l)
{
	do
	:: d_step {
		seen = top;
		stale[me] = false;
#ifndef OWNERS_ONLY
		assert(seen != 0 || used < CHUNKS || !calm) /* room */
#endif
	   }
		if
		:: seen == 0 ->
			d_step {
				stale[me] = true;
				if
				:: used < CHUNKS -> used++; got = used; had_chunk(l)
				:: else
				fi
			}
			break
		:: else ->
			next = link[seen - 1];
			if
			:: d_step {
				FITS(me) ->
				top = next; CHANGED; got = seen; seen = 0; next = 0; had_chunk(l)
			   }
			   break
			:: else
#ifdef NO_RELOAD
				-> do
				:: FITS(me) -> break
				:: else
				od
#endif
			fi
		fi
	od
}

/* ctp_chunk_take() */
inline had_chunk(l)
{
	assert(owner[got - 1] == 0);
	owner[got - 1] = l + 1;
	link[got - 1] = 0;
	link_rel[got - 1] = FRESH;
	calm = false;
	for (i : 0 .. CHUNKS - 1) {
		j = j + OWNS(l, i)
	}
	assert(j <= LANE_CHUNKS);
	i = 0;
	j = 0
}

inline pop_lane(me)
{
	do
	:: d_step { seen = ltop; lstale[me] = false }
		if
		:: seen == 0 ->
			d_step {
				lstale[me] = true;
				if
				:: lused < LANES -> lused++; got = lused; had_lane()
				:: else
				fi
			}
			break
		:: else ->
			next = llink[seen - 1];
			if
			:: d_step {
				LFITS(me) ->
				ltop = next; LCHANGED; got = seen; seen = 0; next = 0; had_lane()
			   }
			   break
			:: else
			fi
		fi
	od
}

inline had_lane()
{
	assert(!taken_lane[got - 1]);
	taken_lane[got - 1] = true
}

/* The chunk's contents are cleared: a later read returns nothing. */
inline give_chunk(number)
{
	do
#ifndef GIVE_RELAXED
	:: d_step { seen = top; stale[COLLECTOR] = false; link[number] = top }
		if
		:: d_step {
			FITS(COLLECTOR) ->
			top = number + 1; CHANGED; forget(number)
		   }
		   break
		:: else
		fi
#else
	:: d_step { seen = top; stale[COLLECTOR] = false }
		if
		:: d_step {
			FITS(COLLECTOR) ->
			top = number + 1; CHANGED; forget(number)
		   }
		   link[number] = seen;
		   break
		:: else
		fi
#endif
	od;
	seen = 0
}

inline forget(number)
{
	assert(owner[number] != 0);
	owner[number] = 0;
	link_rel[number] = 0;
	for (i : 0 .. RECORDS - 1) {
		rec[AT(number, i)] = 0;
		rec_rel[AT(number, i)] = 0
	}
	i = 0
}

inline give_lane(me, l)
{
	do
	:: d_step { seen = ltop; lstale[me] = false; llink[l] = ltop }
		if
		:: d_step {
			LFITS(me) ->
			ltop = l + 1; LCHANGED; taken_lane[l] = false; seen = 0
		   }
		   break
		:: else
		fi
	od
}

/* ---- a thread ------------------------------------------------------------------------ */

/* Records that belong together are published together: not every number is a head. */
#ifdef PAIRS
#define was_head(l)    heads[l] = heads[l] | (1 << head[l])
#define NO_HEAD(l, h) (!(heads[l] & (1 << (h))))
#define START_HEADS   heads[lane] = 1
#else
#define was_head(l)    skip
#define NO_HEAD(l, h) false
#define START_HEADS   skip
#endif

/*
 * Thread 1 may be killed at every point that leaves something behind: after each step that
 * others can see. To be killed is to take no further step.
 */
#ifdef KILL
#define MAY_DIE if :: me == 1 -> goto killed :: true fi
#else
#define MAY_DIE
#endif

/* ctp_lane_open() */
inline open_lane()
{
	pop_lane(me);
	if
	:: got != 0 ->
		d_step { lane = got - 1; got = 0; opening = true }
		MAY_DIE;
		pop_chunk(me, lane);
		if
		:: got != 0 ->
			MAY_DIE;
			d_step {
				head_old[lane] = head[lane];
				head[lane] = 0;
				START_HEADS;
				head_rel[lane] = FRESH;
				returned[lane] = 0;
				dropped[lane] = 0;
				first[lane] = got;
				first_rel[lane] = FRESH;
				chunk = got - 1;
				at = 0;
				taken = 1;
				got = 0;
				has_lane = true;
				opening = false;
				who[lane] = me;
				expect[lane] = number;
				written[lane] = number;
#ifndef OPEN_RELAXED
				release(lane, AT_OPEN);
#endif
				state[lane] = OPEN
			}
			MAY_DIE
		:: else -> give_lane(me, lane); lane = 0; opening = false
		fi
	:: else
	fi
}

/* ctp_record_put(), ctp_lane_publish(): records are stored, and the head released. */
inline put(value)
{
	rec[AT(chunk, at)] = value;
	rec_rel[AT(chunk, at)] = FRESH;
	at++
}

inline publish(nr)
{
#ifdef PUBLISH_RELAXED
	head[lane] = head[lane] + nr;
#else
	head[lane] = head[lane] + nr;
	release(lane, AT_HEAD(head[lane]));
#endif
	was_head(lane);
	calm = false
}

/* ctp_lane_pad() */
inline pad()
{
#ifdef PAIRS
	if
	:: at < RECORDS ->
		d_step {
			nr = RECORDS - at;
			put(PAD);
			at = RECORDS;
			publish(nr);
			nr = 0
		}
		MAY_DIE
	:: else
	fi
#endif
	skip
}

/* ctp_lane_advance(): room is true if there is some now. */
inline advance()
{
#ifndef PAD_LATE
	pad();
#endif
	/* ctp_lane_held(), (ctp-J): counted from here on, so that the counts stay small. */
	d_step { taken = taken - returned[lane]; returned[lane] = 0 }
	if
	:: taken < LANE_CHUNKS -> pop_chunk(me, lane)
	:: else
	fi;
	if
	:: got != 0 ->
		MAY_DIE;
#ifdef PAD_LATE
		pad();
#endif
		d_step {
			taken++;
#ifdef LINK_LATE
			unlinked = chunk + 1;
#else
			link[chunk] = got;
			link_rel[chunk] = FRESH;
#endif
			chunk = got - 1;
			at = 0;
			got = 0;
			room = true
		}
		MAY_DIE;
		if
#ifdef NO_GAP
		:: gap > 0 -> gap = 0
#else
		:: gap > 0 -> d_step { put(GAP(gap)); gap = 0; publish(1) } MAY_DIE
#endif
		:: else
		fi
	:: else
	fi
}

/* ctp_lane_room() for nr records */
inline find_room(size)
{
	room = false;
	if
	:: !has_lane -> open_lane(); room = has_lane
	:: else
	fi;
	if
	:: has_lane && RECORDS - at >= size -> room = true
	:: has_lane && RECORDS - at < size -> room = false; advance()
	:: else
	fi
}

inline write_event(size)
{
	find_room(size);
	if
	:: d_step {
		room ->
#ifdef HEAD_FIRST
		nr = size;
		publish(nr);
		put(EVENT(me, number));
#else
		put(EVENT(me, number));
#ifdef PAIRS
		if
		:: size == 2 -> put(MORE)
		:: else
		fi;
#endif
		nr = size;
		publish(nr);
#endif
#ifdef LINK_LATE
		if
		:: unlinked != 0 -> link[unlinked - 1] = chunk + 1; link_rel[unlinked - 1] = FRESH
		:: else
		fi;
		unlinked = 0;
#endif
		nr = 0;
		number++;
		written[lane] = number
	   }
	:: d_step {
		!room && has_lane ->
		dropped[lane]++;
		gap++;
		number++;
		written[lane] = number
	   }
	:: d_step { !room && !has_lane -> number++ } /* no lane: lost */
	fi;
	room = false
}

/* ctp_thread_leave() */
inline leave()
{
	if
	:: d_step {
		has_lane ->
#ifndef CLOSE_RELAXED
		release(lane, AT_CLOSE);
#endif
		state[lane] = CLOSED;
		has_lane = false;
		lane = 0; chunk = 0; at = 0; taken = 0; gap = 0
	   }
	:: else
	fi
}

proctype thread(byte me)
{
	byte number = 1; /* of the next event */
	byte threads;
	bool has_lane, opening, room;
	byte lane, chunk, at, taken, gap;
	byte seen, next, got, nr, i, j;
#ifdef LINK_LATE
	byte unlinked;
#endif

	do
	:: number <= (me == 0 -> EVENTS0 : EVENTS1) -> write_event(1); MAY_DIE
#ifdef PAIRS
	:: number <= (me == 0 -> EVENTS0 : EVENTS1) -> write_event(2); MAY_DIE
#endif
#ifdef LOST_ID
	:: has_lane && number <= (me == 0 -> EVENTS0 : EVENTS1) ->
		find_room(1);
		room = false;
		leave();
		break
#endif
	:: leave();
		threads++;
		if
		:: me == 0 && threads < THREADS0
		:: else -> break
		fi
	od;
	over[me] = true;
#ifdef KILL
	goto gone;
killed:	skip;
	/* All its stores are visible; only then can the collector know that it is dead. */
	d_step {
		if
		:: has_lane -> acquire(lane, FRESH)
		:: else
		fi;
		lost_chunk = got != 0;
		lost_lane = opening;
		dead = true;
		over[me] = true
	}
gone:
#endif
	skip
}

/* ---- the collector ---------------------------------------------------------------------- */

/*
 * What the collector reads of a lane between two loads of head is visible and does not change:
 * these steps are one step. Giving back a chunk, and counting it, are separate steps.
 */

/* Its thread is known to have ended, so all its stores are visible. */
#define SETTLED(l) (last || (heard && who[l] == 1))

/* Load the state, any that is not older than what was seen before; adopt(). */
inline look_at_state(l)
{
	atomic {
		if
		:: s = state[l]
		:: !SETTLED(l) && state_seen[l] == FREE -> s = FREE
		:: !SETTLED(l) && state_seen[l] <= OPEN && state[l] == CLOSED -> s = OPEN
		fi;
		d_step {
			state_seen[l] = s;
			if
			:: s == OPEN -> acquire(l, AT_OPEN)
			:: s == CLOSED ->
				acquire(l, AT_CLOSE);
#ifndef CLOSE_RELAXED
				head_seen[l] = head[l]
#endif
			:: else
			fi;
			if
			:: s != FREE && !c_open[l] ->
				/* records: of its own lane */
				assert(first_rel[l] == 0 && first[l] != 0);
				c_open[l] = true;
				nr_open++;
				c_chunk[l] = first[l] - 1;
				first[l] = 0
			:: else
			fi;
#ifdef STATE_LATE
			c_orphan[l] = c_orphan[l] || s == CLOSED;
			s = 0
#endif
		}
	}
}

/* Load the head, likewise; while it is not known to be of this thread, even an old one. */
inline look_at_head(l)
{
	atomic {
		h = head_seen[l];
		do
		:: h < head[l] -> h++
		:: (!SETTLED(l) && !NO_HEAD(l, h)) || h == head[l] -> break
		:: head_rel[l] != 0 -> h = head_old[l]; break
		od;
		d_step {
			if
			:: head_rel[l] == 0 -> head_seen[l] = h; acquire(l, AT_HEAD(h))
			:: else
			fi;
			assert(c_read[l] <= h); /* records: a head does not go back */
			c_head[l] = h;
			h = 0;
#ifndef STATE_LATE
			c_orphan[l] = c_orphan[l] || s == CLOSED;
			s = 0
#endif
		}
	}
}

/* lane_look() */
inline lane_look(l)
{
#ifdef STATE_LATE
	if
	:: c_open[l] -> look_at_head(l)
	:: else
	fi;
	look_at_state(l)
#else
	look_at_state(l);
	if
	:: s != FREE -> look_at_head(l)
	:: else
	fi
#endif
}

#ifdef KEEP_ALWAYS
#define KEEP true
#else
#define KEEP (nr_open <= KEEP_LANES)
#endif

/* lane_return() */
inline lane_return(l, number)
{
#ifdef RETURNED_EARLY
	returned[l]++;
	give_chunk(number)
#else
	give_chunk(number);
	returned[l]++ /* (ctp-J) */
#endif
}

/* look_at_record(), lane_take() */
inline take(l)
{
	d_step {
		assert(OWNS(l, c_chunk[l])); /* chunks */
		v = (rec_rel[AT(c_chunk[l], c_at[l])] == 0 -> rec[AT(c_chunk[l], c_at[l])] : 0);
		rec[AT(c_chunk[l], c_at[l])] = 0; /* it is not needed any more */
		if
		:: v == PAD ->
			c_read[l] = c_read[l] + RECORDS - c_at[l];
			c_at[l] = RECORDS
		:: v != PAD && v >= GAP(0) && v < MORE ->
			expect[l] = expect[l] + v - GAP(0);
			c_told[l] = c_told[l] + v - GAP(0);
			c_at[l]++;
			c_read[l]++
		:: else ->
			assert(v == EVENT(who[l], expect[l])); /* records */
			expect[l]++;
			c_at[l]++;
			c_read[l]++;
#ifdef PAIRS
			if
			:: c_at[l] < RECORDS && c_read[l] < c_head[l] &&
			   rec[AT(c_chunk[l], c_at[l])] == MORE ->
				assert(rec_rel[AT(c_chunk[l], c_at[l])] == 0);
				rec[AT(c_chunk[l], c_at[l])] = 0;
				c_at[l]++;
				c_read[l]++
			:: else
			fi
#endif
		fi;
		v = 0
	}
}

/* turn_over(): the next chunk; the one before the last goes back. */
inline turn_over(l)
{
	d_step {
		assert(OWNS(l, c_chunk[l]));
		/* records: of its own chain */
		assert(link_rel[c_chunk[l]] == 0 && link[c_chunk[l]] != 0);
		v = c_held[l];
		c_held[l] = c_chunk[l] + 1;
		c_chunk[l] = link[c_chunk[l]] - 1;
		c_at[l] = 0;
		assert(OWNS(l, c_chunk[l]))
	}
	if
	:: v != 0 -> lane_return(l, v - 1); v = 0
	:: else
	fi
}

#define NEXT(l) (c_read[l] < c_head[l] && c_at[l] < RECORDS)

/* lane_next(): as many as there are, or as are not later than the limit. */
inline drain_lane(l)
{
	do
#ifdef GIVE_EARLY
	:: NEXT(l) && c_at[l] == RECORDS - 1 -> give_chunk(c_chunk[l]); take(l)
	:: NEXT(l) && c_at[l] < RECORDS - 1 -> take(l)
#else
	:: atomic {
		NEXT(l) ->
		take(l);
		do
		:: NEXT(l) -> take(l)
		:: break
		od
	   }
#endif
	:: c_read[l] < c_head[l] && c_at[l] == RECORDS -> turn_over(l)
	:: !last || c_read[l] == c_head[l] -> break
	od
}

/* lane_release() */
inline lane_release(l)
{
	d_step {
		/* records: written = read + dropped */
		assert(expect[l] + dropped[l] - c_told[l] == written[l]);
#ifndef LOSE_UNUSED
		v = (c_at[l] == RECORDS && link_rel[c_chunk[l]] == 0 -> link[c_chunk[l]] : 0);
		assert(v == 0 || OWNS(l, v - 1))
#endif
	}
	if
	:: c_held[l] != 0 -> give_chunk(c_held[l] - 1)
	:: else
	fi;
	give_chunk(c_chunk[l]);
	if
	:: v != 0 -> give_chunk(v - 1)
	:: else
	fi;
	d_step {
		state[l] = FREE; state_seen[l] = FREE; head_seen[l] = 0;
		first[l] = 0; first_rel[l] = 0; head_rel[l] = 0; head_old[l] = 0;
		returned[l] = 0; dropped[l] = 0; who[l] = 0; expect[l] = 0; written[l] = 0;
		c_open[l] = false; c_orphan[l] = false; c_chunk[l] = 0; c_at[l] = 0;
		c_held[l] = 0; c_head[l] = 0; c_read[l] = 0; c_told[l] = 0;
		v = 0;
		nr_open--
	}
	give_lane(COLLECTOR, l)
}

#ifdef LANE_EARLY
#define DRAINED(l) true
#else
#define DRAINED(l) (c_read[l] == c_head[l])
#endif

/* The end of a poll of lane l. */
inline tidy(l)
{
	if
	:: c_open[l] && c_orphan[l] && DRAINED(l) -> lane_release(l)
	:: else
	fi;
	if
	:: c_open[l] && c_held[l] != 0 && !KEEP ->
		lane_return(l, c_held[l] - 1);
		c_held[l] = 0
	:: else
	fi
}

#define IS_READ(l) (!taken_lane[l] || (c_open[l] && c_read[l] == head[l] && !c_orphan[l]))

/* drain_look() */
inline look()
{
	lane_look(0);
	lane_look(1);
	drain_lane(0);
	drain_lane(1);
	tidy(0);
	tidy(1);
	d_step { calm = IS_READ(0) && IS_READ(1); c_head[0] = c_read[0]; c_head[1] = c_read[1] }
}

/* drain_orphans(), once, after a poll that follows the death. */
inline bury()
{
#ifdef ORPHANS_EARLY
	heard = dead;
#endif
	if
	:: d_step {
		heard && !buried ->
		c_orphan[0] = c_orphan[0] || (c_open[0] && who[0] == 1);
		c_orphan[1] = c_orphan[1] || (c_open[1] && who[1] == 1);
		buried = true
	   }
	:: else
	fi
}

/* All threads have ended: where are the units? */
inline count_units()
{
	d_step {
		v = CHUNKS - used;
		s = top;
		do
		:: s != 0 && v <= CHUNKS -> v++; s = link[s - 1]
		:: else -> break
		od;
		assert(v + lost_chunk == CHUNKS); /* the end */
		v = LANES - lused;
		s = ltop;
		do
		:: s != 0 && v <= LANES -> v++; s = llink[s - 1]
		:: else -> break
		od;
		assert(v + lost_lane == LANES); /* the end */
		v = 0;
		s = 0
	}
}

proctype collector()
{
	byte s, h, v, seen, i, j;
	bool last, heard, buried;
	byte state_seen[LANES], head_seen[LANES]; /* it does not see older ones */
	bool c_open[LANES], c_orphan[LANES];
	byte c_chunk[LANES], c_at[LANES], c_held[LANES], c_head[LANES], c_read[LANES];
	byte c_told[LANES]; /* of the dropped, those that gaps reported */
	byte nr_open;

	do
	:: atomic { !(over[0] && over[1]) -> heard = dead }
progress:
		look();
		bury()
	:: atomic { over[0] && over[1] -> heard = dead; last = true; break }
	od;
	look();
	bury();
	look();
#ifndef OWNERS_ONLY
	count_units()
#endif
}

init
{
	byte i;

	d_step {
		for (i : 1 .. STACKED) {
			link[i - 1] = (i < STACKED -> i + 1 : 0)
		}
		top = (STACKED > 0 -> 1 : 0);
		used = STACKED;
		i = 0
	}
	atomic {
		run thread(0);
		run thread(1);
		run collector()
	}
}
