/* SPDX-License-Identifier: MIT */
/*
 * loop_sched.h - fibers on one thread, with an event loop: ucontext, epoll and timers.
 *
 *	loop_spawn(serve_client, conn, "conn-%d", conn->fd);
 *	loop_run(1500);		// until all fibers have returned, at most 1.5 s
 *
 * The macros register the line that uses them as a site of the trace.
 */
#ifndef TESTS_CORPUS_LOOP_SCHED_H
#define TESTS_CORPUS_LOOP_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <ucontext.h>

#include <corotracer/corotracer.h>

#define LOOP_PRIORITIES 3 /* 0 runs first */

struct fiber {
	struct corotracer_coro trace;
	ucontext_t context;
	void *stack;
	void (*fn)(void *arg);
	void *arg;
	unsigned priority;
	bool has_ended;
	struct fiber *next; /* in the ready list or among the watchers of a descriptor */
	struct fiber *next_timer;
	struct fiber *joiner; /* waits for the end of this one */
	uint64_t deadline;    /* of its timer */
	bool has_timer;
	uint32_t events; /* that it waits for, and then those that came */
	/* what the trace says about its wait */
	struct corotracer_site *site;
	uint32_t reason;
	uint64_t resource;
};

uint64_t loop_now(void); /* ns, CLOCK_MONOTONIC */

#define loop_spawn(fn, arg, ...) loop_spawn_at(COROTRACER_HERE, (fn), (arg), __VA_ARGS__)
struct fiber *loop_spawn_at(struct corotracer_site *site, void (*fn)(void *arg), void *arg,
			    const char *name, ...) __attribute__((format(printf, 4, 5)));

/* Creates a fiber that fiber_unpark() starts. */
#define loop_create(fn, arg, ...) loop_create_at(COROTRACER_HERE, (fn), (arg), __VA_ARGS__)
struct fiber *loop_create_at(struct corotracer_site *site, void (*fn)(void *arg), void *arg,
			     const char *name, ...) __attribute__((format(printf, 4, 5)));

/* Returns the number of fibers that have not ended. */
int loop_run(unsigned ms);
void loop_leave(void); /* loop_run() returns after the fiber that runs now */

/* Make a parked fiber ready, from another thread. */
#define loop_post(f) loop_post_at(COROTRACER_HERE, (f))
void loop_post_at(struct corotracer_site *site, struct fiber *f);

/* Fibers that wait for the descriptor wait for nothing from now on. */
void loop_forget(int fd);

struct fiber *fiber_current(void);

#define fiber_yield() fiber_yield_at(COROTRACER_HERE)
void fiber_yield_at(struct corotracer_site *site);

#define fiber_sleep(ms) fiber_sleep_at(COROTRACER_HERE, (ms))
void fiber_sleep_at(struct corotracer_site *site, unsigned ms);

/* One timer per fiber: it makes the parked fiber ready. */
void fiber_timer(struct fiber *f, unsigned ms);
void fiber_timer_cancel(struct fiber *f);

/* Returns the events that came. */
#define fiber_poll(fd, events) fiber_poll_at(COROTRACER_HERE, (fd), (events))
uint32_t fiber_poll_at(struct corotracer_site *site, int fd, uint32_t events);

/* Wait for fiber_unpark(). */
#define fiber_park(reason, resource) \
	fiber_park_at(COROTRACER_HERE, (reason), (uint64_t)(uintptr_t)(resource))
void fiber_park_at(struct corotracer_site *site, uint32_t reason, uint64_t resource);
#define fiber_unpark(f) fiber_unpark_at(COROTRACER_HERE, (f))
void fiber_unpark_at(struct corotracer_site *site, struct fiber *f);

#define fiber_join(f) fiber_join_at(COROTRACER_HERE, (f))
void fiber_join_at(struct corotracer_site *site, struct fiber *f);

#endif
