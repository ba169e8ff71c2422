/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/events.h - the events of a coroutine: suspend, resume and end; and the coroutine
 * that runs on each thread.
 *
 * The current coroutine
 *   A thread knows the traced coroutine that runs on it: the parent of a coroutine that is
 *   created there, and the waker of a coroutine that is resumed there.  A coroutine stores
 *   the id of the one that it displaced, and restores it when it suspends.  That works only
 *   for a coroutine whose every suspension and end is traced (see holds_thread()); for
 *   others only the await itself is recorded.
 *
 * Before, not after
 *   The suspend is written before await_suspend() is called: as soon as await_suspend() has
 *   handed the coroutine on, another thread may run and destroy it.  So the coroutine must
 *   not be accessed afterwards, only struct Left, which is on the stack.
 *
 * Perhaps
 *   An await_suspend() that returns bool may report that the coroutine did not suspend.  Its
 *   record is written before the call, as any other, but published after it
 *   (perhaps_publish), or taken back (perhaps_retract).  In between, another thread may
 *   resume the coroutine, and must not publish the resume before the suspend: that thread
 *   publishes the suspend, too (help_publish).  It has to know that the first thread has not
 *   finished, and that its lane is not taken over meanwhile: struct Turn.
 */
#ifndef COROTRACER_CPP_EVENTS_H
#define COROTRACER_CPP_EVENTS_H

#include <corotracer/cpp/raw_stations.h>
#include <corotracer/cpp/site.h>
#include <corotracer/memory_hook.h>
#include <corotracer/cpp/state.h>
#include <corotracer/cpp/wait.h>
#include <corotracer/traceparent.h>

#include <cstddef>
#include <string_view>

#include <corotracer/header_begin.h>

