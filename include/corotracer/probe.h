/* SPDX-License-Identifier: MIT */
/*
 * corotracer/probe.h - the fast path: the code that a program runs at every event.
 *
 * Three structs and their owners
 *   struct ctp_session   one per process: the connection to the collector.  Written by
 *                        the attaching thread, then only read.
 *   struct ctp_thread    one per thread, thread-local: its id, its lane, its clock.
 *   struct ctp_probe     one per coroutine, embedded in the coroutine: a pointer to its
 *                        ctp_life or to its station.  Accessed by the thread that runs
 *                        the coroutine; the hand-over between threads in the program's
 *                        scheduler orders these accesses.
 *
 * Two ways to write
 *   Under a collector that offers lanes, an event is a record in the thread's lane, and
 *   a cache line of the coroutine (its ctp_life) holds its last state.  The cost is a
 *   counter read, a dozen stores into cache lines that no other thread writes and five
 *   predicted branches; no fence, no system call, and no event is lost while there is
 *   memory.  Under any other collector an event goes into a slot of the coroutine's
 *   station.  Rare cases are out of line, in attach.h and lane_slow.h.
 *
 * Time
 *   A record carries the raw cycle counter; the collector converts it to a time.  A slot
 *   carries the time itself, in CLOCK_MONOTONIC nanoseconds.  A read of the cycle counter
 *   is cheaper than a read of the clock, so a thread anchors its counter to the clock and
 *   extrapolates for a short window (at most CTP_CLOCK_WINDOW_NS, so that even a clock
 *   that is slewed by 500 ppm is followed within 8 us).  A rate is used once two
 *   measurements agree on it: a measurement during which the machine was suspended does
 *   not agree.  A collector with CTP_EXT_CLOCK measures the rate and publishes it;
 *   otherwise the thread measures.  Timestamps of a coroutine strictly increase, also
 *   when it moves between threads, and those of a lane do not decrease.
 *
 * Fork
 *   The session is in a page that the kernel wipes in a forked child.  There the
 *   generation is 0, no thread's ticket matches, and no event is written: a child
 *   never writes into the stations of its parent.
 */
#ifndef COROTRACER_PROBE_H
#define COROTRACER_PROBE_H

#include <corotracer/inherit.h>
#include <corotracer/lanes.h>
#include <corotracer/request.h>
#include <corotracer/slot.h>

#include <corotracer/header_begin.h>

#define CTP_CLOCK_WINDOW_NS 16000000u
#define CTP_CLOCK_SHIFT     32

/* A pool of the region, as mapped by this process. */
struct ctp_arena {
	struct ctp_pool *pool; /* [shared] */
	char *units;
	uint32_t unit;  /* bytes */
	uint32_t limit; /* as the collector stored it at the start */
};

#define CTP_PATH_SIZE 1024

enum ctp_attach_state {
	CTP_ATTACH_NEVER = 0, /* also in a child, after the fork wiped the page */
	CTP_ATTACH_BUSY,      /* a thread is attaching */
	CTP_ATTACH_DONE,
	CTP_ATTACH_FAILED, /* no collector, or an incompatible one */
	CTP_ATTACH_LEFT,   /* detached, or attaching by request: not the process's session yet */
};

