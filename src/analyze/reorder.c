/* SPDX-License-Identifier: MIT */
/* reorder.c - sort the transitions of each coroutine by time, within a bounded window. */
#include "analyze/reorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct reorder_coro *reorder_coro_of(struct reorder *r, const struct trace_event *ev)
{
	int64_t number = coro_ids_enter(&r->ids, ev->probe_id, ev->station);
	struct reorder_coro *co;

	if (number < 0)
		return NULL;
	if ((size_t)number >= r->room) {
		size_t room = r->room ? r->room * 2 : 64;
		struct reorder_coro *coros;

		while (room <= (size_t)number)
			room *= 2;
		coros = realloc(r->coros, room * sizeof(*coros));
		if (!coros)
			return NULL;
		memset(coros + r->room, 0, (room - r->room) * sizeof(*coros));
		r->coros = coros;
		r->room = room;
	}
	co = &r->coros[number];
	if (!co->held)
		co->held = calloc(REORDER_HELD, sizeof(*co->held));
	return co->held ? co : NULL;
}

/* Stable: events of the same time keep their order. */
static void reorder_insert(struct reorder_coro *co, const struct trace_event *ev)
{
	unsigned at = co->nr;

	while (at && co->held[at - 1].ts > ev->ts)
		at--;
	memmove(&co->held[at + 1], &co->held[at], (co->nr - at) * sizeof(*co->held));
	co->held[at] = *ev;
	co->nr++;
}

int reorder_add(struct reorder *r, const struct trace_event *ev, reorder_give *give, void *arg)
{
	struct reorder_coro *co = reorder_coro_of(r, ev);
	struct trace_event first;

	if (!co)
		return -ENOMEM;
	if (co->nr < REORDER_HELD) {
		reorder_insert(co, ev);
		return 0;
	}
	if (ev->ts < co->held[0].ts)
		return give(arg, ev);
	first = co->held[0];
	memmove(&co->held[0], &co->held[1], --co->nr * sizeof(*co->held));
	reorder_insert(co, ev);
	return give(arg, &first);
}

int reorder_finish(struct reorder *r, reorder_give *give, void *arg)
{
	size_t i;
	int rc;

	for (i = 0; i < r->room; i++) {
		unsigned k;

		for (k = 0; k < r->coros[i].nr; k++) {
			rc = give(arg, &r->coros[i].held[k]);
			if (rc < 0)
				return rc;
		}
		r->coros[i].nr = 0;
	}
	return 0;
}

void reorder_release(struct reorder *r)
{
	size_t i;

	for (i = 0; i < r->room; i++)
		free(r->coros[i].held);
	free(r->coros);
	coro_ids_release(&r->ids);
	*r = (struct reorder){ 0 };
}
