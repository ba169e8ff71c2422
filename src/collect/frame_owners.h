/* SPDX-License-Identifier: MIT */
/*
 * frame_owners.h - which coroutine ran on a thread at a given time (`run --frames`).
 *
 * The collector passes on the events of lanes, in the order of each lane, and asks for times of the
 * recent past.  A thread has a stack: a coroutine that resumes another one runs again when the
 * other one suspends.  After lost events nothing is known until the next resume, and the answer
 * is that no coroutine is known.
 */
#ifndef COLLECT_FRAME_OWNERS_H
#define COLLECT_FRAME_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/u64map.h"
#include "trace/event.h"

#define OWNERS_DEPTH 16 /* coroutines that run inside one another on a thread */

/* From @ts on @probe_id runs; 0: none, or not known. */
struct owner_turn {
	uint64_t ts, probe_id;
};

struct owner_thread {
	uint64_t tid;
	uint64_t stack[OWNERS_DEPTH]; /* coroutines that run; the last one is the innermost */
	unsigned depth;
	struct owner_turn *turns; /* in order of time */
	size_t nr, room;
};

struct frame_owners {
	bool is_on;
	struct owner_thread *threads;
	size_t nr, room;
	struct u64map by_tid; /* index in threads */
	uint32_t *by_lane;    /* 1 + index in threads; 0: no thread */
	size_t nr_lanes;
};

void frame_owners_open(struct frame_owners *o);
void frame_owners_close(struct frame_owners *o);

/* Thread @tid writes @lane from now on. */
void frame_owners_lane(struct frame_owners *o, uint32_t lane, uint64_t tid);

void frame_owners_event(struct frame_owners *o, uint32_t lane, const struct trace_event *ev);

/* Events of the lane are lost from @from_ts on. */
void frame_owners_gap(struct frame_owners *o, uint32_t lane, uint64_t from_ts);

/*
 * The coroutine that ran on @tid at @ts; 0: none, or not known.  Not known is also what changed
 * within @slack_ns.
 */
uint64_t frame_owners_find(const struct frame_owners *o, uint64_t tid, uint64_t ts,
			   uint64_t slack_ns);

/* Times before @ts are not asked for again, except in threads without an event since. */
void frame_owners_forget(struct frame_owners *o, uint64_t ts);

#endif