struct ctp_session {
	uint64_t generation;  /* 0: not attached, or wiped by a fork */
	uint32_t *sleeping;   /* the flag that the collector sets before it sleeps */
	uint32_t needs_fence; /* 1: no membarrier() by the collector for this process (yet) */
	uint32_t state;       /* enum ctp_attach_state */
	struct ctp_station *stations;
	struct ctp_header *header;
	uint32_t nr_stations;
	int32_t sock;                 /* -1: the collector is not woken */
	uint64_t sock_dev, sock_ino;  /* identify the socket: the program may have closed it */
	uint64_t base_ticks, base_ns; /* start of the first rate measurement */
	uint64_t pair_ticks;          /* shortest time to read clock and counter */
	uint32_t counter_usable;
	uint32_t clock_published;    /* 1: the collector publishes the clock in the header */
	uint32_t features;           /* CTP_EXT_*; 0 under a collector without extensions */
	uint32_t renewing;           /* 1: a thread is reconnecting the socket */
	uint32_t renewals;           /* number of reconnects */
	uint32_t never_sleeping;     /* always 0: target of sleeping once wake-ups are impossible */
	struct ctp_ext_lanes *lanes; /* [shared] NULL: fall back to stations */
	struct ctp_arena lane_pool, chunk_pool, life_pool, site_pool;
	/* The region's file and the socket, to open them again. */
	uint64_t shm_dev, shm_ino;
	char shm_path[CTP_PATH_SIZE], sock_path[CTP_PATH_SIZE];
	uint8_t *seen_chunks; /* by chunk number: 1 if this process has its pages mapped */
	uint64_t refused_ns;  /* time of the last failed fallocate() */
	uint32_t lane_chunks, on_full, block_ms;
	uint32_t has_key; /* 1: thread_key exists; its destructor runs when a thread ends */
	uint32_t thread_key;
	/* Used while state is CTP_ATTACH_BUSY: see later.h. */
	uint64_t busy_ns;                  /* start of the attach */
	uint64_t untraced, untraced_marks; /* lost events, not yet added to the region */
	uint64_t later;                    /* new coroutines, not yet added to the region */
	struct ctp_spare *spares;          /* lanes of threads that have ended: see lane_slow.h */
	uint32_t nr_spares;
	uint32_t by_order;           /* 1: attached by a request, see request_slow.h */
	struct ctp_request *request; /* NULL: an object built with an earlier header attached */
	uint64_t owner;              /* pid: marks the coroutines of this process */
	uint64_t first;              /* generation of the first session with this region */
	uint32_t site_tag;           /* upper half of the cached numbers of this region's sites */
	/* Descriptors that the collector left open in this process. */
	struct ctp_inherited region_fd, door;
};

/* The page may have been mapped by another object of the program, built with fewer fields. */
CTP_STATIC_ASSERT(sizeof(struct ctp_session) <= 4096, "a session has a page");

/*
 * State that survives a fork; all other state of a session is in the wiped page.  One per process.
 */
struct ctp_process {
	struct ctp_session *session; /* NULL until the first attach */
	uint64_t generations;        /* sessions so far, also of parent processes */
	void *map;                   /* the last mapping of the region */
	uint64_t map_size;
	uint8_t *seen_chunks; /* the last mapping of seen_chunks */
	uint64_t seen_size;
	uint32_t has_key; /* 1: thread_key exists; its destructor runs when a thread ends */
	uint32_t thread_key;
	int32_t sock;
	uint32_t is_registered; /* 1: for membarrier(2) by the collector */
	uint64_t sock_dev, sock_ino;
};

#define CTP_STASH 32u

struct ctp_thread {
	uint64_t ticket; /* ~generation of the session that this thread joined */
	uint64_t tid;
	/* The lane; all 0 if the thread has none. */
	struct ctp_record *at;    /* where the next record goes */
	struct ctp_record *limit; /* end of the space for the inline fast path */
	uint64_t head_bias;       /* at + head_bias is the lane's head */
	struct ctp_lane *lane;    /* [shared] */
	struct ctp_record *end;   /* end of the chunk */
	struct ctp_chunk *chunk;
	uint32_t counts_ns;   /* 1: the cycle counter is unusable, records carry clock ns */
	uint32_t always_slow; /* 1: no inline writes: counts_ns is set or a fence is needed */
	uint32_t nr_stash;
	uint32_t stash[CTP_STASH]; /* numbers of ctp_life units that this thread has freed */
	/* Used while the lane is full. */
	uint64_t gap_ticks, gap_transitions, gap_marks;
	uint32_t gave_up; /* 1: a wait timed out; do not wait again before a chunk is given back */
	uint32_t gave_up_at; /* chunks given back at the time of the timeout */
	/* The clock, for events in stations. */
	uint64_t anchor_ticks;
	uint64_t window_ticks; /* 0: read the clock at every event */
	uint64_t anchor_ns;
	uint64_t mult; /* ns = ticks * mult >> CTP_CLOCK_SHIFT */
	/* Used when the thread measures the rate: start of the measurement, and the last rate. */
	uint64_t mark_ticks, mark_ns, mark_mult;
};

/*
 * All zero: never traced.  A coroutine that was created while the program was not attached has only
 * last_ns, the session's owner at that time: it is adopted when the program attaches.  So has one
 * with a ctp_life, besides, to be adopted by the next session.
 */
