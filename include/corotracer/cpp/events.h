/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/events.h - what a coroutine writes when it leaves its thread, comes back,
 * and ends; and who it was that ran here meanwhile.
 *
 * Who runs here
 *   A thread knows which traced coroutine runs on it, so that one that is born has a parent
 *   and one that is resumed knows by whom.  Each remembers whom it displaced and puts it
 *   back when it leaves.  That works only for a coroutine of which we see every way out
 *   (see holds_thread()): of others nothing is claimed beyond the await itself.
 *
 * Before, not after
 *   The suspend is written before await_suspend() is called: as soon as that has handed the
 *   coroutine on, another thread may run and destroy it.  So nothing of the coroutine may be
 *   touched afterwards, only what is in struct Left, on the stack.
 *
 * Perhaps
 *   An await_suspend() that returns bool may say that there was no suspension after all.
 *   Its record is written before, as any other, but published after (Perhaps::publish), or
 *   taken back.  Another thread that resumes the coroutine in between waits for a moment
 *   (await_published), so that no trace has the resume before the suspend; it does not wait
 *   longer than 200 looks, and a trace that is sorted by time is right even then.
 */
#ifndef COROTRACER_CPP_EVENTS_H
#define COROTRACER_CPP_EVENTS_H

#include <corotracer/cpp/site.h>
#include <corotracer/cpp/state.h>
#include <corotracer/cpp/wait.h>

#include <cstddef>

