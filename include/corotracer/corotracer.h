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
 *	corotracer_begin(&co->trace, "reader");		// created
 *	corotracer_resume(&co->trace);			// before it runs
 *	corotracer_suspend(&co->trace, co->pc);		// it gave up the thread
 *	corotracer_end(&co->trace);			// destroyed
 *
 * These calls are enough to find a coroutine that is never resumed.  A scheduler can pass more
 * information, and the report then explains why:
 *
 *	corotracer_spawn(&co->trace, "reader", &parent->trace);	     // parent and site
 *	corotracer_await(&co->trace, CTP_REASON_IO_READ, fd);	     // site, reason and resource
 *	corotracer_wake(&co->trace, &self->trace);		     // waker and site
 *	corotracer_done(&co->trace);				     // returned; frame still exists
 *
 * Run the program under the tool: corotracer run -o trace.jsonl -- ./program
 * Or trace it while it runs: corotracer run -o trace.jsonl -p PID
 *
 * Without the tool every call is a load and a branch.  Any thread may call.  A coroutine may move
 * between threads.  The calls for one coroutine must not overlap: they follow each other like the
 * steps of the coroutine, ordered by the scheduler's hand-over.  Only corotracer_wake() may be
 * called at any time while the coroutine exists.  Do not call from a signal handler that may have
 * interrupted another call.
 *
 * No function prints, exits, changes errno or installs a signal handler.  No function waits for
 * the collector, unless the collector was started with --on-full block.  Threads that create
 * coroutines while another thread attaches wait for that thread, once (about 100 us).  If the
 * attach takes longer than 50 ms they continue: these coroutines are traced once the attach has
 * succeeded, and the trace has the number of events that were lost until then.  With
 * CTP_VERBOSE=1 the program prints on stderr why it is not traced.
 *
 * After a fork the child may create coroutines: they are traced into the same trace.  Coroutines
 * that the child inherited are untraced there; in the parent they stay traced.
 */
#ifndef COROTRACER_COROTRACER_H
#define COROTRACER_COROTRACER_H

#include <corotracer/memory_hook.h>
#include <corotracer/probe.h>

#include <corotracer/header_begin.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COROTRACER_API __attribute__((visibility("default")))

/* A descriptor, an address or a number as the number of a resource. */
#ifdef __cplusplus
extern "C++" {
template <class CtpResource> static inline uint64_t corotracer__number(CtpResource resource)
{
	return (uint64_t)resource;
}
}
#define COROTRACER__NUMBER(resource) corotracer__number(resource)
#else
#define COROTRACER__NUMBER(resource) ((uint64_t)(resource))
#endif

/* Embedded in the program's coroutine struct; all zero means untraced, also later. */
struct corotracer_coro {
	struct ctp_probe probe;
};

/* A site.  Static storage: it is registered once, at its first use. */
struct corotracer_site {
	const char *file;
	const char *function;
	uint32_t line;
	uint32_t id; /* tag of the region (upper half) and number there; 0: not registered yet */
};

/* The current source location, as a struct corotracer_site *. */
#define COROTRACER_HERE                                                                         \
	__extension__({                                                                         \
		static struct corotracer_site corotracer_here = { __FILE__, __func__, __LINE__, \
								  0 };                          \
		&corotracer_here;                                                               \
	})

/*
 * Attach to the collector that the environment names.  Returns 0 when traced, -ENOENT without a
 * compatible collector, -EAGAIN when another thread has not finished its attach.  Idempotent.
 * corotracer_begin() calls it if the program did not.
 */
COROTRACER_API int corotracer_init(void);

/* 1 when new coroutines are traced, as far as there is room. */
COROTRACER_API int corotracer_enabled(void);

/*
 * A coroutine is created.  @name may be NULL; up to 408 bytes of it are copied.  @co is
 * overwritten.  Returns 0 when it is traced, -EAGAIN when it will be traced later (another thread
 * has not finished its attach), -ENOENT when the program is not traced, -ENOSPC when the collector
 * has no room left.  The program may ignore all of these.
 */
COROTRACER_API int corotracer_begin(struct corotracer_coro *co, const char *name);

