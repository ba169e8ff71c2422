/* SPDX-License-Identifier: MIT */
/*
 * sleep.pml - sleep and wake: no event is left behind, and no wake-up is without a sleep.
 *
 * The collector of collector.c, SDK writers (OURS: no fence of their own, registered for
 * membarrier) and foreign ones (the plain protocol: a full fence after each event, a
 * flag of their own).  docs/proof.md has the table from each step to its function.
 *
 * Memory
 *   A store is visible to its thread at once, and to the others later: an event is
 *   unseen[] when its writer has made it and others cannot see it, waiting[] when the
 *   collector can see it and has not; a flag that the collector stores is in late[]
 *   until it is in flag[].  The process memory makes one store visible at any time, in any
 *   order.  This is a store buffer that does not even keep its order; a load that
 *   overtakes an earlier store, the only relevant effect here, has the same result.  How a
 *   slot is read whole is Slot.v's subject: here an event is one store.  A
 *   compare-and-swap acts on flag[] and makes nothing else visible.
 *
 *   The model does not count events, it keeps whether there are any: so a writer makes
 *   any number of them, and may stop for ever at any point.  With three writers that is
 *   too much to search in a test; there EVENTS bounds what each of them makes.
 *
 * Verified, in every state of every run
 *   left behind   never: the collector is in poll, no byte and no hang-up is there or on
 *                 its way, and an event has not been collected, visible or not.  The
 *                 model has no patrol: waking does not need it.
 *   storm         never: more wake-ups than announcements of sleep, for either flag.
 *   deadlock      no process is stuck; the writers never wait.
 *
 * Parameters (-D): OURS and WRITERS, how many there are; EVENTS, if each makes a few only.
 * Variants: WRITERS_DIE (one may be killed anywhere), COLLECTOR_DIES.
 * Mutations, each of which must be caught: NO_MEMBARRIER, NO_OWN_BARRIER, NO_RESCAN,
 * RESCAN_FIRST, PLAIN_STORE, NO_FOREIGN_FENCE, ONE_FLAG, and NO_HANGUP with WRITERS_DIE.
 */
#ifndef OURS
#define OURS 1 /* writers 0 .. OURS - 1 */
#endif
#ifndef WRITERS
#define WRITERS 2 /* the rest are foreign */
#endif

#define FLAG(w) ((w) < OURS -> 0 : 1) /* 0: the extension's sleeping, 1: tracer_sleeping */

bool unseen[WRITERS];  /* events that only their writer sees */
bool waiting[WRITERS]; /* events that are there to be collected */
bool busy[WRITERS];    /* between making an event and checking the flag */

bool flag[2];
bool late[2], late_value[2]; /* the collector's store that the others do not see yet */

bool byte_in[WRITERS]; /* the socket has room for one byte */
bool hangup[WRITERS];  /* the writer is dead, and the collector has not noticed */
bool deaf[WRITERS];    /* the writer has found that the collector is dead */
bool dying[WRITERS];   /* the writer is being killed */
bool asleep;           /* the collector is in poll */
bool gone;             /* the collector was killed */
byte tokens[2];        /* sleeps announced and not answered by a wake-up */

#define SEEN(f) (late[f] -> late_value[f] : flag[f]) /* the collector's own view */

#if WRITERS == 2
#define ANY(array) (array[0] || array[1])
#else
#define ANY(array) (array[0] || array[1] || array[2])
#endif

/* ---- memory ------------------------------------------------------------------- */

/* Of several unseen events the first may become visible, and the rest not yet. */
#define REVEAL(w)                                                                          \
	:: d_step { unseen[w] -> unseen[w] = false; waiting[w] = true }                    \
	:: d_step { unseen[w] && !waiting[w] -> waiting[w] = true }

active proctype memory()
{
end:
	do
	REVEAL(0)
	REVEAL(1)
#if WRITERS > 2
	REVEAL(2)
#endif
	:: d_step { late[0] -> flag[0] = late_value[0]; late[0] = false }
	:: d_step { late[1] -> flag[1] = late_value[1]; late[1] = false }
	od
}

/* A full barrier in writer w. */
inline drain_writer(w)
{
	d_step {
		waiting[w] = waiting[w] || unseen[w];
		unseen[w] = false
	}
}

/* A full barrier in the collector. */
inline drain_flags()
{
	d_step {
		flag[0] = SEEN(0);
		flag[1] = SEEN(1);
		late[0] = false;
		late[1] = false;
		late_value[0] = false;
		late_value[1] = false
	}
}

/* ---- a writer: ctp_probe_write(), ctp_wake_if_asleep(), ctp_wake() ---------------- */

/* The thread that changes the flag from 1 to 0 sends the byte. */
inline win(w)
{
	atomic {
#ifndef PLAIN_STORE
		if
		:: !flag[FLAG(w)] -> busy[w] = false; goto next
		:: else
		fi;
#endif
		flag[FLAG(w)] = false;
		assert(tokens[FLAG(w)] > 0); /* storm */
		tokens[FLAG(w)]--
	}
}

