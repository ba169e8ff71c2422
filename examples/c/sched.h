/* SPDX-License-Identifier: MIT */
/*
 * sched.h - many coroutines on a few threads.
 *
 *	struct sched *s = sched_new();
 *
 *	sched_spawn(s, producer, &arg, "producer %d", 3);
 *	sched_run(s, 4);		// four threads, until nothing is left to run
 *	sched_free(s);
 *
 * Coroutines are cooperative: one keeps its thread until it calls something that
 * waits (coro_yield, coro_sleep, coro_park, or channel.h on top of that).  It may go
 * on on another thread.
 *
 * Every coroutine is traced: run the program under `corotracer run` to see them.  The
 * trace knows where each was spawned and by whom, where in the source and on what it
 * waits, and who woke it.  That is what the macros are for: they note the line where
 * they stand, once, and hand it down.
 */
#ifndef EXAMPLES_SCHED_H
#define EXAMPLES_SCHED_H

#include <stdint.h>

#include <corotracer/corotracer.h>

struct sched;
struct coro;

/* NULL: no memory. */
struct sched *sched_new(void);

/*
 * A new coroutine that runs fn(arg), under a name made like printf's.  From any
 * thread or coroutine, before sched_run() or from within.  Returns 0 or a negative
 * errno.
 */
#define sched_spawn(s, fn, arg, ...) sched_spawn_at((s), (fn), (arg), COROTRACER_HERE, __VA_ARGS__)
int sched_spawn_at(struct sched *s, void (*fn)(void *arg), void *arg, struct corotracer_site *site,
		   const char *name, ...) __attribute__((format(printf, 5, 6)));

/*
 * Run on @nr_threads threads until no coroutine can run any more: all have returned,
 * or those that have not are parked and nobody is left to wake them.  Returns how
 * many of the latter there are (0 is what one wants), or a negative errno when there
 * was no thread to be had.
 */
long sched_run(struct sched *s, unsigned nr_threads);

/* How often a coroutine went on on another thread than before. */
uint64_t sched_migrations(const struct sched *s);

/* Coroutines that never finished go with it.  Accepts NULL. */
void sched_free(struct sched *s);

/* CLOCK_MONOTONIC. */
uint64_t sched_now_ns(void);

/* Below: from within a coroutine only, but for coro_ready(). */
struct coro *coro_self(void);

/* Where a coroutine waits, why, and for what; for the trace. */
struct coro_wait {
	const void *addr; /* of the code that waits */
	struct corotracer_site *site;
	uint32_t reason; /* CTP_REASON_* */
	uint64_t resource;
};

/* A function that waits on behalf of its caller is marked so, and takes its address. */
#define CORO_WAITS  __attribute__((noinline))
#define CORO_CALLER __builtin_return_address(0)

/* Let others run first. */
#define coro_yield() coro_yield_at(COROTRACER_HERE)
void coro_yield_at(struct corotracer_site *site);

#define coro_sleep(ns) coro_sleep_at((ns), COROTRACER_HERE)
void coro_sleep_at(uint64_t ns, struct corotracer_site *site);

/*
 * Wait for a coro_ready().  One that comes between the decision to wait and the wait
 * is not lost: coro_park() then returns at once.  So the way to wait is: put yourself
 * where the waker will look, under a lock; drop the lock; park.  And to wake: take
 * the coroutine out of there, under the lock; drop the lock; one coro_ready().
 */
void coro_park(const struct coro_wait *wait);

/* From any thread.  @co may run, finish and be gone before this returns. */
void coro_ready(struct coro *co, struct corotracer_site *site);

#endif
