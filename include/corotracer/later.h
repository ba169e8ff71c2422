/* SPDX-License-Identifier: MIT */
/*
 * corotracer/later.h - coroutines that are created while another thread still attaches.
 *
 * An attach takes about 100 us, once per process, and longer on an overloaded machine.  Other
 * threads wait for it (ctp_attach_await()), but not for long: then their coroutines start
 * untraced, to be traced later.  The address ctp_later in a probe marks such a coroutine and
 * directs all its events to the slow path.
 *
 *   - An event before the session is published is counted in the probe and in the session.
 *   - At the first event after that the coroutine is created in the trace, with a new id, but
 *     without a name, a parent and a site.  Its earlier transitions are reported as its losses.
 *   - Without a collector the coroutine is untraced from its next event on.
 *
 * The session's counts are added to the region as soon as it is mapped (ctp_later_deliver()):
 * events to `homeless` and `homeless_marks`, which every collector reads; coroutines to `later`,
 * which decreases when one of them is traced after all.
 *
 * Included by lane_slow.h.
 */
#ifndef COROTRACER_LATER_H
#define COROTRACER_LATER_H

#include <corotracer/clock.h>
#include <corotracer/probe.h>

#include <string.h>
#include <unistd.h>

#include <corotracer/header_begin.h>

/* The address must be the same in all objects of a program: C++ makes it an inline variable. */
#ifndef CTP_LATER_LINKAGE
#define CTP_LATER_LINKAGE static
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Only its address is used; an object built with an earlier header may write into it. */
CTP_LATER_LINKAGE struct ctp_station ctp_later;

static inline int ctp_is_later(const struct ctp_probe *p)
{
	return p->station == &ctp_later;
}

/* Add the session's counts to the region.  Call only after the session is published. */
CTP_SLOW void ctp_later_deliver(struct ctp_session *s)
{
	uint64_t transitions = ctp_exchange_relaxed(&s->untraced, UINT64_C(0));
	uint64_t marks = ctp_exchange_relaxed(&s->untraced_marks, UINT64_C(0));
	uint64_t coroutines = ctp_exchange_relaxed(&s->later, UINT64_C(0));

	/* The plain protocol has no field for these counts. */
	if (!s->lanes || !(transitions | marks | coroutines))
		return;
	ctp_fetch_add_relaxed(&s->lanes->homeless, transitions);
	ctp_fetch_add_relaxed(&s->lanes->homeless_marks, marks);
	ctp_fetch_add_relaxed(&s->lanes->untraced, transitions);
	ctp_fetch_add_relaxed(&s->lanes->later, coroutines);
}

/* Count what could not be written because the session is not published yet. */
CTP_SLOW void ctp_later_count(struct ctp_session *s, uint64_t transitions, uint64_t marks,
			      uint64_t coroutines)
{
	ctp_fetch_add_relaxed(&s->untraced, transitions);
	ctp_fetch_add_relaxed(&s->untraced_marks, marks);
	ctp_fetch_add_relaxed(&s->later, coroutines);
	/*
	 * (ctp-O) pairs with the fence in ctp_session_publish(): either the attaching thread sees
	 * the counts, or this thread sees the session.
	 */
	ctp_fence_full();
	/* (ctp-F) pairs with the release store in ctp_session_publish(). */
	if (ctp_load_acquire(&s->generation))
		ctp_later_deliver(s);
}

static inline int ctp_is_attaching(const struct ctp_session *s)
{
	return ctp_load_relaxed(&s->state) == CTP_ATTACH_BUSY;
}

/* Count an event without a coroutine, or of a coroutine that is still untraced. */
CTP_SLOW void ctp_later_mark(struct ctp_session *s)
{
	if (ctp_is_attaching(s) || ctp_load_relaxed(&s->generation))
		ctp_later_count(s, 0, 1, 0);
}

/* A coroutine is created, to be traced later. */
CTP_SLOW void ctp_later_begin(struct ctp_probe *p, struct ctp_session *s)
{
	memset(p, 0, sizeof(*p));
	p->station = &ctp_later;
	p->last_ns = (uint64_t)getpid(); /* owner: a forked child must not trace it */
	ctp_later_count(s, 0, 0, 1);
}

#ifdef __cplusplus
}
#endif

#include <corotracer/header_end.h>

#endif
