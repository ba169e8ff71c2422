/* SPDX-License-Identifier: MIT */
/*
 * sched.h - many coroutines on a few threads.
 *
 *	struct sched *s = sched_new();
 *
 *	sched_spawn(s, producer, &arg, "producer %d", 3);
 *	sched_run(s, 4);		// four threads, until nothing can run any more
 *	sched_free(s);
 *
 * Coroutines are cooperative: a coroutine keeps its thread until it calls a function that
 * waits (coro_yield, coro_sleep, coro_park, or channel.h on top of that).  It may continue
 * on another thread.
 *
 * Every coroutine is traced: run the program under `corotracer run` to see them.  The
 * trace has the site and the parent of each spawn, the site, reason and resource of each
 * wait, and the coroutine that woke it.  The macros are for that: they register the line
 * where they are used, once, and pass it down.
 */
#ifndef EXAMPLES_SCHED_H
#define EXAMPLES_SCHED_H

#include <stdint.h>

#include <corotracer/corotracer.h>

struct sched;
struct coro;

/* NULL: out of memory. */
struct sched *sched_new(void);

/*
 * Create a coroutine that runs fn(arg); its name has a printf format.  Callable from any
 * thread or coroutine, before sched_run() or during it.  Returns 0 or a negative
 * errno.
 */
#define sched_spawn(s, fn, arg, ...) sched_spawn_at((s), (fn), (arg), COROTRACER_HERE, __VA_ARGS__)
int sched_spawn_at(struct sched *s, void (*fn)(void *arg), void *arg, struct corotracer_site *site,
		   const char *name, ...) __attribute__((format(printf, 5, 6)));

/*
 * Run on @nr_threads threads until no coroutine can run any more: all have returned, or
 * the remaining ones are parked and no coroutine is left to wake them.  Returns the
 * number of the latter (0 in a correct program), or a negative errno if no thread could
 * be created.
 */
long sched_run(struct sched *s, unsigned nr_threads);

/* The number of times that a coroutine was resumed on another thread than before. */
uint64_t sched_migrations(const struct sched *s);

/* Also frees coroutines that have not finished.  Accepts NULL. */
void sched_free(struct sched *s);

/* CLOCK_MONOTONIC. */
uint64_t sched_now_ns(void);

/* The functions below may only be called by a coroutine, except coro_ready(). */
struct coro *coro_self(void);

/* The site, reason and resource of a wait, for the trace. */
struct coro_wait {
	const void *addr; /* of the waiting code */
	struct corotracer_site *site;
	uint32_t reason; /* CTP_REASON_* */
	uint64_t resource;
};

/* Marks a function that waits on behalf of its caller and takes its caller's address. */
#define CORO_WAITS  __attribute__((noinline))
#define CORO_CALLER __builtin_return_address(0)

/* Let other coroutines run first. */
#define coro_yield() coro_yield_at(COROTRACER_HERE)
void coro_yield_at(struct corotracer_site *site);

#define coro_sleep(ns) coro_sleep_at((ns), COROTRACER_HERE)
void coro_sleep_at(uint64_t ns, struct corotracer_site *site);

/*
 * Wait for a coro_ready().  One that comes between the decision to wait and the wait is
 * not lost: coro_park() then returns at once.  To wait: add the coroutine to a list that
 * the waker reads, under a lock; release the lock; park.  To wake: remove the coroutine
 * from the list, under the lock; release the lock; call coro_ready() once.
 */
void coro_park(const struct coro_wait *wait);

/* From any thread.  @co may run, finish and be freed before this returns. */
void coro_ready(struct coro *co, struct corotracer_site *site);

#endif