/* As corotracer_begin(), with the parent and the site of the creation; both may be NULL. */
COROTRACER_API int corotracer_begin_at(struct corotracer_coro *co, const char *name,
				       const struct corotracer_coro *parent,
				       struct corotracer_site *site);
#define corotracer_spawn(co, name, parent) \
	corotracer_begin_at((co), (name), (parent), COROTRACER_HERE)

/* A coroutine is destroyed, finished or not.  @co is untraced afterwards and may be reused. */
COROTRACER_API void corotracer_end(struct corotracer_coro *co);

/*
 * A coroutine returned, or (@flags CTP_END_CANCELLED) will never be resumed again.  Its frame still
 * exists: corotracer_end() follows when the frame is destroyed.
 */
COROTRACER_API void corotracer_finish(struct corotracer_coro *co, uint32_t flags);
#define corotracer_done(co) corotracer_finish((co), 0)

/*
 * @co was made ready to run by @waker (NULL: by no coroutine, for example by a timer or a poller)
 * at @site (may be NULL), because of @reason (CTP_REASON_*).
 */
COROTRACER_API void corotracer_wake_at(const struct corotracer_coro *co,
				       const struct corotracer_coro *waker,
				       struct corotracer_site *site, uint32_t reason);
#define corotracer_wake(co, waker) \
	corotracer_wake_at((co), (waker), COROTRACER_HERE, CTP_REASON_UNKNOWN)

/*
 * As corotracer_wake_at(), with the resource that caused it: a ready file descriptor, for example.
 */
COROTRACER_API void corotracer_wake_by(const struct corotracer_coro *co,
				       const struct corotracer_coro *waker,
				       struct corotracer_site *site, uint32_t reason,
				       uint64_t resource);

/*
 * The descriptor @resource is about to be closed by @co (NULL: by no coroutine); its number may be
 * reused afterwards.  A coroutine that still waits for it is never woken: 'corotracer report' lists
 * such coroutines.
 */
COROTRACER_API void corotracer_closing_at(const struct corotracer_coro *co, uint64_t resource,
					  struct corotracer_site *site);
#define corotracer_closing(co, fd) \
	corotracer_closing_at((co), COROTRACER__NUMBER(fd), COROTRACER_HERE)

/*
 * @co holds the lock @resource from now on, or no longer.  With these events the report can
 * distinguish a deadlock from a queue of waiters.
 */
COROTRACER_API void corotracer_acquired_at(const struct corotracer_coro *co, uint64_t resource,
					   struct corotracer_site *site);
COROTRACER_API void corotracer_released_at(const struct corotracer_coro *co, uint64_t resource,
					   struct corotracer_site *site);
#define corotracer_acquired(co, lock) \
	corotracer_acquired_at((co), COROTRACER__NUMBER(lock), COROTRACER_HERE)
#define corotracer_released(co, lock) \
	corotracer_released_at((co), COROTRACER__NUMBER(lock), COROTRACER_HERE)

/*
 * From now on @co, and coroutines that it creates, work for a span of the program's own traces:
 * @traceparent is the W3C header "00-TRACE_ID-SPAN_ID-FLAGS", or NULL for none.  `corotracer export
 * otlp` makes the waits of @co children of that span.  Returns 0, or -EINVAL if the text is not a
 * traceparent; it is not checked while @co is untraced.
 */
COROTRACER_API int corotracer_set_traceparent(const struct corotracer_coro *co,
					      const char *traceparent);

/* As corotracer_set_traceparent(), with the bytes of the ids. */
COROTRACER_API void corotracer_set_trace_context(const struct corotracer_coro *co,
						 const uint8_t trace_id[16],
						 const uint8_t span_id[8], uint8_t flags);

/* The id of @co in the trace; 0 while untraced. */
COROTRACER_API uint64_t corotracer_id(const struct corotracer_coro *co);

/* "1.2.3" */
COROTRACER_API const char *corotracer_version(void);

/* Private: for the inline functions below. */
COROTRACER_API extern struct ctp_process corotracer__process;
COROTRACER_API extern __thread struct ctp_thread corotracer__thread
	__attribute__((tls_model("initial-exec")));
COROTRACER_API extern struct ctp_request corotracer__request;
COROTRACER_API uint32_t corotracer__site(struct corotracer_site *site);