/*
 * One byte, without waiting. A full socket (EAGAIN) already holds bytes that wake the collector.
 * When the collector is dead (EPIPE): set the flag again for other writers, and do not check it
 * any more.
 */
inline send_byte(w)
{
	if
	:: d_step { !gone -> byte_in[w] = true; busy[w] = false }
	:: gone ->
		d_step {
			if
			:: !flag[FLAG(w)] -> flag[FLAG(w)] = true; tokens[FLAG(w)]++
			:: else
			fi
		}
		d_step { deaf[w] = true; busy[w] = false }
	fi
}

proctype writer(byte me)
{
#ifdef EVENTS
	byte made;
#endif

	{
next:
		do
#ifdef EVENTS
		:: d_step { made < EVENTS -> made++; busy[me] = true; unseen[me] = true }
#else
		:: d_step { busy[me] = true; unseen[me] = true }
#endif
#ifndef NO_FOREIGN_FENCE
			if
			:: me >= OURS -> drain_writer(me) /* (ctp-C) its own fence */
			:: else
			fi;
#endif
			if
			:: d_step { deaf[me] || !flag[FLAG(me)] -> busy[me] = false }
			:: !deaf[me] && flag[FLAG(me)] ->
				win(me);
				send_byte(me)
			fi
		:: break
		od;
end:
		false /* alive, and silent from now on */
	} unless { dying[me] };
	/* Killed.  Dying is a barrier; after it the kernel closes the socket. */
	d_step {
		busy[me] = false;
		waiting[me] = waiting[me] || unseen[me];
		unseen[me] = false;
#ifndef NO_HANGUP
		hangup[me] = !gone
#endif
	}
}

/* ---- the collector: collect(), sleep_until_woken() ---------------------------------- */

inline look(w)
{
	d_step {
		found = found || waiting[w];
		waiting[w] = false
	}
}

inline scan()
{
	look(0);
	look(1);
#if WRITERS > 2
	look(2);
#endif
	skip
}

/* endpoint_serve() */
inline serve()
{
	d_step {
		byte_in[0] = false; hangup[0] = false;
		byte_in[1] = false; hangup[1] = false;
#if WRITERS > 2
		byte_in[2] = false; hangup[2] = false;
#endif
		found = false
	}
}

inline set_flag(f, value)
{
	d_step {
		late[f] = true;
		late_value[f] = value;
		if
		:: value && tokens[f] < 2 -> tokens[f]++
		:: else
		fi
	}
}

inline set_sleeping(value)
{
#ifndef ONE_FLAG
	set_flag(1, value);
#endif
	set_flag(0, value)
}

#ifndef ONE_FLAG
#define STILL_SLEEPING (SEEN(0) && SEEN(1))
#else
#define STILL_SLEEPING SEEN(0)
#endif

/* (ctp-C) the collector's own barrier, and one in every registered writer, each at its own time. */
inline membarrier()
{
#ifndef NO_OWN_BARRIER
	drain_flags();
#endif
#if !defined(NO_MEMBARRIER) && OURS > 0
	drain_writer(0);
#if OURS > 1
	drain_writer(1);
#endif
#endif
	found = false
}

inline sleep_until_woken()
{
#ifdef RESCAN_FIRST
	scan();
#endif
	set_sleeping(true);
	membarrier();
	do
	:: true ->
#if !defined(NO_RESCAN) && !defined(RESCAN_FIRST)
		scan();
		if
		:: found -> break
		:: else
		fi;
#endif
		asleep = true;
end_poll:
		atomic { ANY(byte_in) || ANY(hangup) -> asleep = false }
		serve();
		if
		:: STILL_SLEEPING
		:: else -> break
		fi
	od;
	found = false;
	set_sleeping(false)
}

/* Awake: it polls and perhaps serves its sockets, any number of times. */
inline collect()
{
	do
	:: sleep_until_woken();
		do
		:: scan()
		:: serve()
		:: break
		od
	od
}

proctype collector()
{
	bool found;

	{
		collect()
	} unless { gone };
	/* Killed, perhaps with the flags at 1 for ever; the kernel closes its sockets. */
	asleep = false
}

/* ---- killing and observing ----------------------------------------------------------- */

#ifdef WRITERS_DIE
active proctype writers_killer()
{
end:
	if
	:: dying[0] = true
	:: dying[WRITERS - 1] = true
	fi
}
#endif

#ifdef COLLECTOR_DIES
active proctype collector_killer()
{
end:
	gone = true
}
#endif

active proctype watch()
{
end:
	atomic {
		asleep && !gone && !ANY(byte_in) && !ANY(hangup) && !ANY(busy) &&
		(ANY(waiting) || ANY(unseen)) -> assert(false) /* left behind */
	}
}

init
{
	atomic {
		run writer(0);
		run writer(1);
#if WRITERS > 2
		run writer(2);
#endif
		run collector()
	}
}
