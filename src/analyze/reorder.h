/* SPDX-License-Identifier: MIT */
/*
 * reorder.h - sort the transitions of each coroutine by time, within a bounded window.
 *
 * Collectors of other tools write the eight slots of a station in memory order, so the later half
 * of a lap may come first.  Twice as many transitions are held back here per coroutine; events
 * further out of order stay so, and the model counts them.
 */
#ifndef ANALYZE_REORDER_H
#define ANALYZE_REORDER_H

#include "trace/coro_ids.h"
#include "trace/event.h"

#define REORDER_HELD 16

struct reorder_coro {
	unsigned nr;
	struct trace_event *held; /* sorted by time; room for REORDER_HELD events */
};

/* All zero: empty. */
struct reorder {
	struct coro_ids ids;
	struct reorder_coro *coros;
	size_t room;
};

typedef int reorder_give(void *arg, const struct trace_event *ev);

/* May give an older event. 0, -ENOMEM, or the result of @give. */
int reorder_add(struct reorder *r, const struct trace_event *ev, reorder_give *give, void *arg);

/* Give all events that are still held. */
int reorder_finish(struct reorder *r, reorder_give *give, void *arg);

void reorder_release(struct reorder *r);

#endif