static inline struct ctp_session *corotracer__session(void)
{
	return ctp_load_relaxed(&corotracer__process.session);
}

/* 1 if an event of @co may have something to do.  Without the tool: a load and a branch. */
static inline int corotracer__is_open(const struct corotracer_coro *co)
{
	return ctp_load_relaxed(&corotracer__request.gate) &&
	       (co->probe.life || co->probe.station || co->probe.last_ns);
}

/*
 * For the memory runtime, in files that are compiled for it; else nothing.  After the resume and
 * before the suspend: the accesses of the SDK do not count as the coroutine's.
 */
#define COROTRACER__STAMP(what, co, about) \
	CTP_MEMORY_STAMP((what), &(co)->probe, &corotracer__request.gate, (about))

static inline uint32_t corotracer__site_id(const struct ctp_session *s,
					   struct corotracer_site *site)
{
	uint32_t id = site ? ctp_load_relaxed(&site->id) : 0;

	if (ctp_likely(!site || id >> 16 == s->site_tag))
		return id & 0xffff;
	return corotracer__site(site);
}

/* The coroutine gives up its thread.  @addr is the address where it will continue, or its frame. */
static inline void corotracer_suspend(struct corotracer_coro *co, const void *addr)
{
	COROTRACER__STAMP(CTP_MEMORY_SUSPENDED, co, NULL);
	if (corotracer__is_open(co))
		ctp_suspend(&co->probe, &corotracer__thread, corotracer__session(),
			    (uint64_t)(uintptr_t)addr, 0, CTP_REASON_UNKNOWN);
}

/* As corotracer_suspend(), with the site and the reason (CTP_REASON_*). */
static inline void corotracer_suspend_at(struct corotracer_coro *co, const void *addr,
					 struct corotracer_site *site, uint32_t reason)
{
	COROTRACER__STAMP(CTP_MEMORY_SUSPENDED, co, site);
	if (corotracer__is_open(co))
		ctp_suspend(&co->probe, &corotracer__thread, corotracer__session(),
			    (uint64_t)(uintptr_t)addr,
			    corotracer__site_id(corotracer__session(), site), reason);
}

/*
 * As corotracer_suspend_at(), with what the coroutine waits for: a file descriptor, the address of
 * a lock, a deadline, the id of a child.
 */
static inline void corotracer_suspend_on(struct corotracer_coro *co, const void *addr,
					 struct corotracer_site *site, uint32_t reason,
					 uint64_t resource)
{
	COROTRACER__STAMP(CTP_MEMORY_SUSPENDED, co, site);
	if (corotracer__is_open(co))
		ctp_suspend_on(&co->probe, &corotracer__thread, corotracer__session(),
			       (uint64_t)(uintptr_t)addr,
			       corotracer__site_id(corotracer__session(), site), reason, resource);
}
#define corotracer_await(co, reason, resource)                                              \
	corotracer_suspend_on((co), __builtin_return_address(0), COROTRACER_HERE, (reason), \
			      COROTRACER__NUMBER(resource))

/* The coroutine runs again, on the calling thread. */
static inline void corotracer_resume(struct corotracer_coro *co)
{
	if (corotracer__is_open(co)) {
		COROTRACER__STAMP(CTP_MEMORY_PAUSED, co, NULL);
		ctp_resume(&co->probe, &corotracer__thread, corotracer__session());
	}
	COROTRACER__STAMP(CTP_MEMORY_RESUMED, co, NULL);
}

/*
 * @from gives up the thread and @to continues on it, in one step.  A scheduler that switches
 * directly pays for one read of the clock instead of two.
 */
static inline void corotracer_switch(struct corotracer_coro *from, const void *addr,
				     struct corotracer_coro *to)
{
	COROTRACER__STAMP(CTP_MEMORY_SUSPENDED, from, NULL);
	if (corotracer__is_open(from) || corotracer__is_open(to))
		ctp_switch(&from->probe, &to->probe, &corotracer__thread, corotracer__session(),
			   (uint64_t)(uintptr_t)addr, 0, CTP_REASON_UNKNOWN);
	COROTRACER__STAMP(CTP_MEMORY_RESUMED, to, NULL);
}

#ifdef __cplusplus
}
#endif

#include <corotracer/header_end.h>

#endif
