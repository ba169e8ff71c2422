/* SPDX-License-Identifier: MIT */
/* frame_owners.c - which coroutine ran on a thread at a given time. */
#include "collect/frame_owners.h"

#include <stdlib.h>
#include <string.h>

/* More turns of a thread between two polls of the frames are not kept. */
#define TURNS_MAX ((size_t)1 << 20)

void frame_owners_open(struct frame_owners *o)
{
	memset(o, 0, sizeof(*o));
	o->is_on = true;
}

void frame_owners_close(struct frame_owners *o)
{
	while (o->nr)
		free(o->threads[--o->nr].turns);
	free(o->threads);
	free(o->by_lane);
	u64map_release(&o->by_tid);
	memset(o, 0, sizeof(*o));
}

/* ---- threads ------------------------------------------------------------- */

static bool owners_add_thread(struct frame_owners *o, uint64_t tid)
{
	size_t room = o->room ? 2 * o->room : 16;
	struct owner_thread *threads;

	if (o->nr == o->room) {
		threads = realloc(o->threads, room * sizeof(*threads));
		if (!threads)
			return false;
		o->threads = threads;
		o->room = room;
	}
	if (u64map_put(&o->by_tid, tid, o->nr) < 0)
		return false;
	o->threads[o->nr++] = (struct owner_thread){ .tid = tid };
	return true;
}

static bool owners_make_lane(struct frame_owners *o, uint32_t lane)
{
	size_t nr = o->nr_lanes ? o->nr_lanes : 64;
	uint32_t *by_lane;

	if (lane < o->nr_lanes)
		return true;
	while (nr <= lane)
		nr *= 2;
	by_lane = realloc(o->by_lane, nr * sizeof(*by_lane));
	if (!by_lane)
		return false;
	memset(by_lane + o->nr_lanes, 0, (nr - o->nr_lanes) * sizeof(*by_lane));
	o->by_lane = by_lane;
	o->nr_lanes = nr;
	return true;
}

/* A thread with an id that was in use before is another thread: its stack is empty. */
void frame_owners_lane(struct frame_owners *o, uint32_t lane, uint64_t tid)
{
	uint64_t thread;

	if (!o->is_on || !owners_make_lane(o, lane))
		return;
	o->by_lane[lane] = 0;
	if (!u64map_get(&o->by_tid, tid, &thread)) {
		thread = o->nr;
		if (!owners_add_thread(o, tid))
			return;
	}
	o->threads[thread].depth = 0;
	o->by_lane[lane] = (uint32_t)thread + 1;
}

static struct owner_thread *owners_thread_of(const struct frame_owners *o, uint32_t lane)
{
	uint32_t thread = lane < o->nr_lanes ? o->by_lane[lane] : 0;

	return thread ? &o->threads[thread - 1] : NULL;
}

/* ---- events -------------------------------------------------------------- */

/* The innermost coroutine changes at @ts. */
static void owners_turn(struct owner_thread *t, uint64_t ts)
{
	uint64_t id = t->depth ? t->stack[t->depth - 1] : 0;
	struct owner_turn *turns;
	size_t room;

	if (t->nr && t->turns[t->nr - 1].ts > ts)
		ts = t->turns[t->nr - 1].ts;
	if (t->nr == t->room && t->room < TURNS_MAX) {
		room = t->room ? 2 * t->room : 64;
		turns = realloc(t->turns, room * sizeof(*turns));
		if (turns) {
			t->turns = turns;
			t->room = room;
		}
	}
	/* Without room the older times are not known. */
	if (t->nr == t->room)
		t->nr = 0;
	if (t->room)
		t->turns[t->nr++] = (struct owner_turn){ ts, id };
}

static void owners_push(struct owner_thread *t, uint64_t id)
{
	if (t->depth == OWNERS_DEPTH)
		t->depth = 0; /* what runs below is not known any more */
	t->stack[t->depth++] = id;
}

/* False: it does not run on this thread. */
static bool owners_pop(struct owner_thread *t, uint64_t id)
{
	unsigned i = t->depth;

	while (i-- > 0) {
		if (t->stack[i] == id) {
			t->depth = i;
			return true;
		}
	}
	return false;
}

void frame_owners_event(struct frame_owners *o, uint32_t lane, const struct trace_event *ev)
{
	struct owner_thread *t = owners_thread_of(o, lane);

	if (!t)
		return;
	switch (ev->kind) {
	case TRACE_RESUME:
		owners_pop(t, ev->probe_id);
		owners_push(t, ev->probe_id);
		owners_turn(t, ev->ts);
		break;
	case TRACE_SUSPEND:
	case TRACE_END:
	case TRACE_DESTROY:
		if (owners_pop(t, ev->probe_id))
			owners_turn(t, ev->ts);
		break;
	default:
		break;
	}
}

void frame_owners_gap(struct frame_owners *o, uint32_t lane, uint64_t from_ts)
{
	struct owner_thread *t = owners_thread_of(o, lane);

	if (!t)
		return;
	t->depth = 0;
	owners_turn(t, from_ts);
}

/* ---- questions ----------------------------------------------------------- */

/* The number of turns that began at @ts or before. */
static size_t owners_before(const struct owner_thread *t, uint64_t ts)
{
	size_t low = 0, high = t->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->turns[middle].ts <= ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t frame_owners_find(const struct frame_owners *o, uint64_t tid, uint64_t ts,
			   uint64_t slack_ns)
{
	const struct owner_thread *t;
	uint64_t thread;
	size_t i;

	if (!o->is_on || !tid || !u64map_get(&o->by_tid, tid, &thread))
		return 0;
	t = &o->threads[thread];
	i = owners_before(t, ts);
	if (slack_ns && (owners_before(t, ts + slack_ns) != i ||
			 owners_before(t, ts > slack_ns ? ts - slack_ns : 0) != i))
		return 0;
	return i ? t->turns[i - 1].probe_id : 0;
}

void frame_owners_forget(struct frame_owners *o, uint64_t ts)
{
	size_t i;

	for (i = 0; i < o->nr; i++) {
		struct owner_thread *t = &o->threads[i];
		size_t old = owners_before(t, ts);

		if (old < 2)
			continue;
		memmove(t->turns, t->turns + old - 1, (t->nr - old + 1) * sizeof(*t->turns));
		t->nr -= old - 1;
	}
}