namespace corotracer
{
inline namespace v1
{
namespace detail
{

/*
 * The probe of a coroutine; true if the coroutine is traced.  Programs of the existing coroTracer
 * header use it as a StationData *: see station_of().
 */
struct Station : ctp_probe {
	Station() = default;
	Station(const Station &) = delete;
	Station &operator=(const Station &) = delete;

	explicit operator bool() const
	{
		return life || station;
	}

	bool operator==(std::nullptr_t) const
	{
		return !*this;
	}

	operator StationData *() const;
	StationData *operator->() const;
	StationData &operator*() const;
};

/* The per-coroutine state.  my_station and event_count are public API: programs use these names. */
struct Coro {
	Station my_station;
	uint64_t event_count; /* transitions */
	uint64_t below;       /* id of the coroutine that it displaced on its thread */
	bool holds;           /* all its suspensions and its end are traced */
	bool entered;         /* its coroutine function is in the table of handle.h */
	/* The last suspend, if its await_suspend() returned bool: see Perhaps. */
	Turn *turn;
	ctp_lane *lane;
	uint64_t nr_turn, head, next_head;
};

/*
 * The first word of a frame is the function that resumes it, with gcc and with clang.  It
 * identifies the coroutine function and can be symbolised.
 */
inline uint64_t resume_function(const void *frame)
{
	return static_cast<uint64_t>(*static_cast<const uintptr_t *>(frame));
}

/*
 * True if an event of the coroutine may have something to do: it is traced, or it was created while
 * the program was not attached, and is adopted.
 */
inline bool is_open(const Coro *c)
{
	return gate_is_open() && (c->my_station || c->my_station.last_ns);
}

/*
 * For the memory runtime, in files that are compiled for it; else nothing.  Not part of the events
 * below: they are skipped without a collector.
 */
inline void memory_stamp([[maybe_unused]] uint32_t what, [[maybe_unused]] const Coro *c,
			 [[maybe_unused]] const void *about = nullptr)
{
	CTP_MEMORY_STAMP(what, &c->my_station, &request.gate, about);
}

/* ---- stations of traced coroutines --------------------------------------------- */

/* Stands for a station when the region has none left: its bytes are not read. */
CTP_CPP_STATE inline constinit StationData no_station_left = {};

/*
 * Claim a station for a coroutine that is traced into lanes.  It has the id of the coroutine, and
 * no events but those that the program writes.  @nr_events of the probe is free to hold it: only a
 * probe without a ctp_life counts there.
 */
CTP_CPP_HIDDEN StationData *station_claim(ctp_probe *probe)
{
	uint32_t index = 0;
	ctp_session *s = session();
	ctp_station *claimed = s && ctp_load_relaxed(&s->generation) ? ctp_station_claim(s, &index)
								     : nullptr;
	StationData *raw = claimed ? reinterpret_cast<StationData *>(claimed) : &no_station_left;

	if (claimed) {
		ctp_store_relaxed(&claimed->birth_ts, get_ns());
		ctp_store_relaxed(&claimed->probe_id, ctp_load_relaxed(&probe->life->id));
	}
	if (ctp_cas_relaxed(&probe->nr_events, UINT64_C(0),
			    static_cast<uint64_t>(reinterpret_cast<uintptr_t>(raw))))
		return raw;
	/* Another thread was first; this station stays unused. */
	return reinterpret_cast<StationData *>(
		static_cast<uintptr_t>(ctp_load_relaxed(&probe->nr_events)));
}

/*
 * The station of a traced coroutine; NULL for an untraced one.  With lanes it is claimed at the
 * first use, so that only programs that use stations pay for them.
 */
inline StationData *station_of(ctp_probe *probe)
{
	uint64_t claimed = ctp_load_relaxed(&probe->nr_events);

	if (!probe->life)
		return reinterpret_cast<StationData *>(probe->station);
	if (claimed)
		return reinterpret_cast<StationData *>(static_cast<uintptr_t>(claimed));
	return station_claim(probe);
}

/* The promise, and so its Station, is never a const object. */
inline Station::operator StationData *() const
{
	return station_of(const_cast<Station *>(this));
}

inline StationData *Station::operator->() const
{
	return station_of(const_cast<Station *>(this));
}

inline StationData &Station::operator*() const
{
	return *station_of(const_cast<Station *>(this));
}

/* The coroutine is destroyed, and so is its claimed station. */
inline void station_release(const Coro *c)
{
	uint64_t claimed = c->my_station.life ? ctp_load_relaxed(&c->my_station.nr_events) : 0;
	ctp_station *station = reinterpret_cast<ctp_station *>(static_cast<uintptr_t>(claimed));

	if (station)
		/* (ctp-D) pairs with the acquire load in the collector's describe_life(). */
		ctp_store_release(&station->is_dead, static_cast<uint8_t>(1));
}

/* ---- the current coroutine -------------------------------------------------- */

/* A coroutine that is suspending: everything that may be used after await_suspend(). */
struct Left {
	uint64_t id;     /* 0: unknown, or not traced into a lane */
	uint64_t was;    /* current coroutine before the suspend */
	uint64_t before; /* current coroutine after the suspend */
	uint32_t site;
};

/* The coroutine is about to suspend; await_suspend() still runs as this coroutine. */
inline Left leave_begin(const Coro *c, uint32_t site)
{
	Thread &t = *self();
	uint64_t id = c->my_station.life ? ctp_load_relaxed(&c->my_station.life->id) : 0;
	Left left = { id, t.current, t.current == id ? c->below : t.current, site };

	if (id)
		t.current = id;
	t.passed = nullptr; /* no traced await resumed that frame */
	return left;
}

inline void leave_end(const Left &left)
{
	self()->current = left.before;
}

/* The coroutine suspends and passes its thread directly to @frame. */
inline void leave_to(const Left &left, const void *frame)
{
	Thread &t = *self();

	t.current = left.before;
	t.passed = frame;
	t.passed_by = left.id;
	t.passed_at = left.site;
}

/* The coroutine did not suspend. */
inline void leave_not(const Left &left)
{
	self()->current = left.was;
}

/* The coroutine runs on this thread from now on. */
inline void enter(Coro *c)
{
	Thread &t = *self();
	uint64_t id = c->my_station.life ? ctp_load_relaxed(&c->my_station.life->id) : 0;

	if (!c->holds || !id || t.current == id)
		return;
	c->below = t.current;
	t.current = id;
}

/* As enter(), for a coroutine whose initial_suspend() did not suspend. */
template <class = void> CTP_CPP_EVENT void start(Coro *c)
{
	enter(c);
}

/* The coroutine is destroyed or has ended. */
inline void forget(const Coro *c, uint64_t id)
{
	Thread &t = *self();

	if (id && t.current == id)
		t.current = c->below;
}

/* ---- suspend ------------------------------------------------------------------ */

template <class = void>
CTP_CPP_LEAVE Left write_suspend(Coro *c, uint64_t addr, std::source_location where, Wait wait)
{
	ctp_session *s = session();
	uint32_t site = site_id(s, where);

	thread_for(s);
	c->event_count++;
	if (wait.has_resource)
		ctp_suspend_on(&c->my_station, &self()->ctp, s, addr, site, wait.reason,
			       wait.resource);
	else
		ctp_suspend(&c->my_station, &self()->ctp, s, addr, site, wait.reason);
	return leave_begin(c, site);
}

/* A suspend whose await_suspend() returns bool: the coroutine may not suspend. */
struct Perhaps {
	Left left;
	Turn *turn;     /* NULL: already published */
	ctp_lane *lane; /* lane of the record */
	uint64_t head;  /* head of the lane in front of the record */
	ctp_record *at; /* the record */
	uint32_t nr;    /* number of records */
	uint32_t state; /* state of the ctp_life before the suspend */
};

/* The turns of all lanes, created by the first caller.  Returns NULL if mmap() fails. */
CTP_CPP_HIDDEN Turn *turns_make(const ctp_session *s)
{
	size_t size = s->lane_pool.limit * sizeof(Turn);
	void *map = mmap(nullptr, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (map == MAP_FAILED)
		return nullptr;
	ctp_store_relaxed(&nr_turns, s->lane_pool.limit);
	/* (ctp-F) pairs with the acquire in turn_of(). */
	if (ctp_cas_release(&turns, static_cast<Turn *>(nullptr), static_cast<Turn *>(map)))
		return static_cast<Turn *>(map);
	munmap(map, size);
	return ctp_load_acquire(&turns); /* (ctp-F) pairs with the first thread's release */
}

inline Turn *turn_of(const ctp_session *s, const ctp_lane *lane)
{
	/* (ctp-F) pairs with the release in turns_make(): the turns are zeroed. */
	Turn *all = ctp_load_acquire(&turns);

	if (ctp_unlikely(!all) && !(all = turns_make(s)))
		return nullptr;
	/* A later region may have more lanes. */
	if (ctp_unlikely(lane - reinterpret_cast<const ctp_lane *>(s->lane_pool.units) >= nr_turns))
		return nullptr;
	return all + (lane - reinterpret_cast<const ctp_lane *>(s->lane_pool.units));
}

/*
 * Write the suspend without publishing it.  Returns false if it cannot wait unpublished: the
 * coroutine has no ctp_life, the lane has no room, or turns_make() failed.
 */
template <class = void>
bool perhaps_write(Perhaps *p, Coro *c, uint64_t addr, uint32_t site, Wait wait)
{
	uint32_t kind = CTP_REC_SUSPEND | (wait.has_resource ? CTP_REC_HAS_MORE : 0);
	ctp_life *l = c->my_station.life;
	ctp_thread *t = &self()->ctp;
	ctp_session *s = session();
	uint64_t id;

	p->nr = wait.has_resource ? 2 : 1;
	if (!l ||
	    !(p->at = ctp_likely(ctp_lane_fits(t, s, p->nr)) ? t->at
							     : ctp_lane_room(t, s, p->nr)) ||
	    !(id = ctp_load_relaxed(&l->id)) || !(p->turn = turn_of(s, t->lane)))
		return false;
	/*
	 * An earlier suspend of this thread that is still unpublished: publish it, so that a
	 * helper's compare-and-swap of the head starts at this record.
	 */
	if (ctp_unlikely(ctp_load_relaxed(&t->lane->head) != ctp_lane_head(t)))
		ctp_lane_publish_slow(t, s, 0);
	c->turn = p->turn;
	c->nr_turn = ctp_load_relaxed(&p->turn->nr) + 1;
	c->lane = p->lane = t->lane;
	c->head = p->head = ctp_lane_head(t);
	c->next_head = p->head + p->nr * sizeof(ctp_record);
	p->state = ctp_load_relaxed(&l->state);
	ctp_life_suspend(l, t->lane, p->at, id, ctp_lane_ticks(t), addr,
			 CTP_WHAT(kind, wait.reason, site));
	if (wait.has_resource) {
		ctp_store_relaxed(&l->resource, wait.resource);
		ctp_record_put_more(p->at + 1, wait.resource, 0);
	}
	t->at = p->at + p->nr;
	/*
	 * A thread that resumes the coroutine sees this: the program hands the coroutine over
	 * afterwards.  (ctp-N) pairs with the acquire load in settle_turn(), of a coroutine with an
	 * earlier turn.
	 */
	ctp_store_release(&p->turn->nr, c->nr_turn);
	return true;
}

/* The turn ends: other threads must not publish for it any more. */
inline void turn_end(Turn *turn)
{
	/* (ctp-N) pairs with the acquire load in settle_turn(). */
	ctp_store_release(&turn->nr, ctp_load_relaxed(&turn->nr) + 1);
}

template <class = void>
CTP_CPP_LEAVE Perhaps write_perhaps(Coro *c, uint64_t addr, std::source_location where, Wait wait)
{
	Perhaps p = {};
	uint32_t site = site_id(session(), where);

	thread_for(session());
	if (!perhaps_write(&p, c, addr, site, wait)) {
		p.turn = nullptr;
		p.left = write_suspend(c, addr, where, wait);
		return p;
	}
	c->event_count++;
	p.left = leave_begin(c, site);
	return p;
}

/* The coroutine has suspended.  It may already be destroyed. */
template <class = void> CTP_CPP_LEAVE void perhaps_publish(const Perhaps &p)
{
	ctp_thread *t = &self()->ctp;

	if (p.turn) {
		if (ctp_unlikely(t->always_slow))
			ctp_lane_publish_slow(t, session(), 0);
		else if (ctp_likely(t->lane == p.lane))
			ctp_lane_publish(t, session(), 0);
		turn_end(p.turn);
	}
	leave_end(p.left);
}

/* ---- resume ---------------------------------------------------------------------- */

/* Write a wake by @waker and the resume in one step. */
inline void write_wake_resume(Coro *c, uint64_t waker, uint32_t site)
{
	ctp_life *l = c->my_station.life;
	ctp_thread *t = &self()->ctp;
	ctp_session *s = session();
	uint64_t id, now;

	if (ctp_unlikely(!ctp_lane_fits(t, s, 2))) {
		ctp_life_wake(l, t, s, waker, site, CTP_REASON_UNKNOWN, nullptr);
		ctp_resume(&c->my_station, t, s);
		return;
	}
	id = ctp_load_relaxed(&l->id);
	if (ctp_unlikely(!id)) {
		ctp_resume(&c->my_station, t, s); /* of an earlier session: adopted */
		return;
	}
	now = ctp_lane_tick(t->lane, ctp_ticks());
	ctp_record_put(t->at, now, id, waker, static_cast<uint32_t>(ctp_load_relaxed(&l->events)),
		       CTP_WHAT(CTP_REC_WAKE, CTP_REASON_UNKNOWN, site));
	ctp_life_resume(l, t->lane, t->at + 1, id, now);
	ctp_lane_publish(t, s, 2);
}

/*
 * Another thread wrote the suspend of @c and may not have published it yet: publish it.  The head
 * moves only if it is still at the start of that record, so either thread may be first.  A lane
 * never has the same head twice, unless it is given to another thread; leave_thread() prevents that
 * while there are helpers.
 */
CTP_CPP_HIDDEN void help_publish(const Coro *c)
{
	ctp_fetch_add_relaxed(&c->turn->helpers, 1u);
	/*
	 * (ctp-N) pairs with the fence in leave_thread(): it sees this helper, or the turn has
	 * ended.
	 */
	ctp_fence_full();
	if (ctp_load_relaxed(&c->turn->nr) == c->nr_turn)
		/* (ctp-H) pairs with the acquire load in the collector's lane_look(). */
		ctp_cas_release(&c->lane->head, c->head, c->next_head);
	/* (ctp-N) pairs with the acquire in leave_thread(): the access to the lane is complete. */
	__atomic_fetch_sub(&c->turn->helpers, 1u, __ATOMIC_RELEASE);
}

/* Publish the suspend of @c, if its thread may not have published it yet. */
inline void settle_turn(Coro *c, const Thread &t)
{
	if (!c->turn)
		return;
	/* (ctp-N) pairs with the release in turn_end(): then the suspend is published. */
	if (c->lane != t.ctp.lane && ctp_load_acquire(&c->turn->nr) == c->nr_turn)
		help_publish(c);
	c->turn = nullptr;
}

/* The coroutine of @frame runs again, on this thread. */
template <class = void> CTP_CPP_EVENT void write_resume(Coro *c, const void *frame)
{
	Thread &t = thread_for(session());
	bool was_passed = t.passed && t.passed == frame;
	uint64_t waker = was_passed ? t.passed_by : t.current;

	c->event_count++;
	settle_turn(c, t);
	if (waker && c->my_station.life)
		write_wake_resume(c, waker, was_passed ? t.passed_at : 0);
	else
		ctp_resume(&c->my_station, &t.ctp, session());
	t.passed = nullptr;
	enter(c);
}

/* The coroutine did not suspend: it continues on this thread. */
template <class = void> CTP_CPP_LEAVE void perhaps_retract(const Perhaps &p, Coro *c)
{
	ctp_life *l = c->my_station.life;
	ctp_thread *t = &self()->ctp;

	leave_not(p.left);
	c->turn = nullptr;
	if (p.turn)
		turn_end(p.turn);
	if (!p.turn || t->lane != p.lane || t->at != p.at + p.nr ||
	    ctp_load_relaxed(&p.lane->head) != p.head) {
		/* Other records follow it, or it is published: write a resume, too. */
		ctp_resume(&c->my_station, t, session());
		c->event_count++;
		return;
	}
	t->at = p.at;
	ctp_store_relaxed(&l->state, p.state);
	ctp_store_relaxed(&l->events, ctp_load_relaxed(&l->events) - 1);
	c->event_count--;
}

/* await_suspend() threw: the coroutine continues with the exception. */
CTP_CPP_HIDDEN void suspend_threw(const Left &left, Coro *c)
{
	leave_not(left);
	c->event_count++;
	ctp_resume(&c->my_station, &self()->ctp, session());
	memory_stamp(CTP_MEMORY_STAYED, c);
}

/* A resume with an address, from write_trace(). */
CTP_CPP_HIDDEN void write_resume_at(Coro *c, uint64_t addr)
{
	Thread &t = thread_for(session());

	c->event_count++;
	settle_turn(c, t);
	if (t.current && c->my_station.life)
		ctp_life_wake(c->my_station.life, &t.ctp, session(), t.current, 0,
			      CTP_REASON_UNKNOWN, nullptr);
	ctp_event_slow(&c->my_station, &t.ctp, session(), addr, CTP_WHAT(CTP_REC_RESUME, 0, 0), 0);
	t.passed = nullptr;
	enter(c);
}

/* A transition that the program reports through write_trace(). */
template <class = void> CTP_CPP_EVENT void write_by_hand(Coro *c, uint64_t addr, bool is_active)
{
	if (is_active && addr)
		write_resume_at(c, addr);
	else if (is_active)
		write_resume(c, nullptr);
	else
		leave_not(write_suspend(c, addr, std::source_location(), Wait{}));
}

/* ---- create and end ----------------------------------------------------------------- */

CTP_CPP_HIDDEN void begin_traced(Coro *c, const void *promise, const char *name,
				 std::source_location where)
{
	Thread &t = *self();
	ctp_session *s;
	int attached = attach();

	if (attached < 0)
		ctp_later_begin(&c->my_station, session());
	if (attached == 0)
		ctp_probe_mark(&c->my_station, session());
	if (attached <= 0)
		return;
	s = session();
	thread_for(s);
	t.passed = nullptr; /* the memory of that frame may have been reused for this coroutine */
	if (!ctp_probe_begin(&c->my_station, &t.ctp, s, 0, name, t.current, site_id(s, where)) ||
	    !c->my_station.life)
		return;
	t.newborn[t.nr_born++ % nr_newborn] = { ~reinterpret_cast<uintptr_t>(promise),
						c->my_station.life,
						ctp_load_relaxed(&c->my_station.life->id) };
}

CTP_CPP_HIDDEN void begin(Coro *c, const void *promise, const char *name,
			  std::source_location where)
{
	Thread &t = *self();

	if (!name)
		name = t.birth_name;
	/* Also if the coroutine is not traced: the name must not apply to a later one. */
	t.birth_name = nullptr;
	begin_traced(c, promise, name, where);
	if (name || !site_key(where))
		memory_stamp(CTP_MEMORY_CREATED, c, name);
	else
		memory_stamp(CTP_MEMORY_CREATED | CTP_MEMORY_CPP, c, where.function_name());
}

/* The coroutine has returned or was cancelled; its frame still exists. */
template <class = void> CTP_CPP_LEAVE Left finish(Coro *c, uint32_t flags)
{
	memory_stamp(CTP_MEMORY_ENDED, c);
	if (c->my_station)
		ctp_probe_done(&c->my_station, &self()->ctp, session(), flags);
	return leave_begin(c, 0);
}

CTP_CPP_HIDDEN void cancel(Coro *c)
{
	leave_not(finish(c, CTP_END_CANCELLED));
}

/* Set the name of the next coroutine that is created on this thread. */
CTP_CPP_HIDDEN void name_next(const char *name)
{
	self()->birth_name = name;
}

CTP_CPP_HIDDEN void end(Coro *c)
{
	forget(c, ctp_probe_id(&c->my_station));
	station_release(c);
	ctp_probe_end(&c->my_station, &self()->ctp, session(), 0);
}

/* Coroutine @id (0: none, or not traced yet) works for the span @traceparent; empty: for none. */
CTP_CPP_HIDDEN bool write_context(uint64_t id, std::string_view traceparent)
{
	ctp_session *s = session();
	Thread &t = thread_for(s);
	ctp_context context = {};

	if (!traceparent.empty() &&
	    !ctp_context_parse(traceparent.data(), traceparent.size(), &context))
		return false;
	if (s)
		ctp_context_write(&t.ctp, s, id, &context);
	return true;
}

/* The coroutine is made ready to run, by the current coroutine of this thread if there is one. */
CTP_CPP_HIDDEN void wake(const Coro *c, Wait from, std::source_location where)
{
	ctp_session *s = session();

	thread_for(s);
	if (ctp_is_later(&c->my_station))
		ctp_later_mark(s);
	else if (c->my_station.life)
		ctp_life_wake(c->my_station.life, &self()->ctp, s, self()->current,
			      site_id(s, where), from.reason,
			      from.has_resource ? &from.resource : nullptr);
}

} // namespace detail
} // namespace v1
} // namespace corotracer

#include <corotracer/header_end.h>

#endif