namespace corotracer
{
inline namespace v1
{
namespace detail
{

/*
 * Where a coroutine writes; true if it does.  Under a collector with lanes that is no
 * station, and there is nothing behind the pointer.
 */
struct Station : ctp_probe {
	explicit operator bool() const
	{
		return life || station;
	}

	bool operator==(std::nullptr_t) const
	{
		return !*this;
	}

	ctp_station *operator->() const
	{
		return station;
	}
};

/* What a coroutine carries.  Two of the names are those that programs know. */
struct Coro {
	Station my_station;
	uint64_t event_count; /* transitions */
	uint64_t below;       /* who ran on its thread when it came: an id */
	bool holds;           /* it is known when it leaves its thread */
	/* Its last suspend was written here, at this place, by this thread; see await_published().
	 */
	const ctp_lane *lane;
	uint64_t head, tid;
};

/*
 * The function that resumes a frame is its first word, with gcc and with clang: it tells
 * whose code this is, and can be symbolised.
 */
inline uint64_t resume_function(const void *frame)
{
	return static_cast<uint64_t>(*static_cast<const uintptr_t *>(frame));
}

/* ---- who runs here ---------------------------------------------------------- */

/* A coroutine on its way out: all that is still known of it afterwards. */
struct Left {
	uint64_t id;     /* 0: not known, or not traced into lanes */
	uint64_t was;    /* who ran here when it began to leave */
	uint64_t before; /* who ran here before it */
	uint32_t site;
};

/* It is about to leave; what await_suspend() does still counts as done by it. */
inline Left leave_begin(const Coro *c, uint32_t site)
{
	Thread &t = thread;
	uint64_t id = c->my_station.life ? ctp_load_relaxed(&c->my_station.life->id) : 0;
	Left left = { id, t.current, t.current == id ? c->below : t.current, site };

	if (id)
		t.current = id;
	t.passed = nullptr; /* whoever it was passed to did not say so */
	return left;
}

inline void leave_end(const Left &left)
{
	thread.current = left.before;
}

/* It leaves by passing its thread directly to @frame. */
inline void leave_to(const Left &left, const void *frame)
{
	Thread &t = thread;

	t.current = left.before;
	t.passed = frame;
	t.passed_by = left.id;
	t.passed_at = left.site;
}

/* It did not leave. */
inline void leave_not(const Left &left)
{
	thread.current = left.was;
}

/* It runs here from now on. */
inline void enter(Coro *c)
{
	Thread &t = thread;
	uint64_t id = c->my_station.life ? ctp_load_relaxed(&c->my_station.life->id) : 0;

	if (!c->holds || !id || t.current == id)
		return;
	c->below = t.current;
	t.current = id;
}

/* It is gone, or over. */
inline void forget(const Coro *c, uint64_t id)
{
	Thread &t = thread;

	if (id && t.current == id)
		t.current = c->below;
}

/* ---- leaving ------------------------------------------------------------------ */

/*
 * Templates, so that each exists once although it is not inline: the code of an event is too
 * much to have it at every co_await, and a call costs a nanosecond.
 */
template <class = void>
__attribute__((noinline)) Left write_suspend(Coro *c, uint64_t addr, std::source_location where,
					     Wait wait)
{
	ctp_session *s = session();
	uint32_t site = site_id(s, where);

	c->event_count++;
	if (wait.has_resource)
		ctp_suspend_on(&c->my_station, &thread.ctp, s, addr, site, wait.reason,
			       wait.resource);
	else
		ctp_suspend(&c->my_station, &thread.ctp, s, addr, site, wait.reason);
	return leave_begin(c, site);
}

/* A suspend that may not have been one. */
struct Perhaps {
	Left left;
	const ctp_lane *lane; /* NULL: published already */
	uint64_t head;        /* of the lane, before it */
	ctp_record *at;       /* its record, */
	uint32_t nr;          /* of so many */
	/* What its life said before. */
	uint32_t state, site;
	uint64_t addr, resource;
};

/* Write it, but not yet for the collector.  0: it has no place to wait in, write it at once. */
CTP_CPP_HIDDEN bool perhaps_write(Perhaps *p, Coro *c, uint64_t addr, uint32_t site, Wait wait)
{
	uint32_t kind = CTP_REC_SUSPEND | (wait.has_resource ? CTP_REC_HAS_MORE : 0);
	ctp_life *l = c->my_station.life;
	ctp_thread *t = &thread.ctp;
	ctp_session *s = session();
	uint64_t id;

	p->nr = wait.has_resource ? 2 : 1;
	if (!l || !(p->at = ctp_lane_room(t, s, p->nr)) || !(id = ctp_load_relaxed(&l->id)))
		return false;
	p->lane = c->lane = t->lane;
	p->head = c->head = ctp_lane_head(t);
	c->tid = t->tid;
	p->state = ctp_load_relaxed(&l->state);
	p->site = ctp_load_relaxed(&l->site);
	p->addr = ctp_load_relaxed(&l->addr);
	p->resource = ctp_load_relaxed(&l->resource);
	if (wait.has_resource) {
		ctp_store_relaxed(&l->resource, wait.resource);
		ctp_record_put_more(p->at + 1, wait.resource, 0);
	}
	ctp_life_suspend(l, p->at, id, ctp_lane_ticks(t), addr, CTP_WHAT(kind, wait.reason, site));
	t->at = p->at + p->nr;
	return true;
}

template <class = void>
__attribute__((noinline)) Perhaps write_perhaps(Coro *c, uint64_t addr, std::source_location where,
						Wait wait)
{
	Perhaps p = {};
	uint32_t site = site_id(session(), where);

	if (!perhaps_write(&p, c, addr, site, wait)) {
		p.lane = nullptr;
		p.left = write_suspend(c, addr, where, wait);
		return p;
	}
	c->event_count++;
	p.left = leave_begin(c, site);
	return p;
}

/* It was one.  The coroutine may be gone. */
template <class = void> __attribute__((noinline)) void perhaps_publish(const Perhaps &p)
{
	ctp_thread *t = &thread.ctp;

	if (p.lane && t->lane == p.lane)
		ctp_lane_publish_slow(t, session(), 0);
	leave_end(p.left);
}

/* ---- coming back ----------------------------------------------------------------- */

/* Woken by @waker and resumed, in one step. */
inline void write_wake_resume(Coro *c, uint64_t waker, uint32_t site)
{
	ctp_life *l = c->my_station.life;
	ctp_thread *t = &thread.ctp;
	ctp_session *s = session();
	uint64_t id, now;

	if (ctp_unlikely(!ctp_lane_fits(t, s, 2))) {
		ctp_life_wake(l, t, s, waker, site, CTP_REASON_UNKNOWN, nullptr);
		ctp_resume(&c->my_station, t, s);
		return;
	}
	id = ctp_load_relaxed(&l->id);
	if (ctp_unlikely(!id))
		return;
	now = ctp_ticks();
	ctp_record_put(t->at, now, id, waker, static_cast<uint32_t>(ctp_load_relaxed(&l->events)),
		       CTP_WHAT(CTP_REC_WAKE, CTP_REASON_UNKNOWN, site));
	ctp_life_resume(l, t->at + 1, id, now);
	ctp_lane_publish(t, s, 2);
}

/*
 * Another thread wrote the suspend of @c, and may not have published it yet: give it a moment.
 * Once it has, or is gone, there is nothing to wait for.
 */
CTP_CPP_HIDDEN void await_published(const Coro *c)
{
	for (int looks = 0; looks < 200; looks++) {
		/* (H) pairs with the release store in ctp_lane_publish(). */
		if (ctp_load_acquire(&c->lane->head) > c->head ||
		    ctp_load_relaxed(&c->lane->tid) != c->tid ||
		    ctp_load_relaxed(&c->lane->state) != CTP_LANE_OPEN)
			return;
#if defined(__x86_64__)
		_mm_pause();
#endif
	}
}

/* The coroutine that was suspended as @frame runs again, on this thread. */
template <class = void> __attribute__((noinline)) void write_resume(Coro *c, const void *frame)
{
	Thread &t = thread;
	bool was_passed = t.passed && t.passed == frame;
	uint64_t waker = was_passed ? t.passed_by : t.current;

	c->event_count++;
	if (c->lane) {
		if (c->lane != t.ctp.lane)
			await_published(c);
		c->lane = nullptr;
	}
	if (waker && c->my_station.life)
		write_wake_resume(c, waker, was_passed ? t.passed_at : 0);
	else
		ctp_resume(&c->my_station, &t.ctp, session());
	t.passed = nullptr;
	enter(c);
}

/* It was none: the coroutine is still here, and runs. */
template <class = void> __attribute__((noinline)) void perhaps_retract(const Perhaps &p, Coro *c)
{
	ctp_life *l = c->my_station.life;
	ctp_thread *t = &thread.ctp;

	leave_not(p.left);
	if (!p.lane || t->lane != p.lane || t->at != p.at + p.nr ||
	    ctp_load_relaxed(&p.lane->head) != p.head) {
		/* Too late, others came after it: then it was one, and is over. */
		ctp_resume(&c->my_station, t, session());
		c->event_count++;
		return;
	}
	t->at = p.at;
	c->lane = nullptr;
	ctp_store_relaxed(&l->state, p.state);
	ctp_store_relaxed(&l->site, p.site);
	ctp_store_relaxed(&l->addr, p.addr);
	ctp_store_relaxed(&l->resource, p.resource);
	ctp_store_relaxed(&l->events, ctp_load_relaxed(&l->events) - 1);
	c->event_count--;
}

/* await_suspend() threw: the coroutine runs on, with the exception. */
CTP_CPP_HIDDEN void suspend_threw(const Left &left, Coro *c)
{
	leave_not(left);
	c->event_count++;
	ctp_resume(&c->my_station, &thread.ctp, session());
}

/* ---- birth and end ------------------------------------------------------------------ */

CTP_CPP_HIDDEN void begin(Coro *c, const void *promise, const char *name,
			  std::source_location where)
{
	Thread &t = thread;
	ctp_session *s;

	if (!attach())
		return;
	s = session();
	t.passed = nullptr; /* that frame may be this one's memory now */
	if (!name)
		name = t.birth_name;
	t.birth_name = nullptr;
	if (!ctp_probe_begin(&c->my_station, &t.ctp, s, 0, name, t.current, site_id(s, where)) ||
	    !c->my_station.life)
		return;
	t.newborn[t.nr_born++ % nr_newborn] = { promise, c->my_station.life,
						ctp_load_relaxed(&c->my_station.life->id) };
}

/* It came to its end; its frame is still there. */
template <class = void> __attribute__((noinline)) Left finish(Coro *c, uint32_t flags)
{
	if (c->my_station)
		ctp_probe_done(&c->my_station, &thread.ctp, session(), flags);
	return leave_begin(c, 0);
}

CTP_CPP_HIDDEN void end(Coro *c)
{
	forget(c, ctp_probe_id(&c->my_station));
	ctp_probe_end(&c->my_station, &thread.ctp, session(), 0);
}

/* Somebody makes it ready to run. */
CTP_CPP_HIDDEN void wake(const Coro *c, Wait from, std::source_location where)
{
	ctp_session *s = session();

	if (c->my_station.life)
		ctp_life_wake(c->my_station.life, &thread.ctp, s, thread.current, site_id(s, where),
			      from.reason, from.has_resource ? &from.resource : nullptr);
}

} // namespace detail
} // namespace v1
} // namespace corotracer

#endif
