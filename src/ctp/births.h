/* SPDX-License-Identifier: MIT */
/*
 * births.h - the births of coroutines that are still of interest, by id.
 *
 * Kept when the event itself is forgotten, let go when the coroutine's end is.  Bounded:
 * what does not fit is not kept, and the caller counts it.
 */
#ifndef CTP_BIRTHS_H
#define CTP_BIRTHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

struct birth {
	uint64_t id, ts, tid, parent;
	uint32_t lane, pid, site, name_size;
	uint8_t flags;
	char name[]; /* not terminated */
};

/* All zero is an empty one that keeps nothing. */
struct births {
	struct birth **table; /* by hash; open addressing */
	size_t size;          /* a power of two, or 0 */
	size_t nr;
	uint64_t bytes, limit;
	uint64_t seed[2]; /* ids come from programs: nobody can choose where they fall */
};

void births_init(struct births *b, uint64_t limit);
void births_release(struct births *b);

/* False: there was no room. */
bool births_keep(struct births *b, uint32_t lane, const struct trace_event *ev);

/* True if it was there. */
bool births_drop(struct births *b, uint64_t id);

/* All of them, the earliest first; to be freed.  NULL if there are none, or no memory. */
const struct birth **births_sorted(const struct births *b);

#endif
