/* SPDX-License-Identifier: MIT */
/*
 * corotracer/probe.h - the fast path: what runs in the traced program at every event.
 *
 * Three small structs and who owns them
 *   struct ctp_session   one per process: where the collector is.  Written by the
 *                        attaching thread, then only read.
 *   struct ctp_thread    one per thread, thread-local: its id and its clock.
 *   struct ctp_probe     one per coroutine, inside the coroutine: its station.
 *                        Touched by whoever runs the coroutine; the program's own
 *                        hand-over between threads orders those.
 *
 * An event costs a counter read, a multiplication, six stores into a cache line of
 * the coroutine's own and three predicted branches: no system call, no fence on
 * x86, one store fence on aarch64.  What is rare is out of line, in attach.h.
 *
 * Time
 *   Timestamps are CLOCK_MONOTONIC nanoseconds.  Reading the cycle counter is
 *   cheaper than asking for them, so a thread anchors its counter to the clock and
 *   extrapolates for a short window (at most CTP_CLOCK_WINDOW_NS, so that even a
 *   clock being slewed by 500 ppm is followed within 8 us).  A rate is used once two
 *   stretches agree on it: one over which the machine was suspended does not.  A
 *   collector of ours does the measuring and publishes it; without one the thread
 *   does.  Within a coroutine timestamps strictly increase, whichever threads it
 *   visits.
 *
 * Fork
 *   The session lies in a page that the kernel wipes in a forked child.  There the
 *   generation is 0, no thread's ticket fits, and nothing is written: a child never
 *   touches its parent's stations.
 */
#ifndef COROTRACER_PROBE_H
#define COROTRACER_PROBE_H

#include <corotracer/slot.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define CTP_CLOCK_WINDOW_NS 16000000u
#define CTP_CLOCK_SHIFT     32

struct ctp_session {
	uint64_t generation;  /* 0: not attached, or wiped by a fork */
	uint32_t *sleeping;   /* the flag that the collector sets before it sleeps */
	uint32_t needs_fence; /* 1: the collector does not membarrier for us */
	uint32_t state;       /* enum ctp_attach_state */
	struct ctp_station *stations;
	struct ctp_header *header;
	uint32_t nr_stations;
	int32_t sock;                 /* -1: no wake-ups */
	uint64_t sock_dev, sock_ino;  /* is the descriptor still our socket? */
	uint64_t base_ticks, base_ns; /* where the counter's rate is measured from */
	uint64_t pair_ticks;          /* how long reading clock and counter takes, undisturbed */
	uint32_t counter_usable;
	uint32_t clock_published; /* 1: the collector keeps the clock in the header */
	uint32_t features;        /* CTP_EXT_*: 0 under a collector that knows no extension */
	uint32_t renewing;        /* 1: a thread is connecting the socket anew */
	uint32_t renewals;        /* so often was that done */
	uint32_t never_sleeping;  /* always 0: what sleeping points to once waking is pointless */
};

/*
 * What outlives a fork: everything else about a session is in the wiped
 * page.  One of these per process.
 */
struct ctp_process {
	struct ctp_session *session; /* NULL until the first attach */
	uint64_t generations;        /* so many sessions so far, the parents' included */
	void *map;                   /* the region as last mapped */
	uint64_t map_size;
	int32_t sock;
	uint64_t sock_dev, sock_ino;
};

struct ctp_thread {
	uint64_t ticket; /* ~generation of the session this thread joined */
	uint64_t tid;
	uint64_t anchor_ticks;
	uint64_t window_ticks; /* 0: ask the clock every time */
	uint64_t anchor_ns;
	uint64_t mult; /* ns = ticks * mult >> CTP_CLOCK_SHIFT */
	/* While it measures by itself: from where, and what the last stretch came to. */
	uint64_t mark_ticks, mark_ns, mark_mult;
};

/* All zero: not traced. */
struct ctp_probe {
	struct ctp_station *station;
	uint64_t nr_events;
	uint64_t last_ns;
};

/*
 * Out of line: once per thread, once per window, once per sleep.  They come from
 * libcorotracer, unless whoever includes this says that they are its own.
 */
#ifndef CTP_SLOW_LINKAGE
#define CTP_SLOW_LINKAGE extern
#endif

#ifdef __cplusplus
extern "C" {
#endif
CTP_SLOW_LINKAGE int ctp_thread_join(struct ctp_thread *t, const struct ctp_session *s);
CTP_SLOW_LINKAGE uint64_t ctp_clock_anchor(struct ctp_thread *t, const struct ctp_session *s);
CTP_SLOW_LINKAGE void ctp_wake(struct ctp_session *s);
#ifdef __cplusplus
}
#endif

static inline uint64_t ctp_ticks(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return 0;
#endif
}

/* Is this thread known to the session, or can it be made so? */
static inline int ctp_thread_ready(struct ctp_thread *t, const struct ctp_session *s)
{
	if (ctp_likely(t->ticket == ~ctp_load_relaxed(&s->generation)))
		return 1;
	return ctp_thread_join(t, s);
}

static inline uint64_t ctp_now_ns(struct ctp_thread *t, const struct ctp_session *s)
{
	uint64_t passed = ctp_ticks() - t->anchor_ticks;

	if (ctp_unlikely(passed >= t->window_ticks))
		return ctp_clock_anchor(t, s);
	return t->anchor_ns + ((passed * t->mult) >> CTP_CLOCK_SHIFT);
}

/* Write one transition at @now.  The probe has a station, the thread is ready. */
static inline void ctp_probe_put(struct ctp_probe *p, const struct ctp_thread *t, uint64_t now,
				 uint64_t addr, uint8_t is_active)
{
	uint64_t k = p->nr_events;

	/* Two threads' clocks may differ by a few ns; a coroutine's time goes forward. */
	if (ctp_unlikely(now <= p->last_ns))
		now = p->last_ns + 1;
	p->last_ns = now;
	p->nr_events = k + 1;
	ctp_slot_write(&p->station->slots[k % CTP_SLOTS], 2 * (k / CTP_SLOTS) + 2, now, t->tid,
		       addr, is_active);
}

static inline void ctp_wake_if_asleep(struct ctp_session *s)
{
	/*
	 * (C) pairs with the barrier in the collector's sleep_announce().  A store and
	 * a later load of something else must not change places: the collector's
	 * membarrier does that for us, in every running thread, just when it matters.
	 * Where it cannot, we pay.
	 */
	if (ctp_unlikely(s->needs_fence))
		ctp_fence_full();
	if (ctp_unlikely(ctp_load_relaxed(ctp_load_relaxed(&s->sleeping))))
		ctp_wake(s);
}

/* One transition of a traced coroutine. */
static inline void ctp_probe_write(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session *s,
				   uint64_t addr, uint8_t is_active)
{
	if (ctp_unlikely(!ctp_thread_ready(t, s)))
		return;
	ctp_probe_put(p, t, ctp_now_ns(t, s), addr, is_active);
	ctp_wake_if_asleep(s);
}

/* One coroutine hands the thread to another: two transitions, one look at the clock. */
static inline void ctp_probe_switch(struct ctp_probe *from, struct ctp_probe *to,
				    struct ctp_thread *t, struct ctp_session *s, uint64_t addr)
{
	uint64_t now;

	if (ctp_unlikely(!ctp_thread_ready(t, s)))
		return;
	now = ctp_now_ns(t, s);
	if (ctp_likely(from->station != NULL))
		ctp_probe_put(from, t, now, addr, 0);
	if (ctp_likely(to->station != NULL))
		ctp_probe_put(to, t, now, 0, 1);
	ctp_wake_if_asleep(s);
}

#endif
