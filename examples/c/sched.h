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
 * Every coroutine is traced: run the program under `corotracer run` to see them.
 * What the trace shows as the place of a suspension is where the coroutine called
 * the function that waits.
 */
#ifndef EXAMPLES_SCHED_H
#define EXAMPLES_SCHED_H

#include <stdint.h>

struct sched;
struct coro;

/* NULL: no memory. */
struct sched *sched_new(void);

/*
 * A new coroutine that runs fn(arg), under a name made like printf's.  From any
 * thread or coroutine, before sched_run() or from within.  Returns 0 or a negative
 * errno.
 */
int sched_spawn(struct sched *s, void (*fn)(void *arg), void *arg, const char *name, ...)
	__attribute__((format(printf, 4, 5)));

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

/*
 * Below: from within a coroutine only, but for coro_ready().  A function that waits
 * on behalf of its caller is marked CORO_WAITS, takes CORO_CALLER and hands it down.
 */
#define CORO_WAITS  __attribute__((noinline))
#define CORO_CALLER __builtin_return_address(0)

struct coro *coro_self(void);

/* Let others run first. */
void coro_yield(void);

void coro_sleep(uint64_t ns);

/*
 * Wait for a coro_ready().  One that comes between the decision to wait and the wait
 * is not lost: coro_park() then returns at once.  So the way to wait is: put yourself
 * where the waker will look, under a lock; drop the lock; park.  And to wake: take
 * the coroutine out of there, under the lock; drop the lock; one coro_ready().
 */
void coro_park(const void *caller);

/* From any thread.  @co may run, finish and be gone before this returns. */
void coro_ready(struct coro *co);

#endif
