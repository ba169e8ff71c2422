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
 * Run the program under the tool: corotracer run -o trace.jsonl -- ./program
 *
 * Without the tool every call is a load and a branch.  Any thread may call, a
 * coroutine may move between threads, and the calls for one coroutine follow each
 * other as its own steps do (the scheduler's hand-over orders them; no more is
 * needed).  No function prints, exits, changes errno or installs a signal handler, and
 * none waits for the collector; threads that begin coroutines while another is still
 * joining it wait for that thread, once (some 100 us, 20 ms at most).  Set CTP_VERBOSE=1 to be told
 *on stderr why a program stays untraced.
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

/*
 * Join the collector that the environment names.  Returns 0 when traced, -ENOENT
 * when there is none (or none that we understand).  Idempotent.  corotracer_begin()
 * does it by itself for a program that did not.
 */
COROTRACER_API int corotracer_init(void);

/* 1 when new coroutines will be traced, as far as there are stations. */
COROTRACER_API int corotracer_enabled(void);

/*
 * A coroutine is born.  @name may be NULL; it is copied (408 bytes of it at most).
 * @co is overwritten.  Returns 0 when it is traced, -ENOENT when the program is
 * not, -ENOSPC when the collector has no station left; all fine to ignore.
 */
COROTRACER_API int corotracer_begin(struct corotracer_coro *co, const char *name);

/* A coroutine is gone, finished or not.  @co is untraced afterwards and may be reused. */
COROTRACER_API void corotracer_end(struct corotracer_coro *co);

/* "1.2.3" */
COROTRACER_API const char *corotracer_version(void);

/* For the inline functions below, not for you: what the fast path must see. */
COROTRACER_API extern struct ctp_process corotracer__process;
COROTRACER_API extern __thread struct ctp_thread corotracer__thread
	__attribute__((tls_model("initial-exec")));

/* The coroutine gives up its thread at @addr: where it will go on, or its frame. */
static inline void corotracer_suspend(struct corotracer_coro *co, const void *addr)
{
	if (co->probe.station)
		ctp_probe_write(&co->probe, &corotracer__thread,
				ctp_load_relaxed(&corotracer__process.session),
				(uint64_t)(uintptr_t)addr, 0);
}

/* The coroutine runs again, on the calling thread. */
static inline void corotracer_resume(struct corotracer_coro *co)
{
	if (co->probe.station)
		ctp_probe_write(&co->probe, &corotracer__thread,
				ctp_load_relaxed(&corotracer__process.session), 0, 1);
}

/*
 * @from gives up the thread and @to goes on with it, in one step: a scheduler that
 * switches directly pays for one look at the clock instead of two.
 */
static inline void corotracer_switch(struct corotracer_coro *from, const void *addr,
				     struct corotracer_coro *to)
{
	if (from->probe.station || to->probe.station)
		ctp_probe_switch(&from->probe, &to->probe, &corotracer__thread,
				 ctp_load_relaxed(&corotracer__process.session),
				 (uint64_t)(uintptr_t)addr);
}

#ifdef __cplusplus
}
#endif

#endif
