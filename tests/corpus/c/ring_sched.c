/* SPDX-License-Identifier: MIT */
/*
 * ring_sched.c - a round of the ring resumes every coroutine whose wait is over.
 *
 * A coroutine that waits for a channel says which; the round looks whether the channel is ready.
 */
#include "ring_sched.h"

#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#include <corotracer/corotracer.h>

#include "run_time.h"

#define RING_STACK (64u << 10)

enum ring_wait { RING_NOTHING, RING_TIME, RING_ITEM, RING_ROOM };

struct ring_coro {
	struct corotracer_coro trace;
	ucontext_t context;
	void (*fn)(long arg);
	long arg;
	enum ring_wait wait;
	struct ring_chan *chan;
	uint64_t deadline;
	bool has_ended;
	const void *address;
	struct ring_coro *next;
};

static struct ring_coro *ring_first, **ring_last = &ring_first, *ring_current;
static ucontext_t ring_context;
static int ring_alive;

static uint64_t ring_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void ring_main(void)
{
	struct ring_coro *c = ring_current;

	c->fn(c->arg);
	c->has_ended = true;
	setcontext(&ring_context);
}

void ring_spawn(void (*fn)(long arg), long arg, const char *name)
{
	struct ring_coro *c = calloc(1, sizeof(*c));
	void *stack = malloc(RING_STACK);

	if (!c || !stack)
		abort();
	c->fn = fn;
	c->arg = arg;
	getcontext(&c->context);
	c->context.uc_stack.ss_sp = stack;
	c->context.uc_stack.ss_size = RING_STACK;
	makecontext(&c->context, ring_main, 0);
	corotracer_begin(&c->trace, name);
	*ring_last = c;
	ring_last = &c->next;
	ring_alive++;
}

static bool ring_is_ready(const struct ring_coro *c)
{
	switch (c->wait) {
	case RING_TIME:
		return c->deadline <= ring_now();
	case RING_ITEM:
		return c->chan->nr || c->chan->is_closed;
	case RING_ROOM:
		return c->chan->nr < c->chan->capacity;
	default:
		return true;
	}
}

static void ring_resume(struct ring_coro *c)
{
	c->wait = RING_NOTHING;
	ring_current = c;
	corotracer_resume(&c->trace);
	swapcontext(&ring_context, &c->context);
	if (c->has_ended) {
		corotracer_end(&c->trace);
		free(c->context.uc_stack.ss_sp);
		ring_alive--;
	} else {
		corotracer_suspend(&c->trace, c->address);
	}
}

/* One round; returns the number of coroutines that ran. */
static int ring_round(void)
{
	struct ring_coro **at = &ring_first, *c;
	int nr = 0;

	while ((c = *at)) {
		if (ring_is_ready(c)) {
			ring_resume(c);
			nr++;
		}
		if (!c->has_ended) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		if (!*at)
			ring_last = at;
		free(c);
	}
	return nr;
}

int ring_run(unsigned ms)
{
	uint64_t end = ring_now() + run_time_ns(ms);
	const struct timespec pause = { 0, 500000 };

	while (ring_alive && ring_now() < end) {
		if (!ring_round())
			nanosleep(&pause, NULL);
	}
	return ring_alive;
}

static void ring_switch(enum ring_wait wait, struct ring_chan *chan, const void *address)
{
	struct ring_coro *c = ring_current;

	c->wait = wait;
	c->chan = chan;
	c->address = address;
	swapcontext(&c->context, &ring_context);
}

__attribute__((noinline)) void ring_pass(void)
{
	ring_switch(RING_NOTHING, NULL, __builtin_return_address(0));
}

__attribute__((noinline)) void ring_sleep(unsigned ms)
{
	ring_current->deadline = ring_now() + ms * 1000000ull;
	ring_switch(RING_TIME, NULL, __builtin_return_address(0));
}

__attribute__((noinline)) void ring_send(struct ring_chan *c, long item)
{
	while (c->nr == c->capacity)
		ring_switch(RING_ROOM, c, __builtin_return_address(0));
	c->items[(c->head + c->nr++) % c->capacity] = item;
}

__attribute__((noinline)) bool ring_recv(struct ring_chan *c, long *item)
{
	while (!c->nr && !c->is_closed)
		ring_switch(RING_ITEM, c, __builtin_return_address(0));
	if (!c->nr)
		return false;
	*item = c->items[c->head];
	c->head = (c->head + 1) % c->capacity;
	c->nr--;
	return true;
}

void ring_close(struct ring_chan *c)
{
	c->is_closed = true;
}
