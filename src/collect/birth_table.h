/* SPDX-License-Identifier: MIT */
/*
 * birth_table.h - create events that the flight recorder keeps, by coroutine id.
 *
 * A birth is added when its create event is discarded from the ring, and removed when the
 * coroutine's last event is.  The memory is bounded: a birth that does not fit is not kept, and
 * the caller counts it.
 */
#ifndef COLLECT_BIRTH_TABLE_H
#define COLLECT_BIRTH_TABLE_H

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

/* All zero: an empty table that keeps nothing. */
struct births {
	struct birth **table; /* by hash; open addressing */
	size_t size;          /* a power of two, or 0 */
	size_t nr;
	uint64_t bytes, limit;
	uint64_t seed[2]; /* secret: programs choose the ids and must not choose the hash bucket */
};

void births_init(struct births *b, uint64_t limit);
void births_release(struct births *b);

/* False: no room, no memory, or the id is already in the table. */
bool births_keep(struct births *b, uint32_t lane, const struct trace_event *ev);

/* True if @id was in the table. */
bool births_drop(struct births *b, uint64_t id);

/*
 * All births, earliest first; the caller frees the array.  NULL if the table is empty or memory
 * is exhausted.
 */
const struct birth **births_sorted(const struct births *b);

#endif
