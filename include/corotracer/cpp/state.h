/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/state.h - what a C++ program has of the tracer: one session, one struct per
 * thread, and the slow path, all without a library.
 *
 * One copy
 *   Everything here is inline, so that any number of translation units share one session
 *   and one copy of the slow path.  Functions are hidden: those of a libcorotracer that the
 *   program links, too, stay its own, and so does its session.  Variables are not: shared
 *   objects of one program share them, too.  Their names carry a version, because two
 *   objects may have been built with different headers.
 *
 * Never destroyed
 *   Nothing here has a constructor or a destructor that runs.  A coroutine may be older
 *   than main() and outlive it, and a thread may end one in its last breath.
 */
#ifndef COROTRACER_CPP_STATE_H
#define COROTRACER_CPP_STATE_H

/*
 * Whatever looks for this thread's state must not become part of a coroutine: clang may keep
 * the address over a suspension, and it is another thread's then.  gcc does not, and does not
 * want to hear of functions that are inline and never inlined.
 */
#if defined(__clang__)
#define CTP_CPP_HIDDEN inline __attribute__((noinline, cold, visibility("hidden")))
#define CTP_CPP_AWAIT  __attribute__((noinline))
#define CTP_CPP_LEAVE  __attribute__((visibility("hidden")))
#else
#define CTP_CPP_HIDDEN inline __attribute__((cold, visibility("hidden")))
#define CTP_CPP_AWAIT
#define CTP_CPP_LEAVE __attribute__((noinline, visibility("hidden")))
#endif

/*
 * Templates need no "inline" to be there once.  The code of an event is too much to have it
 * at every co_await, and a call costs a nanosecond: one call, so with clang the events that
 * await_suspend() writes are part of that.
 */
#define CTP_CPP_EVENT __attribute__((noinline, visibility("hidden")))

/* The C SDK's header may have been here first, and declared them as its library's. */
#undef CTP_SLOW_LINKAGE
#define CTP_SLOW_LINKAGE CTP_CPP_HIDDEN
#ifndef CTP_SLOW
#define CTP_SLOW CTP_CPP_HIDDEN
#endif
#ifndef CTP_LATER_LINKAGE
#define CTP_LATER_LINKAGE inline __attribute__((visibility("default")))
#endif

#include <corotracer/probe.h>
#include <corotracer/attach.h>

#define CTP_CPP_STATE __attribute__((visibility("default")))

namespace corotracer
{
inline namespace v1
{
namespace detail
{

inline constexpr uint32_t nr_newborn = 4;

/* A coroutine that was born here not long ago. */
struct Newborn {
	uintptr_t promise; /* its PromiseMixin, inverted: no leak is to hide behind us */
	const ctp_life *life;
	uint64_t id;
};

struct Thread {
	ctp_thread ctp;
	uint64_t current;       /* the coroutine that runs here, as far as that is known: its id */
	const void *passed;     /* the frame to which a coroutine has just passed this thread, */
	uint64_t passed_by;     /* that coroutine's id, */
	uint32_t passed_at;     /* and the site */
	uint32_t nr_born;       /* so many were born here */
	const char *birth_name; /* of the next that will be */
	Newborn newborn[nr_newborn];
};

/*
 * One per lane and process, never unmapped: the number of the suspend that the lane's thread has
 * written but perhaps not published, or one that no suspend has.  It counts on, whoever has the
 * lane: once it is another, what had this number is published.
 */
struct Turn {
	uint64_t nr;
	uint32_t helpers; /* threads that are just about to publish for it */
	uint8_t reserved[52];
};

CTP_CPP_STATE inline constinit Turn *turns = nullptr;

constexpr ctp_process no_process()
{
	ctp_process none = {};

	none.sock = -1;
	return none;
}

CTP_CPP_STATE inline constinit ctp_process process = no_process();
CTP_CPP_STATE inline constinit thread_local Thread thread
	__attribute__((tls_model("initial-exec"))) = {};

/*
 * This thread's.  Not by its name: the address of an inline variable might be null, as far as
 * a compiler knows, and UBSan's check for it takes the flags of an addition that the linker
 * replaces by an instruction without flags (gcc 12, binutils 2.40).
 */
__attribute__((returns_nonnull, no_sanitize("undefined"))) inline Thread *self()
{
	return &thread;
}

inline ctp_session *session()
{
	return ctp_load_relaxed(&process.session);
}

/* For where the kernel does not wipe the page: see ctp_session_page(). */
inline void wipe_in_child()
{
	if (process.session)
		memset(static_cast<void *>(process.session), 0, sizeof(ctp_session));
}

/*
 * A thread ends, and its lane will be another's.  If somebody is just publishing for it (see
 * events.h) the lane must not be: it stays open then, which costs a lane.
 */
inline void leave_thread(void *leaving)
{
	ctp_thread *t = static_cast<ctp_thread *>(leaving);
	ctp_session *s = session();
	Turn *all = ctp_load_relaxed(&turns);

	if (s && all && t->lane && t->ticket == ~ctp_load_relaxed(&s->generation)) {
		Turn *turn = all + (t->lane - reinterpret_cast<ctp_lane *>(s->lane_pool.units));

		/* It may end in the middle of an await_suspend(). */
		ctp_lane_publish(t, s, 0);
		/* (N) pairs with the acquire load in settle_turn(). */
		ctp_store_release(&turn->nr, ctp_load_relaxed(&turn->nr) + 1);
		/* (N) pairs with the fence in help_publish(). */
		ctp_fence_full();
		/* (N) pairs with the release in help_publish(): whoever it was has finished. */
		if (ctp_load_acquire(&turn->helpers))
			ctp_lane_forget(t);
	}
	ctp_thread_leave(t, s);
}

inline constexpr ctp_hooks hooks = { wipe_in_child, leave_thread };

/* As ctp_attach(): 1 attached, 0 not, -1 another thread has not finished. */
inline int attach()
{
	return ctp_attach(&process, &hooks);
}

} // namespace detail

/*
 * Join the collector that the environment names.  Once, early in main(); any number of
 * times is fine, and a program that never does joins with its first coroutine.  Without a
 * collector nothing happens, now or later; CTP_VERBOSE=1 says why on stderr.
 */
inline void InitTracer()
{
	detail::attach();
}

/* True when new coroutines will be traced, as far as there is room. */
inline bool enabled()
{
	/* (F) pairs with the release in ctp_session_get(). */
	ctp_session *s = ctp_load_acquire(&detail::process.session);

	return s && ctp_load_relaxed(&s->generation) != 0;
}

} // namespace v1
} // namespace corotracer

#endif