struct ctp_probe {
	struct ctp_life *life;       /* set under a collector that offers lanes */
	struct ctp_station *station; /* set under any other collector */
	uint64_t nr_events;
	uint64_t last_ns;
};

/*
 * Out of line: once per thread, once per window, once per sleep.  libcorotracer defines these
 * functions, unless the including file sets CTP_SLOW_LINKAGE to define its own.
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
CTP_SLOW_LINKAGE void ctp_event_slow(struct ctp_probe *p, struct ctp_thread *t,
				     struct ctp_session *s, uint64_t addr, uint32_t what,
				     uint64_t resource);
CTP_SLOW_LINKAGE void ctp_switch_slow(struct ctp_probe *from, struct ctp_probe *to,
				      struct ctp_thread *t, struct ctp_session *s, uint64_t addr,
				      uint32_t what);
#ifdef __cplusplus
}
#endif

/*
 * The cycle counter.  The aarch64 counter may be as slow as 19 MHz, 50 ns per tick, so ticks are
 * units of 1/32 of its period: the events of a coroutine need different times, and with whole
 * periods a burst of events within one period would run ahead of the clock.
 */
#define CTP_TICKS_SHIFT 5

static inline uint64_t ctp_ticks(void)
{
#if defined(__x86_64__)
	/* __rdtsc() of <x86intrin.h>, without its 47,000 lines. */
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks << CTP_TICKS_SHIFT;
#else
	return 0;
#endif
}

/* 1 if this thread has joined the session, or joins it now. */
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

/* Write one transition at @now.  The probe must have a station and the thread must be ready. */
static inline void ctp_probe_put(struct ctp_probe *p, const struct ctp_thread *t, uint64_t now,
				 uint64_t addr, uint8_t is_active)
{
	uint64_t k = p->nr_events;

	/* Two threads' clocks may differ by a few ns; the times of a coroutine must increase. */
	if (ctp_unlikely(now <= p->last_ns))
		now = p->last_ns + 1;
	p->last_ns = now;
	p->nr_events = k + 1;
	/* (ctp-A) pairs with the load-load fence in the collector's has_company(). */
	ctp_fence_handover();
	ctp_slot_write(&p->station->slots[k % CTP_SLOTS], 2 * (k / CTP_SLOTS) + 2, now, t->tid,
		       addr, is_active);
}

static inline void ctp_wake_if_asleep(struct ctp_session *s)
{
	/*
	 * (ctp-C) pairs with the barrier in the collector's sleep_announce().  The event's store
	 * must not be reordered with the load of `sleeping`.  The collector's membarrier() ensures
	 * it in every running thread when it goes to sleep; without membarrier() this fence does.
	 */
	if (ctp_unlikely(ctp_load_relaxed(&s->needs_fence)))
		ctp_fence_full();
	if (ctp_unlikely(ctp_load_relaxed(ctp_load_relaxed(&s->sleeping))))
		ctp_wake(s);
}

static inline void ctp_probe_write(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session *s,
				   uint64_t addr, uint8_t is_active)
{
	if (!p->station || !ctp_thread_ready(t, s))
		return;
	ctp_probe_put(p, t, ctp_now_ns(t, s), addr, is_active);
	ctp_wake_if_asleep(s);
}

/* One coroutine hands the thread to another: two transitions with one read of the clock. */
static inline void ctp_probe_switch(struct ctp_probe *from, struct ctp_probe *to,
				    struct ctp_thread *t, struct ctp_session *s, uint64_t addr)
{
	uint64_t now;

	if (!ctp_thread_ready(t, s))
		return;
	now = ctp_now_ns(t, s);
	if (from->station)
		ctp_probe_put(from, t, now, addr, 0);
	if (to->station)
		ctp_probe_put(to, t, now, 0, 1);
	ctp_wake_if_asleep(s);
}

/* ---- lanes ------------------------------------------------------------------ */

/* An event in one word: its record's kind, reason and site. */
#define CTP_WHAT(kind, reason, site) \
	((uint32_t)(kind) | (uint32_t)(reason) << 8 | (uint32_t)(site) << 16)

