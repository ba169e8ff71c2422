/* SPDX-License-Identifier: MIT */
/*
 * reorder.h - put transitions of one coroutine in order of time, as far as they are not.
 *
 * Collectors of other tools write the eight slots of a station as they lie in memory, so
 * a lap's later half may come first.  Twice as many are held back here, per coroutine;
 * what is further out of order than that stays so, and the model counts it.
 */
#ifndef ANALYZE_REORDER_H
#define ANALYZE_REORDER_H

#include "trace/coro_ids.h"
#include "trace/event.h"

#define REORDER_HELD 16

struct reorder_coro {
	unsigned nr;
	struct trace_event *held; /* by time; REORDER_HELD of them */
};

/* All zero is empty. */
struct reorder {
	struct coro_ids ids;
	struct reorder_coro *coros;
	size_t room;
};

typedef int reorder_give(void *arg, const struct trace_event *ev);

/* May give one that is older; 0, -ENOMEM, or what @give returned. */
int reorder_add(struct reorder *r, const struct trace_event *ev, reorder_give *give, void *arg);

/* All that are still held. */
int reorder_finish(struct reorder *r, reorder_give *give, void *arg);

void reorder_release(struct reorder *r);

#endif
