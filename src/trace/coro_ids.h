/* SPDX-License-Identifier: MIT */
/*
 * coro_ids.h - number the coroutines of a trace that are there, from 0 on.
 *
 * A coroutine is known by its probe_id; where the trace names a station, by both,
 * because programs use addresses as ids and allocators use addresses again.
 *
 * Who has left gives its number to another: numbers are as many as were there at a time.
 */
#ifndef TRACE_CORO_IDS_H
#define TRACE_CORO_IDS_H

#include "base/u64map.h"
#include "trace/event.h"

/* Numbers, given out and taken back. */
struct numbers {
	uint32_t *free; /* taken back */
	size_t nr_free, room;
	uint64_t next; /* never given out yet */
};

/* All zero is empty. */
struct coro_ids {
	struct u64map probes; /* probe_id to its number, and how many coroutines have it */
	struct u64map pairs;  /* that number and the station to 1 + the coroutine's number */
	struct numbers probe_numbers, coroutine_numbers;
	uint64_t entered; /* coroutines, ever */
};

/* The number of the coroutine, a new one if it is new; -ENOMEM. */
int64_t coro_ids_enter(struct coro_ids *ids, uint64_t probe_id, uint32_t station);

/* Its number; -ENOENT if it is not in. */
int64_t coro_ids_find(const struct coro_ids *ids, uint64_t probe_id, uint32_t station);

/* It has ended.  Its number is another's from now on.  Nothing to do if it is not in. */
void coro_ids_leave(struct coro_ids *ids, uint64_t probe_id, uint32_t station);

/* As many as ever entered. */
uint64_t coro_ids_count(const struct coro_ids *ids);

void coro_ids_release(struct coro_ids *ids);

#endif