/* 1 if this thread can write @nr records inline. */
static inline int ctp_lane_fits(const struct ctp_thread *t, const struct ctp_session *s,
				uint32_t nr)
{
	return t->ticket == ~ctp_load_relaxed(&s->generation) &&
	       (int64_t)((char *)t->limit - (char *)t->at) >=
		       (int64_t)(nr * sizeof(struct ctp_record));
}

/* Make the @nr records at t->at visible to the collector. */
static inline void ctp_lane_publish(struct ctp_thread *t, struct ctp_session *s, uint32_t nr)
{
	struct ctp_record *at = t->at + nr;

	t->at = at;
	/* (ctp-H) pairs with the acquire load in the collector's lane_look(). */
	ctp_store_release(&t->lane->head, (uint64_t)(uintptr_t)at + t->head_bias);
	/* (ctp-C) pairs with the barrier in the collector's sleep_announce(), needed by this load.
	 */
	if (ctp_unlikely(ctp_load_relaxed(ctp_load_relaxed(&s->sleeping))))
		ctp_wake(s);
}

static inline void ctp_record_put(struct ctp_record *r, uint64_t ticks, uint64_t id, uint64_t value,
				  uint32_t seq, uint32_t what)
{
	r->ticks = ticks;
	r->id = id;
	r->value = value;
	r->seq = seq;
	r->site = (uint16_t)(what >> 16);
	r->kind = (uint8_t)what;
	r->reason = (uint8_t)(what >> 8);
}

static inline void ctp_record_put_more(struct ctp_record *r, uint64_t resource, uint64_t lost)
{
	struct ctp_record_more *more = (struct ctp_record_more *)(void *)r;

	more->resource = resource;
	more->lost = lost;
	more->kind = CTP_REC_MORE;
}

/*
 * The time of a record that is written into @lane: @now, or the time of the last record if that is
 * later.  The times of a lane do not decrease, and the collector relies on it when it merges lanes.
 * The counter alone does not ensure it: while it stands still, the times of a coroutine increase
 * and run ahead of it.
 */
static inline uint64_t ctp_lane_tick(struct ctp_lane *lane, uint64_t now)
{
	uint64_t last = ctp_load_relaxed(&lane->last_ticks);

	if (ctp_unlikely(now < last))
		now = last;
	ctp_store_relaxed(&lane->last_ticks, now);
	return now;
}

/* As ctp_lane_tick(), and the times of a coroutine increase, also from one thread to another. */
static inline uint64_t ctp_life_tick(struct ctp_life *l, struct ctp_lane *lane, uint64_t now)
{
	uint64_t last = ctp_load_relaxed(&l->last_ticks);
	uint64_t floor = ctp_load_relaxed(&lane->last_ticks);

	if (ctp_unlikely(now < floor))
		now = floor;
	if (ctp_unlikely(now <= last))
		now = last + 1;
	ctp_store_relaxed(&l->last_ticks, now);
	ctp_store_relaxed(&lane->last_ticks, now);
	return now;
}

/* Count one transition; returns its number. */
static inline uint32_t ctp_life_count(struct ctp_life *l)
{
	uint64_t k = ctp_load_relaxed(&l->events);

	ctp_store_relaxed(&l->events, k + 1);
	return (uint32_t)k;
}

/* Write one transition of @l as a record at @r of @lane.  The caller publishes it. */
static inline void ctp_life_suspend(struct ctp_life *l, struct ctp_lane *lane, struct ctp_record *r,
				    uint64_t id, uint64_t now, uint64_t addr, uint32_t what)
{
	/* (ctp-M) pairs with the load-load fence in the collector's life_read(). */
	ctp_fence_handover();
	ctp_store_relaxed(&l->state, what & 0xffff);
	ctp_store_relaxed(&l->addr, addr);
	ctp_store_relaxed(&l->site, what >> 16);
	now = ctp_life_tick(l, lane, now);
	ctp_record_put(r, now, id, addr, ctp_life_count(l), what);
}

static inline void ctp_life_resume(struct ctp_life *l, struct ctp_lane *lane, struct ctp_record *r,
				   uint64_t id, uint64_t now)
{
	/* (ctp-M) pairs with the load-load fence in the collector's life_read(). */
	ctp_fence_handover();
	ctp_store_relaxed(&l->state, CTP_REC_RESUME);
	now = ctp_life_tick(l, lane, now);
	ctp_record_put(r, now, id, 0, ctp_life_count(l), CTP_WHAT(CTP_REC_RESUME, 0, 0));
}

