/* SPDX-License-Identifier: MIT */
/*
 * corotracer/cpp/state.h - the state of the C++ SDK: one session, one struct per thread, and the
 * slow path, without a library.
 *
 * One copy
 *   Everything here is inline, so that all translation units share one session and one copy
 *   of the slow path.  Functions are hidden: a libcorotracer in the same program keeps its
 *   own functions and its own session.  Variables are visible: the shared objects of a
 *   program share them.  Their names carry a version, because two objects may have been
 *   built with different headers.
 *
 * Never destroyed
 *   No destructor here runs at exit, and no coroutine needs what runs at startup.  A coroutine
 *   may be created before main() and outlive it, and may be destroyed while its thread exits.
 */
#ifndef COROTRACER_CPP_STATE_H
#define COROTRACER_CPP_STATE_H

/*
 * A function that computes the address of this thread's state must not be inlined into a coroutine:
 * clang may keep the address across a suspension, after which the coroutine may run on another
 * thread.  gcc does not, and warns about functions that are both inline and noinline.
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
 * Templates need no "inline" to be emitted once.  The code of an event is too large to be inlined
 * at every co_await, and a call costs a nanosecond.  There is one call per event: with clang the
 * events that await_suspend() writes are inlined into await_suspend().
 */
#define CTP_CPP_EVENT __attribute__((noinline, visibility("hidden")))

/* The C SDK's header may have been included first, and has declared these as extern. */
#undef CTP_SLOW_LINKAGE
#define CTP_SLOW_LINKAGE CTP_CPP_HIDDEN
#ifndef CTP_SLOW
#define CTP_SLOW CTP_CPP_HIDDEN
#endif
#ifndef CTP_LATER_LINKAGE
#define CTP_LATER_LINKAGE inline __attribute__((visibility("default")))
#endif

#ifndef CTP_ATTACHER_LINKAGE
#define CTP_ATTACHER_LINKAGE inline __attribute__((visibility("hidden")))
#endif

#include <corotracer/probe.h>
#include <corotracer/attach.h>

#include <corotracer/header_begin.h>

#define CTP_CPP_STATE __attribute__((visibility("default")))

