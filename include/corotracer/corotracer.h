/* SPDX-License-Identifier: MIT */
/*
 * corotracer/corotracer.h - trace the coroutines of a C program.
 *
 *	struct my_coroutine {
 *		struct corotracer_coro trace;
 *		...
 *	};
 *
 *	corotracer_init();				// once, early in main
 *	corotracer_begin(&co->trace, "reader");		// born
 *	corotracer_resume(&co->trace);			// about to run it
 *	corotracer_suspend(&co->trace, co->pc);		// it gave up the thread
 *	corotracer_end(&co->trace);			// gone
 *
 * That is enough to find the coroutine that never woke up.  A scheduler that knows more
 * can say more, and the report will be able to say why:
 *
 *	corotracer_spawn(&co->trace, "reader", &parent->trace);	     // whose child, and where
 *	corotracer_await(&co->trace, CTP_REASON_IO_READ, fd);	     // here, for this
 *	corotracer_wake(&co->trace, &self->trace);		     // woken, by whom, where
 *	corotracer_done(&co->trace);				     // returned; frame still there
 *
 * Run the program under the tool: corotracer run -o trace.jsonl -- ./program
 *
 * Without the tool every call is a load and a branch.  Any thread may call, a
 * coroutine may move between threads, and the calls for one coroutine follow each
 * other as its own steps do (the scheduler's hand-over orders them; no more is
 * needed); only corotracer_wake() may come at any time while the coroutine is there.
 * Not from a signal handler that may have interrupted another call.
 *
 * No function prints, exits, changes errno or installs a signal handler, and none waits
 * for the collector, unless whoever started it asked for that (--on-full block);
 * threads that begin coroutines while another is still joining it wait for that
 * thread, once (some 100 us).  Should it take longer than 50 ms they go on: these
 * coroutines are traced from when it has succeeded, and the trace says how many
 * events were lost until then.  Set CTP_VERBOSE=1 to be told on stderr
 * why a program stays untraced.
 *
 * After a fork the child may begin coroutines of its own: they are traced into the
 * same trace.  Coroutines that it inherited are untraced there; the parent's go on.
 */
#ifndef COROTRACER_COROTRACER_H
#define COROTRACER_COROTRACER_H

#include <corotracer/probe.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COROTRACER_API __attribute__((visibility("default")))

/* Inside the program's own coroutine; all zero means untraced. */
struct corotracer_coro {
	struct ctp_probe probe;
};

/* A place in the source.  Static: its number is found out once. */
struct corotracer_site {
	const char *file;
	const char *function;
	uint32_t line;
	uint32_t id; /* 0: not entered yet */
};

/* The place where this stands, as a struct corotracer_site *. */
#define COROTRACER_HERE                                                                         \
	__extension__({                                                                         \
		static struct corotracer_site corotracer_here = { __FILE__, __func__, __LINE__, \
								  0 };                          \
		&corotracer_here;                                                               \
	})

/*
 * Join the collector that the environment names.  Returns 0 when traced, -ENOENT
 * when there is none (or none that we understand), -EAGAIN when another thread has
 * not finished joining it.  Idempotent.  corotracer_begin()
 * does it by itself for a program that did not.
 */
COROTRACER_API int corotracer_init(void);

/* 1 when new coroutines will be traced, as far as there is room. */
COROTRACER_API int corotracer_enabled(void);

/*
 * A coroutine is born.  @name may be NULL; it is copied (408 bytes of it at most).
 * @co is overwritten.  Returns 0 when it is traced, -EAGAIN when it will be (another
 * thread has not finished joining the collector), -ENOENT when the program is not traced,
 * -ENOSPC when the collector has no room left; all fine to ignore.
 */
COROTRACER_API int corotracer_begin(struct corotracer_coro *co, const char *name);

/* The same, telling whose child it is and where it was born; both may be NULL. */
COROTRACER_API int corotracer_begin_at(struct corotracer_coro *co, const char *name,
				       const struct corotracer_coro *parent,
				       struct corotracer_site *site);
#define corotracer_spawn(co, name, parent) \
	corotracer_begin_at((co), (name), (parent), COROTRACER_HERE)

/* A coroutine is gone, finished or not.  @co is untraced afterwards and may be reused. */
COROTRACER_API void corotracer_end(struct corotracer_coro *co);

/*
 * A coroutine returned, or (@flags CTP_END_CANCELLED) will never be resumed again; its
 * frame is still there, and corotracer_end() will tell when it no longer is.
 */
COROTRACER_API void corotracer_finish(struct corotracer_coro *co, uint32_t flags);
#define corotracer_done(co) corotracer_finish((co), 0)

/*
 * @co was made ready to run: by @waker, or by none (NULL: a timer, the poller), at
 * @site (may be NULL), because of @reason (CTP_REASON_*).
 */
COROTRACER_API void corotracer_wake_at(const struct corotracer_coro *co,
				       const struct corotracer_coro *waker,
				       struct corotracer_site *site, uint32_t reason);