/* ---- what the SDKs call ------------------------------------------------------- */

/*
 * In a forked child an inherited coroutine reads id 0: it belongs to the parent process.  So does
 * one of an earlier session of this process.
 */
static inline void ctp_suspend(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session *s,
			       uint64_t addr, uint32_t site, uint32_t reason)
{
	uint32_t what = CTP_WHAT(CTP_REC_SUSPEND, reason, site);
	struct ctp_life *l = p->life;
	uint64_t id;

	if (ctp_unlikely(!l || !ctp_lane_fits(t, s, 1))) {
		ctp_event_slow(p, t, s, addr, what, 0);
		return;
	}
	id = ctp_load_relaxed(&l->id);
	if (ctp_unlikely(!id)) {
		ctp_event_slow(p, t, s, addr, what, 0);
		return;
	}
	ctp_life_suspend(l, t->lane, t->at, id, ctp_ticks(), addr, what);
	ctp_lane_publish(t, s, 1);
}

/* As ctp_suspend(), with a second record for what the coroutine waits for. */
static inline void ctp_suspend_on(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session *s,
				  uint64_t addr, uint32_t site, uint32_t reason, uint64_t resource)
{
	uint32_t what = CTP_WHAT(CTP_REC_SUSPEND | CTP_REC_HAS_MORE, reason, site);
	struct ctp_life *l = p->life;
	uint64_t id;

	if (ctp_unlikely(!l || !ctp_lane_fits(t, s, 2))) {
		ctp_event_slow(p, t, s, addr, what, resource);
		return;
	}
	id = ctp_load_relaxed(&l->id);
	if (ctp_unlikely(!id)) {
		ctp_event_slow(p, t, s, addr, what, resource);
		return;
	}
	ctp_life_suspend(l, t->lane, t->at, id, ctp_ticks(), addr, what);
	ctp_store_relaxed(&l->resource, resource);
	ctp_record_put_more(t->at + 1, resource, 0);
	ctp_lane_publish(t, s, 2);
}

static inline void ctp_resume(struct ctp_probe *p, struct ctp_thread *t, struct ctp_session *s)
{
	struct ctp_life *l = p->life;
	uint64_t id;

	if (ctp_unlikely(!l || !ctp_lane_fits(t, s, 1))) {
		ctp_event_slow(p, t, s, 0, CTP_WHAT(CTP_REC_RESUME, 0, 0), 0);
		return;
	}
	id = ctp_load_relaxed(&l->id);
	if (ctp_unlikely(!id)) {
		ctp_event_slow(p, t, s, 0, CTP_WHAT(CTP_REC_RESUME, 0, 0), 0);
		return;
	}
	ctp_life_resume(l, t->lane, t->at, id, ctp_ticks());
	ctp_lane_publish(t, s, 1);
}

/* One coroutine hands the thread to another: two transitions with one read of the counter. */
static inline void ctp_switch(struct ctp_probe *from, struct ctp_probe *to, struct ctp_thread *t,
			      struct ctp_session *s, uint64_t addr, uint32_t site, uint32_t reason)
{
	uint32_t what = CTP_WHAT(CTP_REC_SUSPEND, reason, site);
	struct ctp_life *a = from->life, *b = to->life;
	uint64_t a_id, b_id, now;

	if (ctp_unlikely(!a || !b || !ctp_lane_fits(t, s, 2))) {
		ctp_switch_slow(from, to, t, s, addr, what);
		return;
	}
	a_id = ctp_load_relaxed(&a->id);
	b_id = ctp_load_relaxed(&b->id);
	if (ctp_unlikely(!a_id || !b_id)) {
		ctp_switch_slow(from, to, t, s, addr, what);
		return;
	}
	now = ctp_ticks();
	ctp_life_suspend(a, t->lane, t->at, a_id, now, addr, what);
	ctp_life_resume(b, t->lane, t->at + 1, b_id, now);
	ctp_lane_publish(t, s, 2);
}

#include <corotracer/header_end.h>

#endif
