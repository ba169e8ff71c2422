/* SPDX-License-Identifier: MIT */
/*
 * corotracer/later.h - coroutines that begin while another thread still joins the collector.
 *
 * Joining takes some 100 us, once in the life of a process, and longer on a machine with too much
 * to do.  Other threads wait for it (ctp_attach_await()), but not for long: then their coroutines
 * begin untraced, to be traced later.  The address ctp_later in a probe says so, and leads every
 * event of the coroutine to the slow path.
 *
 *   - An event before the session is published is counted: in the probe and in the session.
 *   - The first event after that begins the coroutine's life: with a new id, without a name, a
 *     parent and a place of birth.  Its earlier transitions are told as lost by this coroutine.
 *   - If there turns out to be no collector, the coroutine is untraced from its next event on.
 *
 * The session's counts go to the region as soon as there is one (ctp_later_deliver()): events to
 * `homeless` and `homeless_marks`, where every collector looks for them; coroutines to `later`,
 * from which those that are traced after all are taken away again.
 *
 * Included by lane.h.
 */
#ifndef COROTRACER_LATER_H
#define COROTRACER_LATER_H

#include <corotracer/clock.h>
#include <corotracer/probe.h>

#include <string.h>
#include <unistd.h>

/* One address for all objects of a program: C++ makes it an inline variable. */
#ifndef CTP_LATER_LINKAGE
#define CTP_LATER_LINKAGE static
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Only its address means something; an object built with an earlier header may write into it. */
CTP_LATER_LINKAGE struct ctp_station ctp_later;

static inline int ctp_is_later(const struct ctp_probe *p)
{
	return p->station == &ctp_later;
}

/* Hand the session's counts to the collector.  Only once the session is published. */
CTP_SLOW void ctp_later_deliver(struct ctp_session *s)
{
	uint64_t transitions = ctp_exchange_relaxed(&s->untraced, UINT64_C(0));
	uint64_t marks = ctp_exchange_relaxed(&s->untraced_marks, UINT64_C(0));
	uint64_t coroutines = ctp_exchange_relaxed(&s->later, UINT64_C(0));

	/* A station has no place for them. */
	if (!s->lanes || !(transitions | marks | coroutines))
		return;
	ctp_fetch_add_relaxed(&s->lanes->homeless, transitions);
	ctp_fetch_add_relaxed(&s->lanes->homeless_marks, marks);
	ctp_fetch_add_relaxed(&s->lanes->untraced, transitions);
	ctp_fetch_add_relaxed(&s->lanes->later, coroutines);
}

/* Count what could not be written because there is no session yet. */
CTP_SLOW void ctp_later_count(struct ctp_session *s, uint64_t transitions, uint64_t marks,
			      uint64_t coroutines)
{
	ctp_fetch_add_relaxed(&s->untraced, transitions);
	ctp_fetch_add_relaxed(&s->untraced_marks, marks);
	ctp_fetch_add_relaxed(&s->later, coroutines);
	/*
	 * (O) pairs with the fence in ctp_session_publish(): the thread that attaches finds the
	 * counts, or this one finds the session.
	 */
	ctp_fence_full();
	/* (F) pairs with the release store in ctp_session_publish(). */
	if (ctp_load_acquire(&s->generation))
		ctp_later_deliver(s);
}

/* Is some thread still joining the collector? */
static inline int ctp_is_attaching(const struct ctp_session *s)
{
	return ctp_load_relaxed(&s->state) == CTP_ATTACH_BUSY;
}

/* An event that belongs to no coroutine, or to one that stays untraced for now. */
CTP_SLOW void ctp_later_mark(struct ctp_session *s)
{
	if (ctp_is_attaching(s) || ctp_load_relaxed(&s->generation))
		ctp_later_count(s, 0, 1, 0);
}

/* A coroutine begins, and will be traced later. */
CTP_SLOW void ctp_later_begin(struct ctp_probe *p, struct ctp_session *s)
{
	memset(p, 0, sizeof(*p));
	p->station = &ctp_later;
	p->last_ns = (uint64_t)getpid(); /* in a forked child it is the parent's */
	ctp_later_count(s, 0, 0, 1);
}

#ifdef __cplusplus
}
#endif

#endif