#define corotracer_wake(co, waker) \
	corotracer_wake_at((co), (waker), COROTRACER_HERE, CTP_REASON_UNKNOWN)

/* The same by something that has a number: a file descriptor that became ready, say. */
COROTRACER_API void corotracer_wake_by(const struct corotracer_coro *co,
				       const struct corotracer_coro *waker,
				       struct corotracer_site *site, uint32_t reason,
				       uint64_t resource);

/*
 * The descriptor is about to be closed, by @co or by none (NULL); afterwards its number may be
 * another's.  Whoever still waits for it will never be woken: 'corotracer report' names them.
 */
COROTRACER_API void corotracer_closing_at(const struct corotracer_coro *co, uint64_t resource,
					  struct corotracer_site *site);
#define corotracer_closing(co, fd) corotracer_closing_at((co), (uint64_t)(fd), COROTRACER_HERE)

/* @co holds the lock now, or no longer: so that a ring of waiters can be told from a queue. */
COROTRACER_API void corotracer_acquired_at(const struct corotracer_coro *co, uint64_t resource,
					   struct corotracer_site *site);
COROTRACER_API void corotracer_released_at(const struct corotracer_coro *co, uint64_t resource,
					   struct corotracer_site *site);
#define corotracer_acquired(co, lock) \
	corotracer_acquired_at((co), (uint64_t)(lock), COROTRACER_HERE)
#define corotracer_released(co, lock) \
	corotracer_released_at((co), (uint64_t)(lock), COROTRACER_HERE)

/* The number by which a trace knows @co; 0 while untraced. */
COROTRACER_API uint64_t corotracer_id(const struct corotracer_coro *co);

/* "1.2.3" */
COROTRACER_API const char *corotracer_version(void);

/* For the inline functions below, not for you: what the fast path must see. */
COROTRACER_API extern struct ctp_process corotracer__process;
COROTRACER_API extern __thread struct ctp_thread corotracer__thread
	__attribute__((tls_model("initial-exec")));
COROTRACER_API uint32_t corotracer__site(struct corotracer_site *site);

static inline int corotracer__is_traced(const struct corotracer_coro *co)
{
	return co->probe.life || co->probe.station;
}

static inline uint32_t corotracer__site_id(struct corotracer_site *site)
{
	uint32_t id = site ? ctp_load_relaxed(&site->id) : 0;

	return ctp_likely(id || !site) ? id : corotracer__site(site);
}

/* The coroutine gives up its thread at @addr: where it will go on, or its frame. */
static inline void corotracer_suspend(struct corotracer_coro *co, const void *addr)
{
	if (corotracer__is_traced(co))
		ctp_suspend(&co->probe, &corotracer__thread,
			    ctp_load_relaxed(&corotracer__process.session),
			    (uint64_t)(uintptr_t)addr, 0, CTP_REASON_UNKNOWN);
}

/* The same, telling where in the source and why (CTP_REASON_*). */
static inline void corotracer_suspend_at(struct corotracer_coro *co, const void *addr,
					 struct corotracer_site *site, uint32_t reason)
{
	if (corotracer__is_traced(co))
		ctp_suspend(&co->probe, &corotracer__thread,
			    ctp_load_relaxed(&corotracer__process.session),
			    (uint64_t)(uintptr_t)addr, corotracer__site_id(site), reason);
}

/* And on what: a file descriptor, the address of a lock, a deadline, the id of a child. */
static inline void corotracer_suspend_on(struct corotracer_coro *co, const void *addr,
					 struct corotracer_site *site, uint32_t reason,
					 uint64_t resource)
{
	if (corotracer__is_traced(co))
		ctp_suspend_on(&co->probe, &corotracer__thread,
			       ctp_load_relaxed(&corotracer__process.session),
			       (uint64_t)(uintptr_t)addr, corotracer__site_id(site), reason,
			       resource);
}
#define corotracer_await(co, reason, resource)                                              \
	corotracer_suspend_on((co), __builtin_return_address(0), COROTRACER_HERE, (reason), \
			      (uint64_t)(resource))

/* The coroutine runs again, on the calling thread. */
static inline void corotracer_resume(struct corotracer_coro *co)
{
	if (corotracer__is_traced(co))
		ctp_resume(&co->probe, &corotracer__thread,
			   ctp_load_relaxed(&corotracer__process.session));
}

/*
 * @from gives up the thread and @to goes on with it, in one step: a scheduler that
 * switches directly pays for one look at the clock instead of two.
 */
static inline void corotracer_switch(struct corotracer_coro *from, const void *addr,
				     struct corotracer_coro *to)
{
	if (corotracer__is_traced(from) || corotracer__is_traced(to))
		ctp_switch(&from->probe, &to->probe, &corotracer__thread,
			   ctp_load_relaxed(&corotracer__process.session),
			   (uint64_t)(uintptr_t)addr, 0, CTP_REASON_UNKNOWN);
}

#ifdef __cplusplus
}
#endif

#endif