namespace corotracer
{
inline namespace v1
{
namespace detail
{

inline constexpr uint32_t nr_newborn = 4;

/* A coroutine that was recently created on this thread. */
struct Newborn {
	uintptr_t promise; /* its PromiseMixin, inverted so that it hides no leak */
	const ctp_life *life;
	uint64_t id;
};

struct Thread {
	ctp_thread ctp;
	uint64_t current;       /* id of the coroutine that runs here, if known; else 0 */
	const void *passed;     /* frame to which a coroutine has just passed this thread, */
	uint64_t passed_by;     /* id of the coroutine that passed it, */
	uint32_t passed_at;     /* and its site */
	uint32_t nr_born;       /* number of coroutines created here */
	const char *birth_name; /* name of the next coroutine */
	Newborn newborn[nr_newborn];
};

/*
 * One per lane and process, never unmapped.  `nr` is the number of the suspend that the lane's
 * thread has written but may not have published, or a number that no suspend has.  It increases
 * also when the lane changes its thread.  Once it differs from the number of a suspend, that
 * suspend is published.
 */
struct Turn {
	uint64_t nr;
	uint32_t helpers; /* threads that are publishing for the lane's thread */
	uint8_t reserved[52];
};

CTP_CPP_STATE inline constinit Turn *turns = nullptr;
CTP_CPP_STATE inline constinit uint32_t nr_turns = 0; /* stored before turns */

constexpr ctp_process no_process()
{
	ctp_process none = {};

	none.sock = -1;
	return none;
}

CTP_CPP_STATE inline constinit ctp_process process = no_process();
CTP_CPP_STATE inline constinit ctp_request request = CTP_REQUEST_INIT;
CTP_CPP_STATE inline constinit thread_local Thread thread
	__attribute__((tls_model("initial-exec"))) = {};

/*
 * The state of this thread.  A function and not the variable: for the compiler the address of an
 * inline variable may be null, and UBSan's check for that uses the flags of an addition which the
 * linker replaces by an instruction without flags (gcc 12, binutils 2.40).
 */
__attribute__((returns_nonnull, no_sanitize("undefined"))) inline Thread *self()
{
	return &thread;
}

inline ctp_session *session()
{
	return ctp_load_relaxed(&process.session);
}

/* True if an event of a coroutine may have something to do.  Without the tool: one load. */
inline bool gate_is_open()
{
	return ctp_unlikely(ctp_load_relaxed(&request.gate));
}

/* This thread's state is about coroutines of an earlier region: their ids mean others now. */
CTP_CPP_HIDDEN void thread_renew(Thread &t, const ctp_session *s)
{
	if (!s || ~t.ctp.ticket >= s->first)
		return;
	t.current = 0;
	t.passed = nullptr;
	memset(static_cast<void *>(t.newborn), 0, sizeof(t.newborn));
}

/* The state of this thread, before an event under session @s. */
inline Thread &thread_for(const ctp_session *s)
{
	Thread &t = *self();

	if (ctp_unlikely(!s || t.ctp.ticket != ~ctp_load_relaxed(&s->generation)))
		thread_renew(t, s);
	return t;
}

/* For kernels that do not wipe the page: see ctp_session_page(). */
inline void wipe_in_child()
{
	if (process.session)
		memset(static_cast<void *>(process.session), 0, sizeof(ctp_session));
}

/*
 * A thread ends, and another thread may take over its lane.  If a thread is publishing for it at
 * this moment (see events.h), the lane must not be reused: it stays open and is lost.
 */
inline void leave_thread(void *leaving)
{
	ctp_thread *t = static_cast<ctp_thread *>(leaving);
	ctp_session *s = session();
	Turn *all = ctp_load_relaxed(&turns);

	if (s && all && t->lane && t->ticket == ~ctp_load_relaxed(&s->generation) &&
	    t->lane - reinterpret_cast<ctp_lane *>(s->lane_pool.units) < nr_turns) {
		Turn *turn = all + (t->lane - reinterpret_cast<ctp_lane *>(s->lane_pool.units));

		/* The thread may end in the middle of an await_suspend(). */
		ctp_lane_publish(t, s, 0);
		/* (ctp-N) pairs with the acquire load in settle_turn(). */
		ctp_store_release(&turn->nr, ctp_load_relaxed(&turn->nr) + 1);
		/* (ctp-N) pairs with the fence in help_publish(). */
		ctp_fence_full();
		/* (ctp-N) pairs with the release in help_publish(): the helpers have finished. */
		if (ctp_load_acquire(&turn->helpers))
			ctp_lane_forget(t);
	}
	ctp_thread_leave(t, s);
}

inline constexpr ctp_hooks hooks = { wipe_in_child, leave_thread, &request };

/* The program has one thread now, usually: later this could make a thread wait. */
CTP_CPP_STATE inline const int registered_at_start = ctp_process_register(&process);

} // namespace detail
} // namespace v1
} // namespace corotracer

/* Found through the note; one per shared object, and all of them lead to the same request block. */
extern "C" {
inline __attribute__((
	used, visibility("hidden"))) constinit const struct ctp_anchor corotracer_anchor_cpp = {
	CTP_ANCHOR_MAGIC, &corotracer::v1::detail::request
};
}

namespace corotracer
{
inline namespace v1
{
namespace detail
{

/* As ctp_attach(): 1 attached, 0 not traced, -1 another thread has not finished. */
CTP_CPP_HIDDEN int attach()
{
	CTP_REQUEST_NOTE("corotracer_anchor_cpp");
	return ctp_attach(&process, &hooks);
}

} // namespace detail

/* True if new coroutines are traced, as far as there is room. */
inline bool enabled()
{
	/* (ctp-F) pairs with the release in ctp_session_get(). */
	ctp_session *s = ctp_load_acquire(&detail::process.session);

	return s && ctp_load_relaxed(&s->generation) != 0;
}

} // namespace v1
} // namespace corotracer

#include <corotracer/header_end.h>

#endif
