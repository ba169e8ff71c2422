/* SPDX-License-Identifier: MIT */
/*
 * timers.h - the coroutines that sleep: a binary heap, the earliest deadline on top.
 *
 * Room is reserved beforehand (timers_reserve), so that going to sleep cannot fail.
 * The caller provides the locking.
 */
#ifndef EXAMPLES_TIMERS_H
#define EXAMPLES_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct coro;

struct timer {
	uint64_t when_ns; /* CLOCK_MONOTONIC */
	struct coro *co;
};

struct timers {
	struct timer *heap;
	size_t nr, room;
};

/* Make room for @nr timers in total.  Returns 0 or -ENOMEM. */
int timers_reserve(struct timers *t, size_t nr);
void timers_release(struct timers *t);

void timers_add(struct timers *t, uint64_t when_ns, struct coro *co);

/* Remove the earliest timer if it is due at @now_ns; NULL if none is. */
struct coro *timers_take_due(struct timers *t, uint64_t now_ns);

/* The deadline of the earliest timer; false if the heap is empty. */
bool timers_next(const struct timers *t, uint64_t *when_ns);

#endif
